"""WorkingTime: a turn at work.

It has its slot, and its time runs, for as long as any of its strands does something. A strand that
waits, for a client or for another agent, rests; when all of them do, others may have the slot.
"""

from __future__ import annotations

import asyncio
from typing import Final

from dragoman.server.tasks.slots import Slot

__all__ = ("WorkingTime",)


class WorkingTime:
    """Who of a turn is at work: one strand, as it begins, or several, or none.

    Attributes:
        limit: ends the turn when it has worked for too long; it stands still while all rest.
    """

    __slots__ = ("_left", "_strands", "limit", "slot")

    def __init__(self, slot: Slot) -> None:
        """Begin with one strand; the seat may have been taken already, or is waited for."""
        self.slot: Final = slot
        self.limit: asyncio.Timeout | None = None
        self._strands = 1
        self._left: float | None = None

    @property
    def is_resting(self) -> bool:
        """Tell whether no strand does anything."""
        return self._strands == 0

    def rest(self) -> None:
        """Count out a strand that waits for something, or has ended."""
        self._strands -= 1
        if self._strands == 0:
            self._stop_limit()
            self.slot.leave()

    def join(self, strands: int = 1) -> None:
        """Count in strands that go on, or begin; they wait for the seat by ``seated``."""
        if self._strands == 0 and strands:
            self._resume_limit()
        self._strands += strands

    async def seated(self) -> None:
        """Wait until the slot is there."""
        if not self.slot.is_taken:
            await self.slot.taken()

    def _stop_limit(self) -> None:
        when = None if self.limit is None else self.limit.when()
        if self.limit is None or when is None or self.limit.expired():
            return
        self.limit.reschedule(None)
        self._left = when - asyncio.get_running_loop().time()

    def _resume_limit(self) -> None:
        left, self._left = self._left, None
        if self.limit is not None and left is not None and not self.limit.expired():
            self.limit.reschedule(asyncio.get_running_loop().time() + left)
