"""TaskHandle: a task that is known by its id."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

from msgspec.structs import replace

from dragoman.client.results.reply import AgentReply
from dragoman.client.results.stream import AgentStream
from dragoman.errors import UnsupportedOperationError
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.operations import GetTaskRequest, SubscribeToTaskRequest

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from dragoman.client.agent import RemoteAgent
    from dragoman.client.results.sending import SendOptions
    from dragoman.client.results.stream import AgentEvent
    from dragoman.service.service import EventStream

__all__ = ("TaskHandle",)


class TaskHandle:
    """A task that is known by its id: begun earlier, elsewhere, or by another program."""

    def __init__(self, agent: RemoteAgent, task_id: str, context_id: str = "") -> None:
        """Name the task; nothing is asked yet."""
        self._agent = agent
        self.id = task_id
        self.context_id = context_id

    async def get(self, *, history_length: int | None = None) -> AgentReply:
        """Return the task as it is now."""
        request = GetTaskRequest(id=self.id, history_length=history_length)
        document = await self._agent.service.get_task(request, self._agent.call)
        return AgentReply(document.task(), self._agent)

    async def wait(
        self,
        *,
        timeout_seconds: float | None = None,
        on_event: Callable[[AgentEvent], object] | None = None,
    ) -> AgentReply:
        """Wait until the work is done or the agent needs something, and return the task."""
        return await self.stream(timeout_seconds=timeout_seconds, on_event=on_event).wait()

    def stream(
        self,
        *,
        after: int = 0,
        timeout_seconds: float | None = None,
        on_event: Callable[[AgentEvent], object] | None = None,
    ) -> AgentStream:
        """Follow the task to its end, event by event; the first is the task as it is.

        Args:
            after: the number of the last event that is known; where the agent numbers its events,
                the task is shown as it was then, and what came after follows.
        """
        return AgentStream(
            lambda: self.follow(after),
            self._agent,
            timeout_seconds=timeout_seconds,
            on_event=on_event,
            tool_answers=self._agent.tool_answers(),
        )

    async def cancel(self) -> AgentReply:
        """Cancel the task and return it as it is then."""
        return await self._agent.cancel(self.id)

    async def send(self, *content: object, **options: Unpack[SendOptions]) -> AgentReply:
        """Send a message to the task and wait; see ``RemoteAgent.send``."""
        place: SendOptions = {"task_id": self.id, "context_id": self.context_id}
        return await self._agent.send(*content, **{**place, **options})

    async def follow(self, after: int = 0) -> EventStream:
        """Follow the task as the service has it; one that has ended is shown."""
        service = self._agent.service
        request = SubscribeToTaskRequest(id=self.id)
        try:
            return await service.subscribe_to_task(
                request, replace(self._agent.call, cursor=after or None)
            )
        except UnsupportedOperationError:
            # R-3.1.6-3: 1.0 refuses to follow what has ended.
            return _Shown(await service.get_task(GetTaskRequest(id=self.id), self._agent.call))


class _Shown:
    """The stream of a task that has ended: the task."""

    def __init__(self, document: TaskDocument) -> None:
        self._frame = EventDocument(0, b'{"task":' + document.json() + b"}")

    def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        return self._frames()

    async def _frames(self) -> AsyncGenerator[tuple[EventDocument, ...]]:
        yield (self._frame,)

    async def aclose(self) -> None:
        """Do nothing."""
