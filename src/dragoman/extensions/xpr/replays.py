"""Replays: a signed request is taken once."""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

from dragoman.clock import Clock
from dragoman.errors import UnavailableError
from dragoman.extensions.xpr.signing import WINDOW_SECONDS

__all__ = ("MemoryReplays", "Replays")

_KEPT_MS: Final = 2 * WINDOW_SECONDS * 1000
"""A timestamp may lie in the future by one window, and is good for another after that."""

_MOST: Final = 100_000
"""Digests that are kept: at 20 calls a minute for each account, those of 500 busy ones."""


class Replays(Protocol):
    """Remembers which requests were taken. One that several replicas share guards them all."""

    async def claim(self, digest: bytes) -> bool:
        """Take a request by its digest; False if it was taken before.

        Of several that claim one digest at the same time, one gets True. A digest is kept for at
        least ten minutes.

        Raises:
            UnavailableError: it cannot be told now; nothing is taken then.
        """
        ...


class MemoryReplays:
    """Remembers in this process.

    Forgetting early would open the door to who has kept a request, so when it is full nobody is let
    in until the oldest digests have run out.
    """

    def __init__(self, clock: Clock, *, most: int = _MOST) -> None:
        self._clock = clock
        self._most = most
        self._until_ms: dict[bytes, int] = {}
        # In the order of time, since all are kept equally long. The dictionary has the same order,
        # but to find the first of what is left in it goes over all that were removed.
        self._oldest: deque[bytes] = deque()

    async def claim(self, digest: bytes) -> bool:
        """Take a request; see ``Replays.claim``."""
        now_ms = self._clock.now_ms()
        self._forget(now_ms)
        if digest in self._until_ms:
            return False
        if len(self._oldest) >= self._most:
            oldest_ms = self._until_ms[self._oldest[0]]
            raise UnavailableError(
                "Too many signed requests have come in the last minutes",
                retry_after_seconds=(oldest_ms - now_ms) / 1000,
            )
        self._until_ms[digest] = now_ms + _KEPT_MS
        self._oldest.append(digest)
        return True

    def _forget(self, now_ms: int) -> None:
        while self._oldest and self._until_ms[self._oldest[0]] <= now_ms:
            del self._until_ms[self._oldest.popleft()]
