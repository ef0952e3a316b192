"""How many turns run at once, and how many may wait for that."""

from __future__ import annotations

import asyncio
from collections import deque

from dragoman.errors import UnavailableError

__all__ = ("Seat", "Slots")


class Slots:
    """A bounded number of running turns, and a bounded queue: first come, first served."""

    def __init__(self, running: int, waiting: int) -> None:
        self._free = running
        self._queue_limit = waiting
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """Count the turns that wait for a slot."""
        return len(self._queue)

    def check(self) -> None:
        """Raise UnavailableError when a further turn would find the queue full."""
        if self._free <= 0 and len(self._queue) >= self._queue_limit:
            raise UnavailableError("The agent is busy: too many tasks are waiting; try again later")

    async def take(self) -> None:
        """Wait for a slot and take it."""
        if self._free > 0:
            self._free -= 1
            return
        waiter = asyncio.get_running_loop().create_future()
        self._queue.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.give_back()  # The slot was handed over while we were being canceled.
            elif waiter in self._queue:
                self._queue.remove(waiter)  # Else it would count as waiting until its turn came.
            raise

    def give_back(self) -> None:
        """Free a slot, or hand it to the one who waits longest."""
        while self._queue:
            waiter = self._queue.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1


class Seat:
    """One turn's claim on a slot; it may be left while the turn waits, and taken again."""

    __slots__ = ("_is_taken", "_slots")

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._is_taken = False

    @property
    def is_taken(self) -> bool:
        """Tell whether the slot is held."""
        return self._is_taken

    async def take(self) -> None:
        """Wait for a slot and take it."""
        await self._slots.take()
        self._is_taken = True

    def leave(self) -> None:
        """Give the slot back, if it is held."""
        if self._is_taken:
            self._is_taken = False
            self._slots.give_back()
