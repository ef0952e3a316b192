"""Following a task by streams: one that is cut is followed by another.

A stream that ends while the task is at work was cut, whoever has ended it. The next one begins at
the cursor where the agent knows cursors, else with the task as it is (``progress``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final

from dragoman.client.errors import ClientError, CutError, TimedOutError
from dragoman.client.retry import is_passing
from dragoman.client.transports.base import Frame
from dragoman.errors import (
    A2AError,
    DragomanError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from dragoman.model.operations import Operation, SubscribeToTaskRequest

if TYPE_CHECKING:
    from dragoman.client.following.following import FollowedTask
    from dragoman.client.transports.base import Batch

__all__ = ("streamed",)

_LINGER_SECONDS: Final = 0.5
"""How long to wait for the agent to end a stream that is over; then its connection serves again."""

_FRUITLESS: Final = 3
"""So many streams in a row that end at once with nothing new: the agent does not follow tasks."""


async def streamed(followed: FollowedTask, cursor: int = 0) -> AsyncGenerator[Batch]:
    """Yield what is new of a task until it is over, over as many streams as that takes.

    Args:
        cursor: the last event of the task that is known from before, 0 for none.

    Raises:
        UnsupportedOperationError, MethodNotFoundError, MethodNotAllowedError: the agent does not
            stream, or not this task.
        A2AError: it refuses for another reason.
        ClientError: it cannot be reached any more.
    """
    progress = followed.progress
    problem: DragomanError | None = None
    failures = fruitless = 0
    while True:
        try:
            async with aclosing(_open(followed, problem, cursor)) as batches:
                problem = None
                async for batch in batches:
                    news = progress.take(batch)
                    failures = 0 if batch else failures
                    fruitless = 0 if news else fruitless
                    yield news
                    if progress.has_ended and (last := progress.take(await _drain(batches))):
                        yield last
                    if followed.is_over:
                        break
        except (A2AError, ClientError) as found:
            problem = _passing(followed, found)
        if followed.has_finished(problem):
            return
        if failures == 1 and await _is_refused(followed, problem):
            raise UnsupportedOperationError("The agent cuts those off who follow what has ended")
        fruitless += 1
        failures += problem is not None or not progress.task_id
        if followed.caller.policy.gives_up(failures, problem):
            raise _given_up(followed, problem)
        if problem is None and progress.task_id and fruitless >= _FRUITLESS:
            # 0.x reference, 5.9: an agent may end a stream with nothing decided.
            raise UnsupportedOperationError("The agent ends its streams before the task ends")
        await followed.caller.pause(fruitless, problem)
        progress.reconnect()


def _open(
    followed: FollowedTask, problem: DragomanError | None, cursor: int
) -> AsyncGenerator[Batch]:
    """Send, or follow the task that came of it; ``problem`` is what has ended the last try."""
    task_id = followed.task_id
    if not task_id and isinstance(problem, CutError | TimedOutError):
        # Where the client names the task it can look whether the agent has taken the message. By
        # what it sends the agent could not know it for the same.
        task_id = followed.name
    if followed.sent is not None and not task_id:
        return followed.caller.stream(
            Operation.SEND_STREAMING_MESSAGE, followed.sent, followed.extensions
        )
    followed.is_resumed = True
    return followed.caller.stream(
        Operation.SUBSCRIBE_TO_TASK,
        SubscribeToTaskRequest(id=task_id),
        followed.extensions,
        followed.progress.cursor or cursor,
    )


def _passing(followed: FollowedTask, problem: A2AError | ClientError) -> DragomanError:
    """Return a failure after which to try again; any other is raised."""
    is_known = bool(followed.task_id or followed.name)
    if is_passing(problem) and (is_known or not isinstance(problem, TimedOutError)):
        return problem
    if isinstance(problem, TaskNotFoundError) and followed.name and not followed.task_id:
        return problem  # The agent has not taken the message: it is sent again.
    if isinstance(problem, InvalidParamsError) and followed.is_resumed:
        # 0.x reference, 5.9: so servers of 0.3 refuse to follow what has ended.
        raise UnsupportedOperationError(problem.message) from problem
    raise problem


async def _is_refused(followed: FollowedTask, problem: DragomanError | None) -> bool:
    """Tell whether a stream was cut because there is nothing to follow.

    So a2a-sdk 0.3 refuses over HTTP+JSON: it has promised a stream before it looks at the task.
    Who gives cursors has other ways to refuse, and what came before the end can be had from it.
    """
    if not isinstance(problem, CutError) or not followed.is_resumed or followed.progress.cursor:
        return False
    try:
        return (await followed.read()).status.state.is_terminal
    except ClientError:
        return False


def _given_up(followed: FollowedTask, problem: DragomanError | None) -> DragomanError:
    if problem is not None and not isinstance(problem, CutError):
        return problem
    reason = problem.reason if problem else "its streams end before they begin"
    cut = CutError(followed.caller.offer.url, reason, task_id=followed.task_id)
    cut.__cause__ = problem
    return cut


async def _drain(batches: AsyncGenerator[Batch]) -> Batch:
    """Read a stream that is over to its end, if that is near; return the tasks in it.

    agno tells what has become of a task by the whole task, behind its last status.
    """
    tasks: list[Frame] = []
    with suppress(TimeoutError, DragomanError):
        async with asyncio.timeout(_LINGER_SECONDS):
            async for batch in batches:
                tasks += [frame for frame in batch if frame.event.task is not None]
    return tuple(tasks)
