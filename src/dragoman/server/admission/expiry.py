"""Streams that end when what their caller has shown does.

Who calls is asked when a stream is opened, and a stream may stay open for days: longer than the
token it was opened with. No timer is needed to end it in time. What becomes ready is not handed out
any more, and a stream with nothing to say ends at its next heartbeat.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from dragoman.clock import Clock
from dragoman.model.documents import EventDocument
from dragoman.service.service import EventStream

__all__ = ("LEEWAY_SECONDS", "ExpiringStream")

LEEWAY_SECONDS: Final = 30
"""How long a stream lasts that was opened with what had just ended.

An authenticator lets clocks differ, by as much unless told otherwise. A caller whose clock is slow
would otherwise come back at once, and again, until it thinks of a fresh token.
"""


class ExpiringStream:
    """A stream that ends in order when its time is up; the caller comes back with its cursor.

    The first batch is handed out in any case: its caller was let in for it.
    """

    __slots__ = ("_batches", "_clock", "_events", "_has_begun", "_until_ms")

    def __init__(self, events: EventStream, expires_ms: int, clock: Clock) -> None:
        now_ms = clock.now_ms()
        self._events = events
        self._batches = events.__aiter__()
        self._clock = clock
        self._until_ms = expires_ms if expires_ms > now_ms else now_ms + LEEWAY_SECONDS * 1000
        self._has_begun = False

    def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        """Return the iterator itself."""
        return self

    async def __anext__(self) -> tuple[EventDocument, ...]:
        """Return the next batch; what comes too late is left for whoever comes back."""
        batch = await self._batches.__anext__()
        if self._has_begun and self._clock.now_ms() >= self._until_ms:
            raise StopAsyncIteration
        self._has_begun = True
        return batch

    async def aclose(self) -> None:
        """Stop following."""
        await self._events.aclose()
