"""The blocking client: the same agent for programs without an event loop.

The asyncio client runs on a loop in a thread of its own; each call is waited for.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    contextmanager,
)
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar, Unpack

from dragoman.client.connect import connect
from dragoman.client.results.reply import AgentReply, ReplyView

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.client.agent import RemoteAgent
    from dragoman.client.results.sending import SendOptions
    from dragoman.client.results.stream import AgentEvent, AgentStream
    from dragoman.client.results.tasks import TaskHandle
    from dragoman.model.cards import AgentCard, AgentInterface
    from dragoman.model.tasks import TaskState

__all__ = (
    "LoopThread",
    "SyncAgent",
    "SyncReply",
    "SyncStream",
    "SyncTask",
    "blocking",
    "connect_sync",
    "entered_in_thread",
)

P = ParamSpec("P")
T = TypeVar("T")

_END: Final = object()


class SyncReply(ReplyView):
    """What an agent has answered."""

    __slots__ = ("_reply", "_thread")

    def __init__(self, reply: AgentReply, thread: LoopThread) -> None:
        """Show a reply."""
        super().__init__(reply.outcome)
        self._reply = reply
        self._thread = thread

    def answer(self, *content: object, **options: Unpack[SendOptions]) -> SyncReply:
        """Do what ``AgentReply.answer`` does."""
        reply = self._thread.call(self._reply.answer(*content, **options))
        return SyncReply(reply, self._thread)

    def stream_answer(self, *content: object, **options: Unpack[SendOptions]) -> SyncStream:
        """Do what ``AgentReply.stream_answer`` does."""
        return SyncStream(self._reply.stream_answer(*content, **options), self._thread)


class SyncStream:
    """The events of one send, or of one task. Iterate over it, once.

    Whoever may leave before the end uses it in ``with``; the work goes on all the same.
    """

    def __init__(self, stream: AgentStream, thread: LoopThread) -> None:
        """Show a stream."""
        self._stream = stream
        self._thread = thread

    @property
    def reply(self) -> SyncReply:
        """Return what has come of it so far; see ``AgentStream.reply``."""
        return SyncReply(self._stream.reply, self._thread)

    @property
    def task_id(self) -> str:
        """The id of the task, "" as long as it is not known."""
        return self._stream.task_id

    def __iter__(self) -> Iterator[AgentEvent]:
        """Iterate over the events."""
        return self._thread.iterate(self._stream.events)

    def __enter__(self) -> Self:
        """Return the stream; it is closed at the end of the block."""
        return self

    def __exit__(self, *reason: object) -> None:
        """Stop following."""
        self.close()

    def close(self) -> None:
        """Stop following; the task itself is not touched."""
        self._thread.call(self._stream.aclose())


class SyncTask:
    """A task that is known by its id; see ``TaskHandle``."""

    def __init__(self, task: TaskHandle, thread: LoopThread) -> None:
        """Show the handle of a task."""
        self._task = task
        self._thread = thread

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
        return SyncStream(stream, self._thread)

    def cancel(self) -> SyncReply:
        """Cancel the task and return it as it is then."""
        return self._reply(self._task.cancel())

    def send(self, *content: object, **options: Unpack[SendOptions]) -> SyncReply:
        """Send a message to the task and wait."""
        return self._reply(self._task.send(*content, **options))

    def _reply(self, work: Coroutine[Any, Any, AgentReply]) -> SyncReply:
        return SyncReply(self._thread.call(work), self._thread)


class SyncAgent:
    """An agent to talk to; the methods are those of ``RemoteAgent``, and block."""

    def __init__(self, agent: RemoteAgent, thread: LoopThread) -> None:
        """Talk to an agent on the loop of a thread."""
        self._agent = agent
        self._thread = thread

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
        return SyncStream(self._agent.stream(*content, **options), self._thread)

    def task(self, task_id: str, context_id: str = "") -> SyncTask:
        """Return the handle of a task; nothing is asked yet."""
        return SyncTask(self._agent.task(task_id, context_id), self._thread)

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
        for reply in self._thread.iterate(found):
            yield SyncReply(reply, self._thread)

    def extended_card(self) -> AgentCard:
        """Ask for the card that the agent has for this caller, and go by it from now on."""
        return self._thread.call(self._agent.extended_card())

    def _reply(self, work: Coroutine[Any, Any, AgentReply]) -> SyncReply:
        return SyncReply(self._thread.call(work), self._thread)


def blocking(
    connects: Callable[P, AbstractAsyncContextManager[RemoteAgent]],
) -> Callable[P, AbstractContextManager[SyncAgent]]:
    """Return the blocking form of ``connect`` or its like, with the same arguments."""

    @contextmanager
    def connect_blocking(*args: P.args, **kwargs: P.kwargs) -> Generator[SyncAgent]:
        with entered_in_thread(connects(*args, **kwargs)) as (agent, thread):
            yield SyncAgent(agent, thread)

    return connect_blocking


connect_sync: Final = blocking(connect)
"""Connect to an agent, blocking: ``with connect_sync("https://agent.example.com") as agent:``.

It takes what ``connect`` takes.
"""


class LoopThread:
    """A thread with an event loop: runs coroutines and blocks until they are done."""

    def __init__(self) -> None:
        """Start the thread."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="dragoman client", daemon=True
        )
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result; interrupting the wait cancels it."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncGenerator[T]) -> Generator[T]:
        """Yield the items of an async generator, and close it at the end."""
        try:
            while (item := self.call(_next(items))) is not _END:
                yield item  # pyright: ignore[reportReturnType] - it is not the end
        finally:
            self.call(items.aclose())

    def close(self) -> None:
        """Stop the thread."""
        self.call(self._loop.shutdown_asyncgens())
        self.call(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@contextmanager
def entered_in_thread(opens: AbstractAsyncContextManager[T]) -> Generator[tuple[T, LoopThread]]:
    """Enter an async context manager on the loop of a new thread.

    Yield what it yields, and the thread. Both end with the block.
    """
    thread = LoopThread()
    stack = AsyncExitStack()
    try:
        opened = thread.call(stack.enter_async_context(opens))
        try:
            yield opened, thread
        finally:
            thread.call(stack.aclose())
    finally:
        thread.close()


async def _next(items: AsyncGenerator[T]) -> T | object:
    return await anext(items, _END)
