"""The port for time and fresh ids: the only place that asks the machine for either."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Protocol

__all__ = ("Clock", "SystemClock")

_POOL_BYTES = 9 * 1024
"""Random bytes fetched at once; a system call per id would cost more than the rest of a send."""


class Clock(Protocol):
    """Time and fresh ids.

    ``now_ms`` never goes backwards within one process, so that events are stamped in order.
    ``new_id`` is unique, safe in a URL path segment, and sorts by time of creation (good for
    the locality of database indexes); it is no secret.
    """

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch, UTC."""
        ...

    def new_id(self) -> str:
        """Return a fresh identifier."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own clock; ids are UUIDs of version 7 (RFC 9562)."""

    __slots__ = ("_latest_ms", "_offset", "_pool", "_prefix")

    def __init__(self) -> None:
        """Start with an empty pool of random bytes."""
        self._latest_ms = 0
        self._prefix = ""
        self._pool = ""
        self._offset = 0

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch; a clock set back counts as standing still."""
        now = time.time_ns() // 1_000_000
        if now > self._latest_ms:
            self._latest_ms = now
            stamp = f"{now:012x}"
            self._prefix = f"{stamp[:8]}-{stamp[8:]}-7"
        return self._latest_ms

    def new_id(self) -> str:
        """Return a UUIDv7; 72 of its bits are random."""
        self.now_ms()
        at = self._offset
        if at >= len(self._pool):
            self._pool = os.urandom(_POOL_BYTES).hex()
            at = 0
        self._offset = at + 18
        pool = self._pool
        first, second, third = pool[at : at + 3], pool[at + 3 : at + 6], pool[at + 6 : at + 18]
        return f"{self._prefix}{first}-8{second}-{third}"

    async def sleep(self, seconds: float) -> None:
        """Wait on the running event loop."""
        await asyncio.sleep(seconds)
