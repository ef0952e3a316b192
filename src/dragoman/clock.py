"""The port for time and fresh ids: the only place that asks the machine for either."""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from typing import Protocol

__all__ = ("Clock", "SystemClock")

_TAIL_BYTES = 9
_POOL_IDS = 64
"""Ids made ready at once; a system call for the random bytes of each would cost more than all else
about it."""


# The other one, where there is none such, stands still while the machine sleeps.
_uptime_ns = (
    partial(time.clock_gettime_ns, time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_BOOTTIME")
    else time.monotonic_ns
)


class Clock(Protocol):
    """Time and fresh ids.

    ``now_ms`` never goes backwards within one process, so that events are stamped in order.
    ``new_id`` is unique, safe in a URL path segment, and sorts by time of creation (good for
    the locality of database indexes); it is no secret.
    """

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch, UTC."""
        ...

    def uptime_ms(self) -> int:
        """Return milliseconds since some moment, for how long something takes.

        It goes on where ``now_ms`` is set, and while the machine sleeps.
        """
        ...

    def new_id(self) -> str:
        """Return a fresh identifier."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's own clock; ids are UUIDs of version 7 (RFC 9562)."""

    __slots__ = ("_latest_ms", "_prefix", "_tails")

    def __init__(self) -> None:
        """Start with an empty pool of random tails of ids."""
        self._latest_ms = 0
        self._prefix = ""
        self._tails: list[str] = []

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch; a clock set back counts as standing still."""
        now = time.time_ns() // 1_000_000
        if now > self._latest_ms:
            self._latest_ms = now
            stamp = f"{now:012x}"
            self._prefix = f"{stamp[:8]}-{stamp[8:]}-7"
        return self._latest_ms

    def uptime_ms(self) -> int:
        """Return milliseconds since the machine was started."""
        return _uptime_ns() // 1_000_000

    def new_id(self) -> str:
        """Return a UUIDv7; 72 of its bits are random."""
        self.now_ms()
        if not self._tails:
            self._tails = _random_tails()
        return self._prefix + self._tails.pop()

    async def sleep(self, seconds: float) -> None:
        """Wait on the running event loop."""
        await asyncio.sleep(seconds)


def _random_tails() -> list[str]:
    """Return what follows the time and the version in UUIDs; the variant is RFC 9562's."""
    pool = os.urandom(_POOL_IDS * _TAIL_BYTES).hex()
    step = 2 * _TAIL_BYTES
    return [
        f"{pool[at : at + 3]}-8{pool[at + 3 : at + 6]}-{pool[at + 6 : at + step]}"
        for at in range(0, len(pool), step)
    ]
