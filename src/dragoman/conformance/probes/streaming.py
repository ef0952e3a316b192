"""Streams: of a send, and of a task that is followed."""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from dragoman.conformance.answers import at, text_at
from dragoman.conformance.bench import Bench, FailedError, SkippedError
from dragoman.conformance.checks import Check
from dragoman.conformance.shapes import INTERRUPTED, TERMINAL

__all__ = ("CHECKS",)

_UPDATES: Final = ("statusUpdate", "artifactUpdate")


async def _send(bench: Bench) -> None:
    kinds, state = list[str](), ""
    async with aclosing(bench.events("SendStreamingMessage", bench.message())) as events:
        async for event in events:
            kinds.append(_kind_of(event))
            _check_order(kinds)
            state = _state_of(event) or state
            if state in TERMINAL and kinds[-1] == "artifactUpdate":
                raise FailedError(f"an artifact comes after the task has ended in {state}")
    if not kinds:
        raise FailedError("the stream ends without any event")
    # R-3.1.2-11; a stream may also end where the task waits.
    if kinds[0] == "task" and state not in TERMINAL | INTERRUPTED:
        raise FailedError(f"the stream ends while the task is in {state}")


def _check_order(kinds: list[str]) -> None:
    """Look at the shape of a stream so far.

    Raises:
        FailedError: it is neither a lone message nor a task and its updates.
    """
    if kinds[0] not in ("task", "message"):
        # R-3.1.2-9
        raise FailedError(f"the first event is {kinds[0]}, not the task or a message")
    if len(kinds) == 1:
        return
    if kinds[0] == "message":
        # R-3.1.2-7
        raise FailedError(f"{kinds[-1]} follows the message, which is all of the stream")
    # R-3.1.2-10; a closing task is allowed (11.7).
    if kinds[-1] not in (*_UPDATES, "task"):
        raise FailedError(f"{kinds[-1]} follows the task")


async def _subscribe(bench: Bench) -> None:
    task_id = await bench.start()
    async with aclosing(bench.interface.stream("SubscribeToTask", {"id": task_id})) as answers:
        async for answer in answers:
            if answer.refusal is not None and answer.refusal.name == "UnsupportedOperationError":
                raise SkippedError("the task had ended before it could be followed")
            event = bench.remember(bench.judged(answer, "StreamResponse"))
            # R-3.1.6-6
            if _kind_of(event) != "task":
                raise FailedError(f"the first event is {_kind_of(event)}, not the task")
            if at(event, "task", "id") != task_id:
                raise FailedError(f"the first event is the task {at(event, 'task', 'id')}")
            return
    raise FailedError("the stream ends without any event")


async def _subscribe_ended(bench: Bench) -> None:
    task_id = at(bench.ended_task(), "id")
    await bench.stream_refused("SubscribeToTask", {"id": task_id}, "UnsupportedOperationError")


async def _subscribe_unknown(bench: Bench) -> None:
    await bench.stream_refused("SubscribeToTask", {"id": bench.new_id()}, "TaskNotFoundError")


async def _send_undeclared(bench: Bench) -> None:
    message = bench.message()
    await bench.stream_refused("SendStreamingMessage", message, "UnsupportedOperationError")


async def _subscribe_undeclared(bench: Bench) -> None:
    params = {"id": await bench.start()}
    await bench.stream_refused("SubscribeToTask", params, "UnsupportedOperationError")


def _kind_of(event: object) -> str:
    return next(iter(event)) if isinstance(event, dict) else ""  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType] - judged before: its one member is a name


def _state_of(event: object) -> str:
    return text_at(event, "task", "status", "state") or text_at(
        event, "statusUpdate", "status", "state"
    )


CHECKS: Final = (
    Check(
        id="stream.send",
        requirement="R-3.1.2-6",
        expected="a stream is a lone message, or the task and its updates until it has ended",
        run=_send,
        capability="streaming",
        is_old=True,
    ),
    Check(
        id="stream.undeclared",
        requirement="R-3.1.2-1",
        expected="without the capability, a streaming send fails with UnsupportedOperationError",
        run=_send_undeclared,
        capability="streaming",
        is_declared=False,
        is_old=True,
    ),
    Check(
        id="subscribe.task",
        requirement="R-3.1.6-6",
        expected="following a task begins with the task",
        run=_subscribe,
        capability="streaming",
    ),
    Check(
        id="subscribe.ended-task",
        requirement="R-3.1.6-3",
        expected="following a task that has ended fails with UnsupportedOperationError",
        run=_subscribe_ended,
        capability="streaming",
    ),
    Check(
        id="subscribe.unknown-task",
        requirement="R-3.1.6-2",
        expected="following an unknown task fails with TaskNotFoundError",
        run=_subscribe_unknown,
        capability="streaming",
        is_old=True,
    ),
    Check(
        id="subscribe.undeclared",
        requirement="R-3.1.6-1",
        expected="without the capability, following a task fails with UnsupportedOperationError",
        run=_subscribe_undeclared,
        capability="streaming",
        is_declared=False,
    ),
)
