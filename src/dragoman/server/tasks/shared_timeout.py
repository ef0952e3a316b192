"""Patience: waits that end after a time, with one timer for all of them.

A timer for each blocking send was the dearest thing in it, and practically none ever went off.
"""

from __future__ import annotations

import asyncio

__all__ = ("Patience",)


class Patience:
    """Waits for futures, for each of them no longer than the same number of seconds.

    So the wait that began first is the first whose time is up, and the timer looks at that one.
    """

    __slots__ = ("_deadlines", "_seconds", "_timer")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # The waits under way, in the order in which they began.
        self._deadlines: dict[asyncio.Future[None], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, future: asyncio.Future[None]) -> None:
        """Wait until the future is done; it is made so when the time is up."""
        loop = future.get_loop()
        deadline = loop.time() + self._seconds
        self._deadlines[future] = deadline
        if self._timer is None:
            self._timer = loop.call_at(deadline, self._end_waits, loop)
        try:
            await future
        finally:
            self._deadlines.pop(future, None)

    def _end_waits(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the waits whose time is up, and look again when the next one's is."""
        self._timer = None
        now = loop.time()
        for future, deadline in self._deadlines.items():
            if deadline > now:
                self._timer = loop.call_at(deadline, self._end_waits, loop)
                return
            if not future.done():
                future.set_result(None)
