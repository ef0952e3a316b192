"""FakeClock: time that stands still until a test moves it, and ids that a test can foretell."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush

__all__ = ("FakeClock",)

_START_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z: a time that is easy to read in a failed assertion."""


class FakeClock:
    """A Clock in the hands of a test; ids are ``id-1``, ``id-2`` and so on.

    Nothing waits for real: whoever sleeps goes on when ``advance`` or ``move_to`` has reached the
    end of the sleep and the event loop runs again. It may be moved from another thread than the one
    whose loop they sleep on, as a test that blocks must.
    """

    def __init__(self, now_ms: int = _START_MS) -> None:
        """Stand still at ``now_ms``."""
        self._now_ms = self._start_ms = now_ms
        self._ids = 0
        # (end of the sleep, order of falling asleep, who waits); the order settles ties.
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._slept = 0
        self._watchers: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def sleepers(self) -> int:
        """Count those who sleep."""
        return sum(not waiter.done() for _, _, waiter in self._sleepers)

    def now_ms(self) -> int:
        """Return the time it was last moved to."""
        return self._now_ms

    def uptime_ms(self) -> int:
        """Return how far it was moved."""
        return self._now_ms - self._start_ms

    def new_id(self) -> str:
        """Return the next number."""
        self._ids += 1
        return f"id-{self._ids}"

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved that far; a sleep of nothing only lets others run."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._slept += 1
        heappush(self._sleepers, (self._now_ms + round(seconds * 1000), self._slept, waiter))
        self._tell_watchers()
        await waiter

    async def until_asleep(self, count: int = 1) -> None:
        """Wait until so many sleep; moving the clock before they do would pass them by."""
        if self.sleepers < count:
            watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._watchers.append((count, watcher))
            await watcher

    def advance(self, seconds: float) -> None:
        """Move on by so many seconds, and wake in order of time those whose sleep is over."""
        self.move_to(self._now_ms + round(seconds * 1000))

    def move_to(self, now_ms: int) -> None:
        """Move on to a time, and wake in order of time those whose sleep is over.

        Raises:
            ValueError: the time is in the past; a Clock never goes back.
        """
        if now_ms < self._now_ms:
            raise ValueError(f"a clock never goes back: from {self._now_ms} to {now_ms}")
        self._now_ms = now_ms
        while self._sleepers and self._sleepers[0][0] <= now_ms:
            waiter = heappop(self._sleepers)[2]
            if _is_running(waiter.get_loop()):
                _wake(waiter)
            elif not waiter.done():
                waiter.get_loop().call_soon_threadsafe(_wake, waiter)

    def _tell_watchers(self) -> None:
        asleep = self.sleepers
        for count, watcher in self._watchers:
            if asleep >= count and not watcher.done():
                watcher.set_result(None)
        self._watchers = [item for item in self._watchers if not item[1].done()]


def _is_running(loop: asyncio.AbstractEventLoop) -> bool:
    """Tell whether a loop is the one that runs in this thread."""
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
