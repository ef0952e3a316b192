"""decide(standing, command, now) -> (standing, effects): the rules of a task.

A Standing holds counts and names, never content. Commands that are not allowed raise the error the
peer is to be told and change nothing. Callers perform the effects in order and keep the new
Standing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from msgspec import Struct
from msgspec.structs import replace

from dragoman.engine.commands import (
    AddArtifact,
    Ask,
    Begin,
    Cancel,
    Command,
    Deliver,
    Finish,
    GoOn,
    Say,
    Start,
    TakeUp,
    Withdraw,
)
from dragoman.engine.effects import (
    Append,
    Effect,
    Enqueue,
    NextTurn,
    Record,
    ResumeTurn,
    StopTurn,
)
from dragoman.engine.states import BEGINNING, is_legal
from dragoman.errors import (
    InvalidAgentResponseError,
    TaskEndedError,
    TaskNotCancelableError,
)
from dragoman.model.base import JsonObject
from dragoman.model.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message
from dragoman.model.tasks import TaskState, TaskStatus
from dragoman.model.timestamps import format_timestamp

__all__ = ("NO_MORE_MESSAGES", "Decision", "Standing", "decide")

NO_MORE_MESSAGES: Final = (
    " and takes no more messages; start a new task in the same context instead"
)
"""What to tell who sends a message to a task that has ended."""


class Standing(Struct, frozen=True, kw_only=True, gc=False):
    """Where a task stands.

    Attributes:
        state: None until the task has begun.
        seq: the number of its last event.
        unread: acknowledged messages that no turn has taken up.
        artifacts: the artifacts it has, each with whether chunks may still be appended.
    """

    task_id: str
    context_id: str
    state: TaskState | None = None
    seq: int = 0
    unread: int = 0
    artifacts: dict[str, bool] = {}

    @property
    def has_ended(self) -> bool:
        """Tell whether the task is in a terminal state."""
        return self.state is not None and self.state.is_terminal


Decision = tuple[Standing, tuple[Effect, ...]]


def decide(standing: Standing, command: Command, now_ms: int) -> Decision:
    """Decide what a command does to a task."""
    return _RULES[type(command)](standing, command, now_ms)


def _move(
    standing: Standing,
    target: TaskState,
    now_ms: int,
    message: Message | None = None,
    *,
    unread: int | None = None,
    metadata: JsonObject | None = None,
) -> tuple[Standing, Append]:
    """Move to ``target`` and make the event that says so."""
    state = standing.state
    if not (target is BEGINNING if state is None else is_legal(state, target)):
        raise InvalidAgentResponseError(
            f"A task in {_name(standing)} cannot move to {target.value}"
        )
    event = TaskStatusUpdateEvent(
        task_id=standing.task_id,
        context_id=standing.context_id,
        status=TaskStatus(state=target, message=message, timestamp=format_timestamp(now_ms)),
        metadata=metadata,
    )
    moved = Standing(
        task_id=standing.task_id,
        context_id=standing.context_id,
        state=target,
        seq=standing.seq + 1,
        unread=standing.unread if unread is None else unread,
        artifacts=standing.artifacts,
    )
    return moved, Append(event)


def _begin(standing: Standing, command: Begin, now_ms: int) -> Decision:
    moved, append = _move(standing, BEGINNING, now_ms)
    return moved, (Record(command.message), append, NextTurn())


def _deliver(standing: Standing, command: Deliver, now_ms: int) -> Decision:
    state = standing.state
    if state is None or state.is_terminal:
        # R-3.1.1-2, R-T.lot-1: what has ended does not start again.
        name = "no state" if state is None else state.value
        raise TaskEndedError(standing.task_id, name, NO_MORE_MESSAGES)
    if state.is_interrupted and command.is_answer:
        moved, append = _move(standing, TaskState.WORKING, now_ms)
        return moved, (Record(command.message), append, ResumeTurn(command.message))
    queued = replace(standing, unread=standing.unread + 1)
    return queued, (Enqueue(command.message),)


def _cancel(standing: Standing, command: Cancel, now_ms: int) -> Decision:
    del command
    if standing.state is None or standing.state.is_terminal:
        # R-3.1.5-3; Q-06: also when it was canceled before.
        name = "no state" if standing.state is None else standing.state.value
        raise TaskNotCancelableError(standing.task_id, name)
    moved, append = _move(standing, TaskState.CANCELED, now_ms, unread=0)
    return moved, (append, StopTurn())


def _start(standing: Standing, command: Start, now_ms: int) -> Decision:
    del command
    moved, append = _move(standing, TaskState.WORKING, now_ms)
    return moved, (append,)


def _take_up(standing: Standing, command: TakeUp, now_ms: int) -> Decision:
    unread = max(0, standing.unread - 1)
    moved, append = _move(standing, TaskState.WORKING, now_ms, unread=unread)
    return moved, (Record(command.message), append)


def _withdraw(standing: Standing, command: Withdraw, now_ms: int) -> Decision:
    del command, now_ms
    return replace(standing, unread=max(0, standing.unread - 1)), ()


def _say(standing: Standing, command: Say, now_ms: int) -> Decision:
    if standing.state is not TaskState.WORKING:
        raise InvalidAgentResponseError(
            f"Progress can be reported while a task is working, not in {_name(standing)}"
        )
    moved, append = _move(
        standing, TaskState.WORKING, now_ms, command.message, metadata=command.metadata
    )
    return moved, (append,)


def _add_artifact(standing: Standing, command: AddArtifact, now_ms: int) -> Decision:
    del now_ms
    if standing.state is None or standing.state.is_terminal:
        raise InvalidAgentResponseError(f"A task in {_name(standing)} takes no more artifacts")
    artifact_id = command.artifact.artifact_id
    is_open = standing.artifacts.get(artifact_id)
    if command.append and is_open is None:
        # there is nothing to append to.
        raise InvalidAgentResponseError(f"There is no artifact {artifact_id!r} to append to")
    if command.append and not is_open:
        # R-4.2.2-2: the last chunk was the last.
        raise InvalidAgentResponseError(f"Artifact {artifact_id!r} has had its last chunk")
    artifacts = standing.artifacts
    stays_open = not command.last_chunk
    if is_open is not stays_open:
        artifacts = {**artifacts, artifact_id: stays_open}
    event = TaskArtifactUpdateEvent(
        task_id=standing.task_id,
        context_id=standing.context_id,
        artifact=command.artifact,
        append=command.append,
        last_chunk=command.last_chunk,
    )
    extended = Standing(
        task_id=standing.task_id,
        context_id=standing.context_id,
        state=standing.state,
        seq=standing.seq + 1,
        unread=standing.unread,
        artifacts=artifacts,
    )
    return extended, (Append(event),)


def _ask(standing: Standing, command: Ask, now_ms: int) -> Decision:
    target = TaskState.AUTH_REQUIRED if command.is_auth else TaskState.INPUT_REQUIRED
    moved, append = _move(standing, target, now_ms, command.message)
    return moved, (append,)


def _go_on(standing: Standing, command: GoOn, now_ms: int) -> Decision:
    del command
    if standing.state is None or not standing.state.is_interrupted:
        return standing, ()  # The answer came after all.
    moved, append = _move(standing, TaskState.WORKING, now_ms)
    return moved, (append,)


def _finish(standing: Standing, command: Finish, now_ms: int) -> Decision:
    if command.state is TaskState.COMPLETED and standing.unread:
        # Acknowledged messages are not left behind: the result stands, the next turn follows.
        if command.message is None:
            return standing, (NextTurn(),)
        moved, append = _move(standing, TaskState.WORKING, now_ms, command.message)
        return moved, (append, NextTurn())
    moved, append = _move(standing, command.state, now_ms, command.message, unread=0)
    return moved, (append,)


def _name(standing: Standing) -> str:
    return "no state" if standing.state is None else standing.state.value


_RULES: Final = cast(
    "dict[type[Command], Callable[[Standing, Command, int], Decision]]",
    {
        Begin: _begin,
        Deliver: _deliver,
        Cancel: _cancel,
        Start: _start,
        TakeUp: _take_up,
        Withdraw: _withdraw,
        Say: _say,
        AddArtifact: _add_artifact,
        Ask: _ask,
        GoOn: _go_on,
        Finish: _finish,
    },
)
