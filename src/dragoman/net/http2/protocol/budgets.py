"""Budgets: how much a peer may ask of us that does not bring it anything.

Most frames are paid for by the peer's own windows and by the number of its streams. Those that are
not, such as a ping or a stream that is given up at once, are counted here.
"""

from __future__ import annotations

from typing import Final

from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode

__all__ = ("CHATTER", "RESETS", "Budget")

CHATTER: Final = (2000, 200)
"""Frames that move nothing: pings, settings, priorities, windows, DATA without data. A burst and so
many a second. What we send earns more, because readers answer it with windows and pings."""

RESETS: Final = (1000, 50)
"""Calls given up (CVE-2023-44487), or made to fail (CVE-2025-8671), before they are answered. What
was begun for them goes on, so they must not get around the limit of calls at once. An honest caller
may give up all it has, which are as many; each call that is answered earns it one more."""


class Budget:
    """So many at once, and so many more each second."""

    __slots__ = ("_burst", "_left", "_per_second", "_since")

    def __init__(self, burst: int, per_second: int) -> None:
        """Begin with a full one."""
        self._burst = burst
        self._per_second = per_second
        self._left: float = burst
        self._since: float | None = None

    def spend(self, now: float) -> None:
        """Take one.

        Raises:
            ConnectionFailedError: none is left.
        """
        if self._since is None:
            self._since = now
        self._left -= 1
        if self._left >= 0:
            return
        # What time has brought is only counted when it is needed.
        self._left += min(self._burst, (now - self._since) * self._per_second)
        self._since = now
        if self._left < 0:
            raise ConnectionFailedError(ErrorCode.ENHANCE_YOUR_CALM, "Too many frames for nothing")

    def earn(self, count: int) -> None:
        """Give back, up to a full one."""
        self._left = min(self._burst, self._left + count)
