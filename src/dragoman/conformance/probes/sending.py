"""Sending messages: what a send is answered with, and what it is refused for."""

from __future__ import annotations

from typing import Final

from dragoman.conformance.answers import at, text_at
from dragoman.conformance.bench import NO_TASK, Bench, FailedError, SkippedError
from dragoman.conformance.checks import Check
from dragoman.conformance.shapes import INTERRUPTED, TERMINAL

__all__ = ("CHECKS",)


async def _answer(bench: Bench) -> None:
    response = await bench.send()
    bench.settled = at(response, "task")


async def _settled(bench: Bench) -> None:
    if bench.settled is None:
        raise SkippedError(NO_TASK)
    state = text_at(bench.settled, "status", "state")
    if state not in TERMINAL | INTERRUPTED:
        raise FailedError(f"the answer to a send that waits has a task in {state}")


async def _ids(bench: Bench) -> None:
    if bench.settled is None:
        raise SkippedError(NO_TASK)
    task_id = await bench.start()
    if task_id == at(bench.settled, "id"):
        raise FailedError(f"two sends without a task are answered with the same task {task_id}")


async def _context(bench: Bench) -> None:
    if bench.settled is None:
        raise SkippedError(NO_TASK)
    if not text_at(bench.settled, "contextId"):
        raise FailedError("the task has no contextId")


async def _to_ended_task(bench: Bench) -> None:
    task = bench.ended_task()
    message = bench.message(taskId=at(task, "id"), contextId=at(task, "contextId"))
    await bench.refused("SendMessage", message, "UnsupportedOperationError")


async def _to_unknown_task(bench: Bench) -> None:
    message = bench.message(taskId=bench.new_id())
    await bench.refused("SendMessage", message, "TaskNotFoundError")


async def _without_parts(bench: Bench) -> None:
    message = bench.message(parts=[])
    await bench.refused("SendMessage", message, "InvalidParamsError")


CHECKS: Final = (
    Check(
        id="send.answer",
        requirement="R-3.1.1-5",
        expected="a send is answered with exactly one of a task and a message",
        run=_answer,
        is_old=True,
    ),
    Check(
        id="send.waits",
        requirement="R-3.2.2-1",
        expected="unless told otherwise, a send waits until the task has ended or needs something",
        run=_settled,
    ),
    Check(
        id="send.context",
        requirement="R-3.4.1-2",
        expected="the task of a send says which context it belongs to",
        run=_context,
        is_old=True,
    ),
    Check(
        id="send.returns-at-once",
        requirement="R-3.2.2-4",
        expected="with returnImmediately a send is answered with a new task",
        run=_ids,
        is_old=True,
    ),
    Check(
        id="send.ended-task",
        requirement="R-3.1.1-2",
        expected="a message to a task that has ended fails with UnsupportedOperationError",
        run=_to_ended_task,
    ),
    Check(
        id="send.unknown-task",
        requirement="R-3.1.1-3",
        expected="a message to an unknown task fails with TaskNotFoundError",
        run=_to_unknown_task,
        is_old=True,
    ),
    Check(
        id="send.no-parts",
        requirement="R-3.3.2-9",
        expected="a message without parts fails with InvalidParamsError",
        run=_without_parts,
    ),
)
