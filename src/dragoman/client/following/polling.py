"""Following a task by reading it again and again, for agents that do not stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from dragoman.client.caller import answer_as
from dragoman.client.transports.base import Frame
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.operations import Operation, SendMessageConfiguration, SendMessageRequest
from dragoman.model.tasks import Task

if TYPE_CHECKING:
    from dragoman.client.following.following import FollowedTask
    from dragoman.client.transports.base import Batch

__all__ = ("POLL_SECONDS", "polled")

POLL_SECONDS: Final = 0.25
"""How long to wait before the first look: not much longer than quick work takes."""

_MOST_SECONDS: Final = 5.0
_GROWTH: Final = 1.5
"""As long as nothing changes, each wait is so much longer than the one before, up to the most."""

_NO_CONFIGURATION: Final = SendMessageConfiguration()


async def polled(followed: FollowedTask) -> AsyncGenerator[Batch]:
    """Yield what is new of a task until it is over, or waits for its client.

    A task that was not sent but found is followed beyond that, to its end.

    Raises:
        A2AError: the agent refuses.
        ClientError: it cannot be reached any more.
    """
    progress = followed.progress
    if followed.sent is not None and not followed.task_id:
        yield progress.take(await _send(followed, followed.sent))
    else:
        yield progress.look(await followed.read())
    first = seconds = followed.poll_seconds
    while not _is_settled(followed):
        await followed.caller.sleep(seconds)
        news = progress.look(await followed.read())
        yield news
        seconds = first if news else min(seconds * _GROWTH, max(first, _MOST_SECONDS))


async def _send(followed: FollowedTask, request: SendMessageRequest) -> Batch:
    # R-3.2.2-5. A send that waits would hide the id of the task until the end.
    configuration = replace(request.configuration or _NO_CONFIGURATION, return_immediately=True)
    answer = await followed.caller.call(
        Operation.SEND_MESSAGE,
        replace(request, configuration=configuration),
        followed.extensions,
    )
    if isinstance(answer, Message):
        return (Frame(0, StreamResponse(message=answer)),)
    return (Frame(0, StreamResponse(task=answer_as(Task, answer))),)


def _is_settled(followed: FollowedTask) -> bool:
    state = followed.progress.state
    is_waiting = state is not None and state.is_interrupted
    return followed.is_over or (is_waiting and followed.sent is not None)
