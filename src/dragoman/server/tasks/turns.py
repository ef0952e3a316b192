"""Turns: the worker's code at work on live tasks, one turn of a task at a time.

A turn that was cut off or put aside is run again from the top: the results in the journal are
handed back to it, and what the log has of it stands (``dragoman.engine.journal``).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from dragoman import telemetry
from dragoman.clock import Clock
from dragoman.engine.commands import Finish, Start, TakeUp
from dragoman.engine.effects import Effect, NextTurn
from dragoman.engine.journal import END, TURN, Replay
from dragoman.errors import (
    A2AError,
    InternalError,
    NoAnswerError,
    SentBeforeError,
    StoreError,
    StoreUnavailableError,
    ToolError,
    UnavailableError,
)
from dragoman.model.base import JsonObject
from dragoman.model.client_tools import CLIENT_TOOLS, FAILURE, INPUT_TIMEOUT, TOOL_FAILED
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState
from dragoman.server.settings import TurnSettings
from dragoman.server.tasks.delivery import Delivery, decode_delivery, encode
from dragoman.server.tasks.secrets import TaskSecrets
from dragoman.server.tasks.slots import Slot, Slots
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.turn import LiveTurn
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.service.branches import MAIN, branch
from dragoman.service.worker import (
    Completed,
    Failed,
    Outcome,
    Plan,
    Refused,
    Worker,
)
from dragoman.stores.base import TaskStore
from dragoman.telemetry import Telemetry

if TYPE_CHECKING:
    from dragoman.server.tasks.lookup import TaskLookup

__all__ = ("INTERRUPTED_REASON", "STORE_POLL_SECONDS", "Turns")

_logger = logging.getLogger(__name__)

STORE_POLL_SECONDS: Final = 0.2
"""How often one who waits for a store that failed looks whether it is back."""

INTERRUPTED_REASON: Final = (
    "The server was restarted while this task was under way; it cannot be continued. "
    "Send the message again with a new messageId."
)
"""What is said of a task whose skill is not to be run again (``on_crash="fail"``)."""

_STATE_OF: Final = {
    Completed: TaskState.COMPLETED,
    Failed: TaskState.FAILED,
    Refused: TaskState.REJECTED,
}

_NEXT_TURN: Final = NextTurn()

_OUTPUT_LOST: Final = "The store failed while the task was running; part of its output was lost"


class Turns:
    """Runs the worker. Whatever its code raises ends a task or an answer, never the server."""

    def __init__(
        self,
        worker: Worker,
        store: TaskStore,
        slots: Slots,
        clock: Clock,
        *,
        take_in: Callable[[LiveTask], Awaitable[object]],
        settings: TurnSettings,
        marks_traces: bool = False,
        task_secrets: TaskSecrets | None = None,
        lookup: TaskLookup | None = None,
    ) -> None:
        """Keep what is needed.

        Args:
            take_in: takes up what other replicas have put into the inbox of a task.
            marks_traces: events of a turn that is traced tell of it.
            vault: opens answers that are secrets.
            lookup: finds other tasks of an owner.
        """
        self._take_in = take_in
        self._task_secrets = task_secrets or TaskSecrets()
        self._marks_traces = marks_traces
        self._worker = worker
        self._store = store
        self._lookup = lookup
        self._slots = slots
        self._clock = clock
        self._settings = settings

    async def run(
        self, live: LiveTask, errand: Delivery | None, slot: Slot, replay: Replay | None = None
    ) -> None:
        """Run turn after turn until nothing waits in the inbox.

        Args:
            errand: what the first of them is about; None for no turn at all.
            replay: what an earlier run of the first of these turns has done.
        """
        # Whoever has begun it may be in a branch of another turn.
        branch.set(MAIN)
        try:
            # Here and below: a coroutine that would find nothing to wait for is not even begun.
            if not slot.is_taken:
                await slot.taken()
            if live.failure is not None:
                await self._usable(live)
            if live.standing.state is TaskState.SUBMITTED:
                if self._marks_traces and errand is not None and errand.trace:
                    # The turn has no span yet: what it begins with is of the message's own.
                    trace_id, span_id = telemetry.ids_of(errand.trace)
                    live.marks = {"traceId": trace_id, "spanId": span_id}
                live.execute(Start())
            following = errand
            while following is not None:
                turn = LiveTurn(
                    live,
                    following,
                    slot,
                    self._clock,
                    replay,
                    self._task_secrets,
                    self._lookup,
                    self._settings.chunk_hold_seconds,
                )
                outcome = await self._work(live, turn)
                if outcome is None:
                    return
                if type(outcome) is Completed and live.has_open_artifacts:
                    self._close_artifacts(live, following)
                following = await self._end(live, outcome)
                replay = None
        except TaskLostError:
            _logger.debug("task %s goes on elsewhere", live.task_id)
        finally:
            slot.leave()
            if live.slot is slot:
                live.hold_nothing()

    def _close_artifacts(self, live: LiveTask, errand: Delivery) -> None:
        """End what a turn has streamed by a replacement, if it is not to end by a mark."""
        if (
            self._settings.stream_final == "replace"
            or self._worker.replaces_at_end(live.record.skill_id)
            or _is_of_adk(errand.message)
        ):
            live.replace_open_artifacts()

    async def go_on(self, live: LiveTask, slot: Slot) -> None:
        """Run the turns of messages that came when the last turn had ended, if it is not too late.

        The task has been told of its end before, and of the messages since.
        """
        try:
            following = await self._end(live, Completed())
        except TaskLostError:
            slot.leave()
            return  # It goes on elsewhere.
        except BaseException:
            slot.leave()
            raise
        await self.run(live, following, slot)

    async def run_again(self, live: LiveTask, slot: Slot) -> None:
        """Run the turn that the task was in, and those after it."""
        try:
            replay = await self._replay_of(live)
        except TaskLostError:
            slot.leave()
            return  # As in ``go_on``.
        except BaseException:
            slot.leave()
            raise
        if live.standing.has_ended:
            slot.leave()
        elif replay.is_done:
            await self.go_on(live, slot)
        else:
            await self.run(live, _errand_of(live, replay), slot, replay)

    async def answer(
        self,
        plan: Plan,
        request: SendMessageRequest,
        context_id: str,
        answered: asyncio.Future[Message],
        slot: Slot,
    ) -> None:
        """Have a message answered directly, and put the answer or the error into ``answered``."""
        try:
            await slot.taken()
            answered.set_result(await self._worker.answer(plan, request, context_id))
        except A2AError as error:
            answered.set_exception(error)
        except BaseException as error:
            if not (isinstance(error, Exception) or _is_stray(error)):
                answered.set_exception(UnavailableError("The server is shutting down; try again"))
                raise
            error_id = self._clock.new_id()
            _logger.exception("a direct answer failed (error id %s)", error_id)
            text = f"The agent failed. Error id: {error_id}"
            answered.set_exception(InternalError(text, metadata={"errorId": error_id}))
        finally:
            slot.leave()

    async def clean_up(self, live: LiveTask) -> None:
        """Call the worker's hook for a task that was canceled."""
        # What the task was about when it was canceled, and for whom, is in its journal.
        replay = await self._replay_of(live)
        errand = _errand_of(live, replay)
        turn = LiveTurn(live, errand, Slot(self._slots), self._clock, replay)
        try:
            await self._worker.canceled(turn)
        except Exception:
            _logger.exception("task %s: the cleanup hook failed", live.task_id)

    async def finish(self, live: LiveTask, outcome: Outcome) -> tuple[Effect, ...]:
        """End a turn; wait for the store if it is gone, and be honest about what was lost."""
        if live.failure is not None:
            await self._usable(live)
        if live.standing.has_ended:
            return ()
        if isinstance(live.lost, UnavailableError):
            _logger.warning("task %s failed: %s", live.task_id, _OUTPUT_LOST)
            outcome = Failed(self.status_message(live, _OUTPUT_LOST))
            live.lost = None
        return live.execute(Finish(_STATE_OF[type(outcome)], outcome.message))

    def status_message(
        self, live: LiveTask, text: str, metadata: JsonObject | None = None
    ) -> Message:
        """Return what the server itself has to say about a task."""
        return Message(
            message_id=self._clock.new_id(),
            context_id=live.record.context_id,
            task_id=live.task_id,
            role=Role.AGENT,
            parts=(Part(text=text),),
            metadata=metadata,
        )

    async def _work(self, live: LiveTask, turn: LiveTurn) -> Outcome | None:
        """Run the worker and return how it ended; None if the turn was put aside."""
        try:
            seconds = (
                self._worker.time_limit(live.record.skill_id) or self._settings.turn_timeout_seconds
            )
            if telemetry.active is not None:
                outcome = await self._run_traced(telemetry.active, seconds, live, turn)
            elif seconds:
                outcome = await self._run_within(seconds, live, turn)
            else:
                outcome = await self._worker.run(turn)
            if isinstance(outcome, Completed) and not turn.is_put_aside:
                # What it has published counts as said before, up to the last result: it would be
                # lost without a word.
                turn.check_end()
        except BaseException as error:
            if turn.is_put_aside:
                return None  # By Suspended, or by what the code has made of it.
            is_stray = _is_stray(error) and not turn.is_too_late
            if not (isinstance(error, Exception) or is_stray):
                raise
            if isinstance(error, SentBeforeError) and live.failure is not None:
                # Meant for whoever sent the message; to the code it is a write that failed.
                error = live.failure
            outcome = Failed(self._say_why(live, error))
        # Code that catches everything may come to an end that does not count.
        return None if turn.is_put_aside else outcome

    def _say_why(self, live: LiveTask, error: BaseException) -> Message:
        """Return what the peer is told of an error of the worker's; the log gets the rest."""
        if live.failure is not None and error is live.failure:
            # A write was lost. The turn is run again, or the task fails for that, once it is known.
            return self.status_message(live, live.failure.message)
        if isinstance(error, A2AError):
            _logger.warning("task %s failed: %s", live.task_id, error.message)
            return self.status_message(live, error.message)
        if isinstance(error, NoAnswerError | ToolError):
            return self.status_message(live, str(error), _failure(error))
        error_id = self._clock.new_id()
        _logger.error("task %s failed (error id %s)", live.task_id, error_id, exc_info=error)
        # the peer gets an id to quote, never the text of the exception.
        return self.status_message(live, f"The agent failed. Error id: {error_id}")

    async def _run_traced(
        self, tracing: Telemetry, seconds: float, live: LiveTask, turn: LiveTurn
    ) -> Outcome:
        """Run the worker as a span of the trace that its message came with."""
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.conversation.id": live.record.context_id,
            "a2a.task.id": live.task_id,
            "a2a.skill.id": live.record.skill_id,
        }
        name = f"invoke_agent {live.record.skill_id}"
        with tracing.span(name, attributes, parent=turn.trace) as span:
            if self._marks_traces:
                trace_id, span_id = tracing.ids()
                live.marks = {"traceId": trace_id, "spanId": span_id}
            try:
                outcome = await (
                    self._run_within(seconds, live, turn) if seconds else self._worker.run(turn)
                )
            except Exception as error:
                if turn.is_put_aside:
                    raise
                # Told while the span is current, so that the log names it.
                span.fail(type(error).__qualname__)
                outcome = Failed(self._say_why(live, error))
            span.tell("a2a.task.state", _STATE_OF[type(outcome)].value)
            return outcome

    async def _run_within(self, seconds: float, live: LiveTask, turn: LiveTurn) -> Outcome:
        """Run the worker for no longer than this; waiting does not count."""
        limit = turn.shift.limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await self._worker.run(turn)
        except TimeoutError:
            if not limit.expired():
                raise
            _logger.warning("task %s is ended: it worked for more than %s s", live.task_id, seconds)
            text = f"The agent worked on this for more than {seconds:g} seconds and was stopped"
            return Failed(self.status_message(live, text))

    async def _end(self, live: LiveTask, outcome: Outcome) -> Delivery | None:
        """End a turn; return what the next one is about, if there is a next one."""
        while _NEXT_TURN in await self.finish(live, outcome):
            if outcome.message is not None:
                # It is said. Should the next turn not get to begin, this one is not run again.
                live.note(END, "", b"")
            outcome = Completed()
            item = live.inbox[0]
            try:
                n = await asyncio.shield(item.stored)
            except StoreError:
                continue  # Its sender was told; the item is gone from the inbox.
            if not live.knows_all_before(n):
                await self._take_in(live)
            await self._usable(live)
            if live.standing.has_ended:
                return None
            if not live.inbox or live.inbox[0] is not item:
                continue  # Another one was first, which is known only now.
            live.inbox.popleft()
            live.take_up(n)
            live.note(TURN, "", encode(item.errand))
            live.execute(TakeUp(item.errand.message))
            live.join_settled(item.waiters)
            return item.errand
        return None

    async def _replay_of(self, live: LiveTask) -> Replay:
        """Find out what the turn had done, once all of it is durable and can be read.

        Raises:
            TaskLostError: the task is another replica's.
        """
        while True:
            try:
                seq = await live.durable()
                journal = await self._store.read_journal(live.task_id)
                log = await self._store.read_entries(live.task_id, until=seq)
                return Replay(live.task_id, live.record.context_id, journal, log)
            except TaskLostError:
                raise
            except (StoreUnavailableError, UnavailableError, SentBeforeError):
                # Of the last, whoever sent the message was told; here it is a write that failed.
                await self._clock.sleep(STORE_POLL_SECONDS)

    async def _usable(self, live: LiveTask) -> None:
        """Wait until the task takes commands; raises TaskLostError if it never will again."""
        while live.failure is not None:
            if isinstance(live.failure, TaskLostError):
                raise live.failure
            await self._clock.sleep(STORE_POLL_SECONDS)


def _is_stray(error: BaseException) -> bool:
    """Tell whether nobody has stopped the code: it waited for something that was canceled."""
    running = asyncio.current_task()
    is_canceled = running is None or running.cancelling() > 0
    return isinstance(error, asyncio.CancelledError) and not is_canceled


def _is_of_adk(message: Message) -> bool:
    """Whether Google's ADK has sent this; of a streamed artifact it keeps the last update only."""
    for carrier in (message, *message.parts):
        if carrier.metadata is not None and "is_user_input" in carrier.metadata:
            return True
    return False


def _errand_of(live: LiveTask, replay: Replay) -> Delivery:
    """Return what a turn was begun by; a message that came alone is kept in the history only."""
    if replay.begun_by is None:
        return Delivery(message=live.history()[0])
    return decode_delivery(replay.begun_by)


def _failure(error: NoAnswerError | ToolError) -> JsonObject:
    """Return what tells a program why a task has failed, as metadata of the last message."""
    if isinstance(error, ToolError):
        told: JsonObject = {"reason": TOOL_FAILED, "tool": error.tool}
    else:
        told = {"reason": INPUT_TIMEOUT, "timeoutSeconds": error.timeout_seconds}
    return {CLIENT_TOOLS: {FAILURE: told}}
