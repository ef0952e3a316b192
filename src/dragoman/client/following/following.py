"""Following: the events of a task from the first to the last, whatever happens on the way."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.client.errors import ClientError
from dragoman.client.following.followed_task import FollowedTask
from dragoman.client.following.polling import POLL_SECONDS, polled
from dragoman.client.following.streams import streamed
from dragoman.client.transports.base import Frame
from dragoman.errors import (
    A2AError,
    DragomanError,
    MethodNotAllowedError,
    MethodNotFoundError,
    UnsupportedOperationError,
)
from dragoman.model.documents import EventDocument
from dragoman.model.events import StreamResponse

if TYPE_CHECKING:
    from dragoman.client.caller import Caller
    from dragoman.client.transports.base import Batch
    from dragoman.model.messages import Message
    from dragoman.model.operations import SendMessageRequest, SubscribeToTaskRequest
    from dragoman.model.tasks import Task

__all__ = ("Following",)

_NOT_STREAMED: Final = (UnsupportedOperationError, MethodNotFoundError, MethodNotAllowedError)

_encode: Final = msgspec.json.Encoder().encode


class Following:
    """An EventStream of a remote agent: what comes of a send, or of a task that exists.

    ``start`` it first; what the agent refuses is raised there. From an agent that does not stream
    the task is read again and again.
    """

    def __init__(
        self,
        caller: Caller,
        begin: SendMessageRequest | SubscribeToTaskRequest,
        *,
        can_stream: bool,
        extensions: tuple[str, ...] = (),
        cursor: int = 0,
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        """Prepare to follow.

        Args:
            can_stream: the card says that the agent streams.
            cursor: the last event that is known of the task, 0 for none.
            poll_seconds: how long to wait between two looks, if the task is read again and again.
        """
        self._followed = FollowedTask(caller, begin, extensions, poll_seconds)
        self._can_stream = can_stream
        self._cursor = cursor
        self._frames = self._run()
        self._first: Batch = ()

    async def start(self) -> None:
        """Have it begun.

        Raises:
            A2AError: the agent refuses.
            ClientError: it could not be asked.
        """
        with suppress(StopAsyncIteration):
            while not self._first:
                self._first = await anext(self._frames)

    @property
    def outcome(self) -> Task | Message | None:
        """Return what has come of it so far."""
        return self._followed.progress.outcome

    def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        """Iterate over the batches."""
        return self._documents()

    async def aclose(self) -> None:
        """Stop following; the task itself is not touched."""
        await self._frames.aclose()

    async def _documents(self) -> AsyncGenerator[tuple[EventDocument, ...]]:
        first, self._first = self._first, ()
        if first:
            yield _documents_of(first)
        async for batch in self._frames:
            yield _documents_of(batch)

    async def _run(self) -> AsyncGenerator[Batch]:
        try:
            if self._can_stream:
                async with aclosing(streamed(self._followed, self._cursor)) as batches:
                    async for batch in batches:
                        yield batch
        except _NOT_STREAMED as refusal:
            await self._check(refusal)
            self._can_stream = False
        if not self._can_stream:
            async with aclosing(polled(self._followed)) as batches:
                async for batch in batches:
                    yield batch
        if self._followed.progress.is_partial:
            # The streams have told of a part of the task. R-11.7-4: a Task may come last. What has
            # been told stands without it.
            with suppress(A2AError, ClientError):
                task = await self._followed.read()
                self._followed.progress.look(task)
                yield (Frame(0, StreamResponse(task=task)),)

    async def _check(self, refusal: DragomanError) -> None:
        """Let a refusal stand that is about the task and not about following it."""
        followed = self._followed
        is_resumed = followed.sent is not None or bool(followed.progress.task_id)
        if not is_resumed and (await followed.read()).status.state.is_terminal:
            raise refusal


def _documents_of(batch: Batch) -> tuple[EventDocument, ...]:
    return tuple(EventDocument(seq, _encode(event)) for seq, event in batch)
