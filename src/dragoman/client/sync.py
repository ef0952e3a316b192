"""The blocking twin: the same agent for programs without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, Self, Unpack

from dragoman.client.connect import connect
from dragoman.client.portal import Portal, entered
from dragoman.client.results.reply import AgentReply, ReplyView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.client.agent import RemoteAgent
    from dragoman.client.results.events import AgentEvent
    from dragoman.client.results.sending import SendOptions
    from dragoman.client.results.stream import AgentStream
    from dragoman.client.results.tasks import TaskHandle
    from dragoman.model.cards import AgentCard, AgentInterface
    from dragoman.model.tasks import TaskState

__all__ = ("SyncAgent", "SyncReply", "SyncStream", "SyncTask", "blocking", "connect_sync")

P = ParamSpec("P")


class SyncReply(ReplyView):
    """What an agent has answered."""

    __slots__ = ("_portal", "_reply")

    def __init__(self, reply: AgentReply, portal: Portal) -> None:
        """Show a reply."""
        super().__init__(reply.outcome)
        self._reply = reply
        self._portal = portal

    def answer(self, *content: object, **options: Unpack[SendOptions]) -> SyncReply:
        """Do what ``AgentReply.answer`` does."""
        reply = self._portal.call(self._reply.answer(*content, **options))
        return SyncReply(reply, self._portal)

    def stream_answer(self, *content: object, **options: Unpack[SendOptions]) -> SyncStream:
        """Do what ``AgentReply.stream_answer`` does."""
        return SyncStream(self._reply.stream_answer(*content, **options), self._portal)


class SyncStream:
    """The events of one send, or of one task. Iterate over it, once.

    Whoever may leave before the end uses it in ``with``; the work goes on all the same.
    """

    def __init__(self, stream: AgentStream, portal: Portal) -> None:
        """Show a stream."""
        self._stream = stream
        self._portal = portal

    @property
    def reply(self) -> SyncReply:
        """Return what has come of it so far; see ``AgentStream.reply``."""
        return SyncReply(self._stream.reply, self._portal)

    @property
    def task_id(self) -> str:
        """The id of the task, "" as long as it is not known."""
        return self._stream.task_id

    def __iter__(self) -> Iterator[AgentEvent]:
        """Iterate over the events."""
        return self._portal.iterate(self._stream.events)

    def __enter__(self) -> Self:
        """Return the stream; it is closed at the end of the block."""
        return self

    def __exit__(self, *reason: object) -> None:
        """Stop following."""
        self.close()

    def close(self) -> None:
        """Stop following; the task itself is not touched."""
        self._portal.call(self._stream.aclose())


class SyncTask:
    """A task that is known by its id; see ``TaskHandle``."""

    def __init__(self, task: TaskHandle, portal: Portal) -> None:
        """Show the handle of a task."""
        self._task = task
        self._portal = portal

    @property
    def id(self) -> str:
        """The id of the task."""
        return self._task.id

    def get(self, *, history_length: int | None = None) -> SyncReply:
        """Return the task as it is now."""
        return self._reply(self._task.get(history_length=history_length))

    def wait(
        self,
        *,
        timeout_seconds: float | None = None,
        on_event: Callable[[AgentEvent], object] | None = None,
    ) -> SyncReply:
        """Wait until the work is done or the agent needs something, and return the task."""
        return self._reply(self._task.wait(timeout_seconds=timeout_seconds, on_event=on_event))

    def stream(self, *, after: int = 0, timeout_seconds: float | None = None) -> SyncStream:
        """Follow the task to its end, event by event."""
        stream = self._task.stream(after=after, timeout_seconds=timeout_seconds)
        return SyncStream(stream, self._portal)

    def cancel(self) -> SyncReply:
        """Cancel the task and return it as it is then."""
        return self._reply(self._task.cancel())

    def send(self, *content: object, **options: Unpack[SendOptions]) -> SyncReply:
        """Send a message to the task and wait."""
        return self._reply(self._task.send(*content, **options))

    def _reply(self, work: Coroutine[Any, Any, AgentReply]) -> SyncReply:
        return SyncReply(self._portal.call(work), self._portal)


class SyncAgent:
    """An agent to talk to; the methods are those of ``RemoteAgent``, and block."""

    def __init__(self, agent: RemoteAgent, portal: Portal) -> None:
        """Talk to an agent through a portal."""
        self._agent = agent
        self._portal = portal

    @property
    def card(self) -> AgentCard:
        """What the agent says of itself."""
        return self._agent.card

    @property
    def interface(self) -> AgentInterface | None:
        """The interface of the card that is used now."""
        return self._agent.interface

    def send(self, *content: object, **options: Unpack[SendOptions]) -> SyncReply:
        """Send a message and wait until the work is done, or the agent needs something."""
        return self._reply(self._agent.send(*content, **options))

    def start(self, *content: object, **options: Unpack[SendOptions]) -> SyncReply:
        """Send a message and return at once, with the task as it is then."""
        return self._reply(self._agent.start(*content, **options))

    def stream(self, *content: object, **options: Unpack[SendOptions]) -> SyncStream:
        """Send a message and follow what comes of it, event by event."""
        return SyncStream(self._agent.stream(*content, **options), self._portal)

    def task(self, task_id: str, context_id: str = "") -> SyncTask:
        """Return the handle of a task; nothing is asked yet."""
        return SyncTask(self._agent.task(task_id, context_id), self._portal)

    def cancel(self, task_id: str) -> SyncReply:
        """Cancel a task and return it as it is then."""
        return self._reply(self._agent.cancel(task_id))

    def tasks(
        self,
        *,
        context_id: str = "",
        state: TaskState | None = None,
        changed_after: str | None = None,
        include_artifacts: bool = False,
        history_length: int | None = None,
    ) -> Iterator[SyncReply]:
        """Yield the caller's tasks; see ``RemoteAgent.tasks``."""
        found = self._agent.tasks(
            context_id=context_id,
            state=state,
            changed_after=changed_after,
            include_artifacts=include_artifacts,
            history_length=history_length,
        )
        for reply in self._portal.iterate(found):
            yield SyncReply(reply, self._portal)

    def extended_card(self) -> AgentCard:
        """Ask for the card that the agent has for this caller, and go by it from now on."""
        return self._portal.call(self._agent.extended_card())

    def _reply(self, work: Coroutine[Any, Any, AgentReply]) -> SyncReply:
        return SyncReply(self._portal.call(work), self._portal)


def blocking(
    connects: Callable[P, AbstractAsyncContextManager[RemoteAgent]],
) -> Callable[P, AbstractContextManager[SyncAgent]]:
    """Return the blocking form of ``connect`` or its like, with the same arguments."""

    @contextmanager
    def connect_blocking(*args: P.args, **kwargs: P.kwargs) -> Generator[SyncAgent]:
        with entered(connects(*args, **kwargs)) as (agent, portal):
            yield SyncAgent(agent, portal)

    return connect_blocking


connect_sync = blocking(connect)
"""Connect to an agent, blocking: ``with connect_sync("https://agent.example.com") as agent:``.

It takes what ``connect`` takes.
"""
