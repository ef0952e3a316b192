"""AgentStream: what an agent tells while it works, event by event."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Self, TypeVar

from dragoman.client.errors import TimedOutError
from dragoman.client.following.progress import Progress
from dragoman.client.results.events import AgentEvent
from dragoman.client.results.reply import AgentReply
from dragoman.client.transports.base import Frame
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.client.results.client_tools import Helper
    from dragoman.client.results.reply import Sends
    from dragoman.service.service import EventStream

__all__ = ("AgentStream",)

T = TypeVar("T")


class AgentStream:
    """The events of one send, or of one task. Iterate over it, once.

    It begins when it is iterated over, and what the agent refuses is raised then. Whoever may leave
    before the end uses it in ``async with``; the work goes on all the same.

    Attributes:
        events: the same events, as a generator.
    """

    def __init__(
        self,
        begin: Callable[[], Awaitable[EventStream]],
        sends: Sends,
        *,
        timeout_seconds: float | None = None,
        on_event: Callable[[AgentEvent], object] | None = None,
        helper: Helper | None = None,
    ) -> None:
        """Prepare to follow what ``begin`` opens; ``helper`` runs the tools that are asked for."""
        self._helper = helper
        self._begin = begin
        self._sends = sends
        self._timeout_seconds = timeout_seconds
        self._on_event = on_event
        self._progress = Progress()
        self.events = self._run()

    @property
    def reply(self) -> AgentReply:
        """Return what has come of it so far.

        Raises:
            UsageError: nothing has come yet.
        """
        outcome = self._progress.outcome
        if outcome is None:
            raise UsageError("nothing has come yet: iterate over the stream first")
        return AgentReply(outcome, self._sends)

    @property
    def task_id(self) -> str:
        """The id of the task, "" as long as it is not known."""
        return self._progress.task_id

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        """Iterate over the events."""
        return self.events

    async def __aenter__(self) -> Self:
        """Return the stream; it is closed at the end of the block."""
        return self

    async def __aexit__(self, *reason: object) -> None:
        """Stop following."""
        await self.aclose()

    async def aclose(self) -> None:
        """Stop following; the task itself is not touched."""
        await self.events.aclose()

    async def wait(self) -> AgentReply:
        """Follow to the end, or to where the task waits for its client, and return the answer."""
        async with self:
            async for event in self:
                if (
                    event.state is not None
                    and event.state.is_interrupted
                    and not self._is_helped(event)
                ):
                    break  # Where authorization is required a stream may stay open.
        return self.reply

    async def _run(self) -> AsyncGenerator[AgentEvent]:
        loop = asyncio.get_running_loop()
        seconds = self._timeout_seconds
        deadline = None if seconds is None else loop.time() + seconds
        stream = await self._in_time(self._begin(), deadline)
        try:
            while True:
                is_asked = False
                batches = aiter(stream)
                while not is_asked:
                    batch = await self._in_time(anext(batches, None), deadline)
                    if batch is None:
                        return
                    frames = tuple(Frame(document.seq, document.value) for document in batch)
                    # A task may come last, to tell what its events have not: only that is news.
                    for seq, value in self._progress.take(frames):
                        event = AgentEvent(value, seq)
                        await self._tell(event)
                        yield event
                        is_asked = self._is_helped(event)
                await stream.aclose()
                stream = await self._in_time(self._help(), deadline)
                self._progress.reconnect()
        finally:
            await stream.aclose()

    def _is_helped(self, event: AgentEvent) -> bool:
        return self._helper is not None and self._helper.is_asked(event)

    async def _help(self) -> EventStream:
        assert self._helper is not None  # noqa: S101 - asked before
        return await self._helper.help(self.reply)

    async def _in_time(self, waiting: Awaitable[T], deadline: float | None) -> T:
        if deadline is None:
            return await waiting
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                return await waiting
        except TimeoutError:
            if not limit.expired():
                raise
            task_id = self._progress.task_id
            known = f" with task {task_id}, which goes on" if task_id else ""
            raise TimedOutError(
                f"the agent was not done in {self._timeout_seconds:g} seconds{known}"
            ) from None

    async def _tell(self, event: AgentEvent) -> None:
        if self._on_event is not None:
            told = self._on_event(event)
            if inspect.isawaitable(told):
                await told
