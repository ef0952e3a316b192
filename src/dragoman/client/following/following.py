"""Following: the events of a task from the first to the last, whatever happens on the way.

The two ways to follow a task, ``streams`` and ``polling``, share its FollowedTask.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from types import AsyncGeneratorType
from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.client.caller import answer_as
from dragoman.client.errors import ClientError
from dragoman.client.following.polling import POLL_SECONDS, polled
from dragoman.client.following.progress import Progress
from dragoman.client.following.streams import streamed
from dragoman.client.transports.base import Frame
from dragoman.dialects.negotiation import V0_1
from dragoman.errors import (
    A2AError,
    DragomanError,
    MethodNotAllowedError,
    MethodNotFoundError,
    UnsupportedOperationError,
)
from dragoman.model.documents import EventDocument
from dragoman.model.events import StreamResponse
from dragoman.model.operations import GetTaskRequest, Operation, SubscribeToTaskRequest
from dragoman.model.tasks import Task, TaskState

if TYPE_CHECKING:
    from dragoman.client.caller import Caller
    from dragoman.client.transports.base import Batch
    from dragoman.model.messages import Message
    from dragoman.model.operations import SendMessageRequest

__all__ = ("FollowedTask", "Following")

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
        # It does not hold this object: whoever drops it has dropped the generator, which Python
        # then closes from the outside in. A circle would be closed in any order.
        self._frames = _run(self._followed, cursor, can_stream=can_stream)
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

    @property
    def is_waiting(self) -> bool:
        """Tell whether somebody waits for the next event, and so closes it by being canceled."""
        return isinstance(self._frames, AsyncGeneratorType) and self._frames.ag_running

    async def _documents(self) -> AsyncGenerator[tuple[EventDocument, ...]]:
        first, self._first = self._first, ()
        if first:
            yield _documents_of(first)
        async for batch in self._frames:
            yield _documents_of(batch)


class FollowedTask:
    """One send, or one task that exists, and what has come of it so far.

    Attributes:
        sent: the send it began with; None if it began with a task.
        extensions: those that are declared in each request.
        poll_seconds: how long to wait between two looks at the task, while it changes.
        is_resumed: the task is followed by its id, be it from the beginning or after a cut.
    """

    def __init__(
        self,
        caller: Caller,
        begin: SendMessageRequest | SubscribeToTaskRequest,
        extensions: tuple[str, ...],
        poll_seconds: float,
    ) -> None:
        self.caller = caller
        self.extensions = extensions
        self.poll_seconds = poll_seconds
        self.is_resumed = False
        if isinstance(begin, SubscribeToTaskRequest):
            self._task_id = begin.id
            self.sent: SendMessageRequest | None = None
            self.progress: Progress = Progress(continues=True)
        else:
            self._task_id = ""
            self.sent = begin
            message = begin.message
            self.progress = Progress(context_id=message.context_id, continues=bool(message.task_id))

    @property
    def task_id(self) -> str:
        """Return the id of the task, "" as long as it is not known."""
        return self.progress.task_id or self._task_id

    @property
    def name(self) -> str:
        """Return what the client calls the task it has sent to, new or not, in 0.1; else ""."""
        if self.sent is None or self.caller.offer.version != V0_1:
            return ""
        message = self.sent.message
        return message.task_id or message.message_id

    async def read(self) -> Task:
        """Read the task."""
        request = GetTaskRequest(id=self.task_id)
        answer = await self.caller.call(Operation.GET_TASK, request, self.extensions)
        return answer_as(Task, answer)

    @property
    def is_over(self) -> bool:
        """Tell whether nothing more can come that belongs to what was asked for."""
        # the stream of a send ends where input is required; following a task does not.
        is_asked = self.progress.state is TaskState.INPUT_REQUIRED
        return self.progress.has_ended or (is_asked and self.is_resumed and self.sent is not None)

    def has_finished(self, problem: DragomanError | None) -> bool:
        """Tell whether a stream has ended where it should, ``problem`` being what has ended it."""
        if problem is None:
            self.progress.conclude()
        if self.is_over:
            return True
        state = self.progress.state
        if state is None or not state.is_interrupted:
            return False
        is_asked = self.sent is not None and state is TaskState.INPUT_REQUIRED
        return problem is None or is_asked


async def _run(followed: FollowedTask, cursor: int, *, can_stream: bool) -> AsyncGenerator[Batch]:
    try:
        if can_stream:
            async with aclosing(streamed(followed, cursor)) as batches:
                async for batch in batches:
                    yield batch
    except _NOT_STREAMED as refusal:
        await _check(followed, refusal)
        can_stream = False
    if not can_stream:
        async with aclosing(polled(followed)) as batches:
            async for batch in batches:
                yield batch
    if followed.progress.is_partial:
        # The streams have told of a part of the task. R-11.7-4: a Task may come last. What has
        # been told stands without it.
        with suppress(A2AError, ClientError):
            task = await followed.read()
            followed.progress.look(task)
            yield (Frame(0, StreamResponse(task=task)),)


async def _check(followed: FollowedTask, refusal: DragomanError) -> None:
    """Let a refusal stand that is about the task and not about following it."""
    is_resumed = followed.sent is not None or bool(followed.progress.task_id)
    if not is_resumed and (await followed.read()).status.state.is_terminal:
        raise refusal


def _documents_of(batch: Batch) -> tuple[EventDocument, ...]:
    return tuple(EventDocument(seq, _encode(event)) for seq, event in batch)
