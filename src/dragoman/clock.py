"""The port for time and fresh ids: the only place that asks the machine for either."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Protocol

__all__ = ("Clock", "SystemClock")

_POOL_BYTES = 10 * 1024
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

    __slots__ = ("_latest_ms", "_offset", "_pool")

    def __init__(self) -> None:
        """Start with an empty pool of random bytes."""
        self._latest_ms = 0
        self._pool = ""
        self._offset = 0

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch; a clock set back counts as standing still."""
        now = time.time_ns() // 1_000_000
        if now > self._latest_ms:
            self._latest_ms = now
        return self._latest_ms

    def new_id(self) -> str:
        """Return a UUIDv7."""
        if self._offset >= len(self._pool):
            self._pool = os.urandom(_POOL_BYTES).hex()
            self._offset = 0
        at = self._offset
        self._offset = at + 20
        rand = self._pool[at : at + 20]
        stamp = f"{self.now_ms():012x}"
        variant = "89ab"[int(rand[3], 16) & 3]
        return f"{stamp[:8]}-{stamp[8:]}-7{rand[:3]}-{variant}{rand[4:7]}-{rand[7:19]}"

    async def sleep(self, seconds: float) -> None:
        """Wait on the running event loop."""
        await asyncio.sleep(seconds)
