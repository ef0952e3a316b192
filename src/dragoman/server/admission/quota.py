"""How much each caller holds at once: streams that are open, turns that are at work or wait."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable

from dragoman.errors import RateLimitedError
from dragoman.model.documents import EventDocument
from dragoman.service.service import EventStream

__all__ = ("HeldStream", "Holdings")


class Holdings:
    """Counts what callers hold; whoever holds nothing is not remembered.

    Args:
        what: the name of what is held, in the plural.
    """

    __slots__ = ("_held", "_limit", "_what")

    def __init__(self, limit: int, what: str) -> None:
        self._limit = limit
        self._what = what
        self._held: dict[Hashable, int] = {}

    def __len__(self) -> int:
        """Count the callers who hold something."""
        return len(self._held)

    def check(self, caller: Hashable) -> None:
        """Raise RateLimitedError for a caller who holds all that one may."""
        if self._held.get(caller, 0) >= self._limit:
            raise RateLimitedError(
                f"You have {self._limit} {self._what} at once, which is the limit; end one first",
                # Nobody knows when one will end.
                retry_after_seconds=1,
                metadata={"limit": str(self._limit)},
            )

    def take(self, caller: Hashable) -> None:
        """Count one more, or raise as ``check`` does."""
        self.check(caller)
        self.count(caller)

    def count(self, caller: Hashable) -> None:
        """Count one more, whatever the limit."""
        self._held[caller] = self._held.get(caller, 0) + 1

    def give_back(self, caller: Hashable) -> None:
        """Count one less."""
        left = self._held[caller] - 1
        if left:
            self._held[caller] = left
        else:
            del self._held[caller]


class HeldStream:
    """A stream that counts among those of its caller until it is closed."""

    __slots__ = ("_caller", "_events", "_holdings", "_is_held")

    def __init__(self, events: EventStream, holdings: Holdings, caller: Hashable) -> None:
        """Take over a place that was taken for the stream."""
        self._events = events
        self._holdings = holdings
        self._caller = caller
        self._is_held = True

    def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        """Iterate over the batches."""
        return self._events.__aiter__()

    async def aclose(self) -> None:
        """Stop following, and give the place back."""
        if self._is_held:
            self._is_held = False
            self._holdings.give_back(self._caller)
        await self._events.aclose()
