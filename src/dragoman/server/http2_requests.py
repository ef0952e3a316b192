"""The messages of a caller that goes on sending them, for whoever handles its call."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

__all__ = ("Requests",)


class Requests(AsyncIterator[bytes]):
    """The messages of one caller; no more come than are taken.

    Args:
        grant: lets so many bytes more come.
    """

    def __init__(self, grant: Callable[[int], None]) -> None:
        self._grant = grant
        self._messages: deque[bytes] = deque()
        self._heard = 0
        self._has_ended = False
        self._waiter: asyncio.Future[None] | None = None

    def put(self, messages: list[bytes], size: int, *, ends: bool) -> None:
        """Add what has come, in so many bytes."""
        self._messages.extend(messages)
        self._heard += size
        self._has_ended = ends
        if self._waiter is not None and not self._waiter.done() and (messages or ends):
            self._waiter.set_result(None)

    async def __anext__(self) -> bytes:
        """Wait for a message."""
        while not self._messages:
            if self._has_ended:
                raise StopAsyncIteration
            self._grant(self._heard)
            self._heard = 0
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        return self._messages.popleft()
