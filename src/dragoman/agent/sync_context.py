"""SyncContext: the context of a skill that is a plain function or a generator.

Such a skill runs in a thread of the agent's pool (``Threads``). Its calls are made in the turn's
own coroutine (``ThreadCalls``), by the methods of ``Context``.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import wraps
from os import cpu_count
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar

from dragoman.agent.context import Context
from dragoman.agent.view import View

if TYPE_CHECKING:
    from dragoman.agent.peers import Peers
    from dragoman.model.messages import Message
    from dragoman.service.worker import Turn

__all__ = ("DEFAULT_THREADS", "SyncContext", "ThreadCalls", "Threads")

DEFAULT_THREADS: Final = min(32, (cpu_count() or 1) + 4)
"""As concurrent.futures reasons: enough for blocking I/O, bearable on a large machine."""

_logger = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[Context, P], Coroutine[object, object, T]],
) -> Callable[Concatenate[SyncContext, P], T]:
    """Return a method of ``Context`` as one that blocks until its result is there.

    Parameters, overloads and docstring are those of the method.
    """

    @wraps(method)
    def call(self: SyncContext, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._calls.call(lambda: method(self._context, *args, **kwargs))  # pyright: ignore[reportPrivateUsage] - it becomes a method of the class

    return call


def _in_turn(
    method: Callable[Concatenate[Context, P], T],
) -> Callable[Concatenate[SyncContext, P], T]:
    """Return a plain method of ``Context`` as one that runs in the turn's coroutine, too."""

    @wraps(method)
    async def called(context: Context, *args: P.args, **kwargs: P.kwargs) -> T:
        return method(context, *args, **kwargs)

    return _blocking(called)


class SyncContext(View):
    """A task, for a skill that is a plain function or generator: the same calls, blocking.

    A thread is held as long as ``ask`` waits; a skill that converses with many is better a
    coroutine.
    """

    __slots__ = ("_calls", "_context")

    def __init__(
        self, turn: Turn, calls: ThreadCalls, peers: Callable[[], Peers] | None = None
    ) -> None:
        """Do what ``Context`` does, through these calls."""
        super().__init__(turn)
        self._context = Context(turn, peers)
        self._calls = calls

    say: Final = _blocking(Context.say)
    heartbeat: Final = _blocking(Context.heartbeat)
    set_metadata: Final = _blocking(Context.set_metadata)
    artifact: Final = _blocking(Context.artifact)
    ask: Final = _blocking(Context.ask)
    use_tool: Final = _blocking(Context.use_tool)
    use_tools: Final = _blocking(Context.use_tools)
    require_auth: Final = _blocking(Context.require_auth)
    step: Final = _blocking(Context.step)
    call: Final = _blocking(Context.call)
    conversation: Final = _blocking(Context.conversation)
    related: Final = _blocking(Context.related)
    sleep: Final = _blocking(Context.sleep)
    now: Final = _in_turn(Context.now)
    random_id: Final = _in_turn(Context.random_id)

    def messages(self) -> Generator[Message, None, None]:
        """Take up the further messages that callers have sent to this task, until none is left.

        What is not taken up here begins a turn of its own when this one has ended.
        """
        while (message := self._calls.call(self._turn.take_message)) is not None:
            yield message


class _Request(Generic[T]):
    """A coroutine to run in the turn, and where its result goes."""

    __slots__ = ("make", "result")

    def __init__(self, make: Callable[[], Coroutine[object, object, T]]) -> None:
        self.make: Final = make
        self.result: Final = Future[T]()

    async def perform(self) -> None:
        """Run it. What ends the turn (anything but an Exception) is raised here as well."""
        try:
            value = await self.make()
        except BaseException as error:
            self.result.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            self.result.set_result(value)

    def cancel(self) -> None:
        """End it as canceled, for the thread that waits."""
        self.result.set_exception(asyncio.CancelledError())


