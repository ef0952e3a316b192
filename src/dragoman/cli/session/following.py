"""Follower: what comes of a message or a task, until there is nothing to wait for.

Streaming, going on after a cut, and looking again and again where an agent does not stream are the
client's business. Here is decided when to stop: a task that has ended, or that waits for its
client, is reported at once.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

import msgspec

from dragoman.cli.session.polling import Gaps
from dragoman.cli.session.progress import Progress
from dragoman.client.errors import ClientError
from dragoman.clock import Clock
from dragoman.engine.fold import TaskFold
from dragoman.errors import A2AError, InvalidAgentResponseError, UnsupportedOperationError
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.operations import GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest
from dragoman.service.service import A2AService, Call, EventStream

__all__ = ("Follower",)


class Follower:
    """Follows one task of one agent.

    Args:
        streams: the agent streams; otherwise the client looks at the task from time to time.
        interval: the first pause between two looks.
    """

    def __init__(
        self,
        service: A2AService,
        call: Call,
        progress: Progress,
        *,
        streams: bool,
        interval: float,
        clock: Clock,
    ) -> None:
        self._service = service
        self._call = call
        self._progress = progress
        self._streams = streams
        self._interval = interval
        self._clock = clock
        self._fold: TaskFold | None = None

    async def send(self, request: SendMessageRequest) -> AsyncGenerator[EventDocument]:
        """Send a message and yield what comes of it: a task and its events, or one message."""
        stream = await self._service.send_streaming_message(request, self._call)
        continues = bool(request.message.task_id)
        async with aclosing(self._read(stream, continues=continues)) as events:
            async for event in events:
                yield event

    async def subscribe(
        self, task_id: str, *, goes_on: bool = False
    ) -> AsyncGenerator[EventDocument]:
        """Yield a task and its events; of one that has ended, the task alone.

        Args:
            goes_on: that the task waits for its client is known, and no reason to stop: it may go
                on by itself once the client has done something elsewhere.
        """
        try:
            request = SubscribeToTaskRequest(id=task_id)
            stream = await self._service.subscribe_to_task(request, self._call)
        except UnsupportedOperationError:
            # R-3.1.6-3: what has ended cannot be followed; reading it tells how it has ended.
            document = await self.look(GetTaskRequest(id=task_id))
            if not self._progress.is_settled:
                raise
            yield _task_event(document)
            return
        async with aclosing(self._read(stream, is_patient=goes_on)) as events:
            async for event in events:
                yield event

    async def settled(self, request: GetTaskRequest) -> TaskDocument:
        """Look at a task from time to time until there is nothing to wait for; return it."""
        gaps = Gaps(self._interval)
        document = await self.look(request)
        pause = gaps.first()
        while not self._progress.is_settled:
            await self._clock.sleep(pause)
            before, document = document, await self.look(request)
            pause = gaps.after(has_changed=document != before)
        return document

    async def look(self, request: GetTaskRequest) -> TaskDocument:
        """Read a task."""
        document = await self._service.get_task(request, self._call)
        self._progress.see_task(document.task())
        return document

    async def outcome(self, last: EventDocument | None) -> TaskDocument | Message:
        """Return the whole task, or the message, that the events have led to.

        Raises:
            InvalidAgentResponseError: there were none.
        """
        if last is None:
            raise InvalidAgentResponseError("The agent has answered with nothing")
        if last.value.message is not None:
            return last.value.message
        if last.value.task is not None:
            return TaskDocument.of(last.value.task)
        try:
            return await self.look(GetTaskRequest(id=self._progress.task_id))
        except (A2AError, ClientError):
            # What was seen is all there is.
            if self._fold is None:
                raise
            return self._fold.document()

    async def _read(
        self, stream: EventStream, *, continues: bool = False, is_patient: bool = False
    ) -> AsyncGenerator[EventDocument]:
        is_first = is_whole = True
        async with aclosing(stream):
            async for batch in stream:
                for event in batch:
                    self._see(event.value)
                    is_whole = event.value.task is not None or event.value.message is not None
                    yield event
                # What is told of a continued task begins with the task, which may show the
                # question that our message has just answered. The next sign of life tells.
                is_stale = (continues or is_patient) and is_first
                # Nor does a mere sign of life end the patience with a task that waits.
                is_stale = is_stale or (is_patient and not batch)
                is_first = is_first and not batch
                if self._progress.is_settled and not is_stale:
                    break
        if not self._streams and not is_whole:
            # Where nothing but differences were seen, the whole comes last.
            yield _task_event(await self.look(GetTaskRequest(id=self._progress.task_id)))

    def _see(self, event: StreamResponse) -> None:
        self._progress.see(event)
        if event.task is not None:
            self._fold = TaskFold.of(event.task)
        update = event.status_update or event.artifact_update
        if self._fold is not None and update is not None:
            self._fold.apply(update)


def _task_event(document: TaskDocument) -> EventDocument:
    return EventDocument(0, msgspec.json.encode({"task": msgspec.Raw(document.json())}))
