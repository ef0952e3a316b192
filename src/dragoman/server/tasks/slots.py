"""How many turns run at once, and how many may wait for that: in all, and of one owner."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from typing import Final

from msgspec import Struct

from dragoman.errors import UnavailableError
from dragoman.server.admission.concurrency import Quota
from dragoman.service.principal import ANONYMOUS

__all__ = ("Limits", "Slot", "Slots")


class Limits(Struct, frozen=True, kw_only=True):
    """Bounds on the work of one process."""

    running_turns: int = 1000
    waiting_turns: int = 10_000
    turns_per_owner: int = 5000
    cancel_grace_seconds: float = 10.0
    turn_seconds: float = 0.0
    chunk_hold_seconds: float = 0.0
    replaces_at_end: bool = False


class Slots:
    """A bounded number of running turns, and a bounded queue: first come, first served.

    Args:
        per_owner: how many of both one owner may have. Callers whom nobody knows are one owner and
            yet many: for them the other two bounds stand alone.
    """

    def __init__(self, running: int, waiting: int, per_owner: int = sys.maxsize) -> None:
        self.held: Final = Quota(per_owner, "turns at work or waiting")
        self._limit = running
        self._free = running
        self._queue_limit = waiting
        self._queue: deque[asyncio.Future[None]] = deque()

    @property
    def running(self) -> int:
        """Count the slots that are taken."""
        return self._limit - self._free

    @property
    def waiting(self) -> int:
        """Count the turns that wait for a slot."""
        return len(self._queue)

    def check(self, owner: str = ANONYMOUS) -> None:
        """Raise when a further turn would be one too many.

        Raises:
            UnavailableError: the queue is full.
            RateLimitedError: it is not, but the owner has all the turns that one may.
        """
        if owner != ANONYMOUS:
            self.held.check(owner)
        if self._free <= 0 and len(self._queue) >= self._queue_limit:
            raise UnavailableError("The agent is busy: too many tasks are waiting; try again later")

    def take(self) -> asyncio.Future[None] | None:
        """Take a slot, or a place in the queue for one: then a future that is done with it."""
        if self._free > 0:
            self._free -= 1
            return None
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(waiter)
        return waiter

    def give_back(self) -> None:
        """Free a slot, or hand it to the one who waits longest."""
        while self._queue:
            waiter = self._queue.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1

    def leave_queue(self, waiter: asyncio.Future[None]) -> None:
        """Give up a place in the queue, or the slot that has been handed over meanwhile."""
        if waiter.done() and not waiter.cancelled():
            self.give_back()
        elif waiter in self._queue:
            self._queue.remove(waiter)


class Slot:
    """One turn's claim on a slot; it may be left while the turn waits, and taken again.

    The claim is made at once (``claim``), so that turns which begin together are counted together;
    the turn waits for it when it gets to run (``taken``).
    """

    __slots__ = ("_is_claimed", "_owner", "_slots", "_waiter")

    def __init__(self, slots: Slots, owner: str = ANONYMOUS) -> None:
        self._slots = slots
        self._owner = owner
        self._is_claimed = False
        self._waiter: asyncio.Future[None] | None = None

    @property
    def is_taken(self) -> bool:
        """Tell whether the slot is held; one that is still waited for is not."""
        return self._is_claimed and self._waiter is None

    def claim(self) -> None:
        """Take a slot or a place in the queue."""
        if not self._is_claimed:
            self._is_claimed = True
            if self._owner != ANONYMOUS:
                self._slots.held.count(self._owner)
            self._waiter = self._slots.take()

    async def taken(self) -> None:
        """Wait until the slot is there, claiming it if that has not been done."""
        self.claim()
        if self._waiter is not None:
            # Who is canceled here leaves by ``leave``, which knows what became of the waiter.
            await asyncio.shield(self._waiter)
            self._waiter = None

    def leave(self) -> None:
        """Give back what is held or waited for; nothing if that is nothing."""
        if not self._is_claimed:
            return
        self._is_claimed = False
        if self._owner != ANONYMOUS:
            self._slots.held.give_back(self._owner)
        waiter, self._waiter = self._waiter, None
        if waiter is None:
            self._slots.give_back()
        else:
            self._slots.leave_queue(waiter)
