"""AgentStream and AgentEvent: what an agent tells while it works, event by event."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Final, Literal, Self, TypeVar

from msgspec import Struct

from dragoman.client.errors import TimedOutError
from dragoman.client.following.progress import Progress, joined
from dragoman.client.results.content import ReceivedFile, data_of, files_of
from dragoman.client.results.reply import AgentReply
from dragoman.client.transports.base import Frame
from dragoman.errors import UsageError
from dragoman.model.events import StreamResponse
from dragoman.model.messages import text_of
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState

if TYPE_CHECKING:
    from dragoman.client.results.client_tools import ToolAnswers
    from dragoman.client.results.reply import MessageSender
    from dragoman.service.service import EventStream

__all__ = ("AgentEvent", "AgentStream")

T = TypeVar("T")


class AgentEvent(Struct, frozen=True):
    """One event of a stream.

    Attributes:
        value: the event as the protocol has it.
        seq: its number in the task's log, 0 if the agent gives none.
    """

    value: StreamResponse
    seq: int = 0

    @property
    def kind(self) -> Literal["task", "message", "status", "artifact"]:
        """Tell what it is."""
        if self.value.artifact_update is not None:
            return "artifact"
        if self.value.status_update is not None:
            return "status"
        return "task" if self.value.task is not None else "message"

    @property
    def task_id(self) -> str:
        """The task it belongs to, "" if it is a message without a task."""
        return self.value.task_id

    @property
    def context_id(self) -> str:
        """The conversation it belongs to."""
        return self.value.context_id

    @property
    def state(self) -> TaskState | None:
        """Where the task stands, if the event tells it."""
        return self.value.status.state if self.value.status is not None else None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content: of a message, a status or a chunk; of a task, all of its results."""
        value = self.value
        if value.artifact_update is not None:
            return value.artifact_update.artifact.parts
        if value.status_update is not None:
            said = value.status_update.status.message
            return said.parts if said is not None else ()
        if value.task is not None:
            artifacts = value.task.artifacts
            return tuple(part for artifact in artifacts for part in joined(artifact.parts))
        return value.message.parts if value.message is not None else ()

    @property
    def text(self) -> str:
        """The text of the content."""
        return text_of(self.parts)

    @property
    def data(self) -> object:
        """The first piece of data in the content, None if there is none."""
        return next(iter(data_of(self.parts)), None)

    @property
    def files(self) -> tuple[ReceivedFile, ...]:
        """The files in the content."""
        return files_of(self.parts)

    def __str__(self) -> str:
        """Show the state in brackets if it is told, and the text."""
        state = self.state
        if state is None:
            return self.text
        name = f"[{state.name.lower().replace('_', ' ')}]"
        return f"{name} {self.text}" if self.text else name


class AgentStream:
    """The events of one send, or of one task. Iterate over it, once.

    It begins when it is iterated over, and what the agent refuses is raised then. One that is left
    before the end is closed when it is dropped, at the latest with the agent; whoever keeps it uses
    it in ``async with``. The work goes on all the same.

    Attributes:
        events: the same events, as a generator.
    """

    def __init__(
        self,
        begin: Callable[[], Awaitable[EventStream]],
        sender: MessageSender,
        *,
        timeout_seconds: float | None = None,
        on_event: Callable[[AgentEvent], object] | None = None,
        tool_answers: ToolAnswers | None = None,
    ) -> None:
        """Prepare to follow what ``begin`` opens; ``tool_answers`` runs the tools asked for."""
        self._sender = sender
        self._progress = Progress()
        self._tool_answers = tool_answers
        # It does not hold this object: whoever drops the stream has dropped the generator, which
        # Python then closes at once. What is in a circle waits for the garbage collector.
        events = _Events(begin, sender, self._progress, timeout_seconds, on_event, tool_answers)
        self.events: Final = events.run()

    @property
    def reply(self) -> AgentReply:
        """Return what has come of it so far.

        Raises:
            UsageError: nothing has come yet.
        """
        outcome = self._progress.outcome
        if outcome is None:
            raise UsageError("nothing has come yet: iterate over the stream first")
        return AgentReply(outcome, self._sender)

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
                    and not _asks_for_tools(self._tool_answers, event)
                ):
                    break  # Where authorization is required a stream may stay open.
        return self.reply


def _asks_for_tools(tool_answers: ToolAnswers | None, event: AgentEvent) -> bool:
    return tool_answers is not None and tool_answers.is_asked(event)


class _Events:
    """The events of one AgentStream, as they come."""

    def __init__(
        self,
        begin: Callable[[], Awaitable[EventStream]],
        sender: MessageSender,
        progress: Progress,
        timeout_seconds: float | None,
        on_event: Callable[[AgentEvent], object] | None,
        tool_answers: ToolAnswers | None,
    ) -> None:
        self._begin = begin
        self._sender = sender
        self._progress = progress
        self._timeout_seconds = timeout_seconds
        self._on_event = on_event
        self._tool_answers = tool_answers

    async def run(self) -> AsyncGenerator[AgentEvent]:
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
                        self._progress.conclude()
                        return
                    frames = tuple(Frame(document.seq, document.value) for document in batch)
                    # A task may come last, to tell what its events have not: only that is news.
                    for seq, value in self._progress.take(frames):
                        event = AgentEvent(value, seq)
                        await self._tell(event)
                        yield event
                        is_asked = _asks_for_tools(self._tool_answers, event)
                await stream.aclose()
                stream = await self._in_time(self._answer_tools(), deadline)
                self._progress.reconnect()
        finally:
            await stream.aclose()

    async def _answer_tools(self) -> EventStream:
        assert self._tool_answers is not None  # noqa: S101 - asked before
        assert self._progress.outcome is not None  # noqa: S101 - an event has asked
        return await self._tool_answers.answer(AgentReply(self._progress.outcome, self._sender))

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
