"""Portal: the way from a thread without an event loop to one with it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AsyncExitStack, contextmanager
from typing import Any, Final, TypeVar

__all__ = ("Portal", "entered")

T = TypeVar("T")

_END: Final = object()


class Portal:
    """An event loop in a thread of its own; calls are carried out there and waited for here."""

    def __init__(self) -> None:
        """Start the thread."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="dragoman client", daemon=True
        )
        self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Carry out a coroutine and return its result; an interrupt of the wait cancels it."""
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def iterate(self, items: AsyncGenerator[T]) -> Generator[T]:
        """Yield what an async generator yields; it is closed with this one."""
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
def entered(opens: AbstractAsyncContextManager[T]) -> Generator[tuple[T, Portal]]:
    """Give what an async context manager gives, and the portal to it; both end with the block."""
    portal = Portal()
    stack = AsyncExitStack()
    try:
        opened = portal.call(stack.enter_async_context(opens))
        try:
            yield opened, portal
        finally:
            portal.call(stack.aclose())
    finally:
        portal.close()


async def _next(items: AsyncGenerator[T]) -> T | object:
    return await anext(items, _END)