class ThreadCalls:
    """Calls that a thread makes into the turn's own coroutine, one after the other.

    They run in the turn's asyncio task and not beside it, so that whatever ends the turn ends the
    call too: the thread then gets the same ``asyncio.CancelledError``, now and at every later call.
    """

    __slots__ = ("_is_open", "_loop", "_requests")

    def __init__(self) -> None:
        """Belong to the running loop."""
        self._loop = asyncio.get_running_loop()
        self._requests: asyncio.Queue[_Request[Any] | None] = asyncio.Queue()
        self._is_open = True

    def call(self, make: Callable[[], Coroutine[object, object, T]], /) -> T:
        """Run a coroutine in the turn and return its result; for use in the thread."""
        request = _Request(make)
        self._loop.call_soon_threadsafe(self._enqueue, request)
        return request.result.result()

    async def serve_until(self, work: asyncio.Future[T]) -> T:
        """Answer calls until the work in the thread is done, and return its result."""
        work.add_done_callback(lambda _: self._requests.put_nowait(None))
        try:
            while (request := await self._requests.get()) is not None:
                await request.perform()
        finally:
            work.cancel()
        return work.result()

    def close(self) -> None:
        """End every call that waits, and every later one, as canceled."""
        self._is_open = False
        while not self._requests.empty():
            request = self._requests.get_nowait()
            if request is not None:
                request.cancel()

    def _enqueue(self, request: _Request[Any]) -> None:
        if self._is_open:
            self._requests.put_nowait(request)
        else:
            request.cancel()


class _Exhausted:
    """Stands for the end of a generator."""


_EXHAUSTED: Final = _Exhausted()


class Threads:
    """The threads of one agent. They are started by the first plain function that needs one."""

    __slots__ = ("_pool", "_size")

    def __init__(self, size: int = DEFAULT_THREADS) -> None:
        """Start nothing yet."""
        self._size = size
        self._pool: ThreadPoolExecutor | None = None

    async def run(
        self, function: Callable[..., T], args: tuple[object, ...], calls: ThreadCalls | None
    ) -> T:
        """Run a function in a thread, with the context variables of the caller.

        When the caller is canceled the thread runs on, and its result is dropped.
        """
        context = contextvars.copy_context()
        work = asyncio.wrap_future(self._submit(lambda: context.run(_call, function, args)))
        if calls is None:
            return await work
        try:
            return await calls.serve_until(work)
        finally:
            calls.close()

    async def iterate(
        self, items: Generator[T, None, object], calls: ThreadCalls | None
    ) -> AsyncGenerator[T, None]:
        """Drive a generator in threads, one item at a time; it is closed in a thread as well."""
        context = contextvars.copy_context()
        while True:
            step = self._submit(lambda: context.run(_next, items))
            work = asyncio.wrap_future(step)
            try:
                item = await work if calls is None else await calls.serve_until(work)
                if isinstance(item, _Exhausted):
                    return
                yield item
            except BaseException:
                # The step may still be running, and a running generator cannot be closed.
                step.add_done_callback(lambda _: self._close_later(items))
                raise

    def shutdown(self) -> None:
        """Take no more work; what runs is left to end by itself."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _submit(self, work: Callable[[], T]) -> Future[T]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._size, thread_name_prefix="dragoman-skill")
        return self._pool.submit(work)

    def _close_later(self, items: Generator[object, None, object]) -> None:
        # Without a pool the agent has shut down, and the generator is closed when it is collected.
        if self._pool is not None:
            with suppress(RuntimeError):
                self._pool.submit(_close, items)


def _call(function: Callable[..., T], arguments: tuple[object, ...]) -> T:
    try:
        return function(*arguments)
    except StopIteration as error:
        # A future cannot carry a StopIteration: whoever waits for it would wait forever.
        raise RuntimeError("a plain function raised StopIteration") from error


def _next(items: Generator[T, None, object]) -> T | _Exhausted:
    return next(items, _EXHAUSTED)


def _close(items: Generator[object, None, object]) -> None:
    try:
        items.close()
    except Exception:
        _logger.exception("a plain generator failed while it was closed")
