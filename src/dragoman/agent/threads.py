"""Threads for plain functions, and the way back from them into the turn's coroutine."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from os import cpu_count
from typing import Final, TypeVar, cast

from msgspec import Struct

__all__ = ("DEFAULT_THREADS", "ThreadCalls", "Threads")

DEFAULT_THREADS: Final = min(32, (cpu_count() or 1) + 4)
"""As concurrent.futures reasons: enough for blocking I/O, bearable on a large machine."""

_EXHAUSTED: Final = object()

_logger = logging.getLogger(__name__)

T = TypeVar("T")


class _Request(Struct, frozen=True):
    make: Callable[[], Coroutine[object, object, object]]
    result: Future[object]


class ThreadCalls:
    """Calls that a thread makes into the turn's own coroutine, one after the other.

    They run in the turn's asyncio task and not beside it, so that whatever ends the turn ends the
    call too: the thread then gets the same ``asyncio.CancelledError``, now and at every later call.
    """

    __slots__ = ("_is_open", "_loop", "_requests")

    def __init__(self) -> None:
        """Belong to the running loop."""
        self._loop = asyncio.get_running_loop()
        self._requests: asyncio.Queue[_Request | None] = asyncio.Queue()
        self._is_open = True

    def call(self, make: Callable[[], Coroutine[object, object, T]], /) -> T:
        """Run a coroutine in the turn and return its result; for use in the thread."""
        result: Future[object] = Future()
        self._loop.call_soon_threadsafe(self._post, _Request(make, result))
        return cast("T", result.result())

    async def serve_until(self, work: asyncio.Future[T]) -> T:
        """Answer calls until the work in the thread is done, and return its result."""
        work.add_done_callback(lambda _: self._requests.put_nowait(None))
        try:
            while (request := await self._requests.get()) is not None:
                await self._answer(request)
        finally:
            work.cancel()
        return work.result()

    def close(self) -> None:
        """End every call that waits, and every later one, as canceled."""
        self._is_open = False
        while not self._requests.empty():
            request = self._requests.get_nowait()
            if request is not None:
                request.result.set_exception(asyncio.CancelledError())

    def _post(self, request: _Request) -> None:
        if self._is_open:
            self._requests.put_nowait(request)
        else:
            request.result.set_exception(asyncio.CancelledError())

    async def _answer(self, request: _Request) -> None:
        try:
            value = await request.make()
        except BaseException as error:
            request.result.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            request.result.set_result(value)


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
        work = asyncio.wrap_future(self._submit(context.run, _call, function, args))
        if calls is None:
            return cast("T", await work)
        try:
            return cast("T", await calls.serve_until(work))
        finally:
            calls.close()

    async def iterate(
        self, items: Generator[T, None, object], calls: ThreadCalls | None
    ) -> AsyncGenerator[T, None]:
        """Drive a generator in threads, one item at a time; it is closed in a thread as well."""
        context = contextvars.copy_context()
        while True:
            step = self._submit(context.run, next, items, _EXHAUSTED)
            work = asyncio.wrap_future(step)
            try:
                item = await work if calls is None else await calls.serve_until(work)
                if item is _EXHAUSTED:
                    return
                yield cast("T", item)
            except BaseException:
                # The step may still be running, and a running generator cannot be closed.
                step.add_done_callback(lambda _: self._close_later(items))
                raise

    def shutdown(self) -> None:
        """Take no more work; what runs is left to end by itself."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _submit(self, function: Callable[..., object], *args: object) -> Future[object]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._size, thread_name_prefix="dragoman-skill")
        return self._pool.submit(function, *args)

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


def _close(items: Generator[object, None, object]) -> None:
    try:
        items.close()
    except Exception:
        _logger.exception("a plain generator failed while it was closed")
