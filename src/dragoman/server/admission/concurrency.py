"""How often, and how much at once, a caller may ask: before its request is read, and after.

A caller is told by who it is. Those nobody knows share one owner, but one of them must not use up
what the others have: they are told by where they are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable
from typing import Final

from dragoman.clock import Clock
from dragoman.errors import RateLimitedError
from dragoman.model.documents import EventDocument
from dragoman.model.operations import Operation
from dragoman.server.admission.authentication import IncomingRequest
from dragoman.server.admission.client_address import caller_address
from dragoman.server.admission.rate_limits import RateLimits, allowance_headers
from dragoman.server.settings import RateSettings
from dragoman.service.principal import ANONYMOUS
from dragoman.service.service import EventStream

__all__ = ("LEEWAY_SECONDS", "CallerLimits", "ExpiringStream", "HeldStream", "Quota")


class Quota:
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

    def __init__(self, events: EventStream, holdings: Quota, caller: Hashable) -> None:
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


class CallerLimits:
    """Counts what visitors do, and stops those who do too much.

    What is left of a limit is put into the ``allowance`` of the request, for every answer to tell.

    Attributes:
        rates: how often whom.
    """

    def __init__(
        self,
        settings: RateSettings,
        clock: Clock,
        *,
        trusted_proxies: Iterable[str] = (),
    ) -> None:
        """Read the rates.

        Raises:
            UsageError: one of them is none.
        """
        self._clock = clock
        self.rates: Final = RateLimits(settings, clock)
        self._streams = Quota(settings.max_streams_per_owner, "streams")
        self._trusted_proxies = frozenset(trusted_proxies)

    def meet(self, incoming: IncomingRequest) -> None:
        """Count a request before anything is known of it but where it comes from.

        Raises:
            RateLimitedError: too many have come from there.
        """
        if self.rates.is_at_door:
            verdict = self.rates.meet(self._address(incoming))
            if verdict is not None:
                incoming.allowance = allowance_headers(verdict)

    def turned_away(self, incoming: IncomingRequest) -> None:
        """Count a request whose credentials were not good."""
        self.rates.turned_away(self._address(incoming))

    def admit(self, operation: Operation, incoming: IncomingRequest, tenant: str) -> None:
        """Count an operation of a caller who is known by now.

        Raises:
            RateLimitedError: the caller, or its tenant, has asked too often.
        """
        if self.rates.is_at_gate:
            try:
                verdict = self.rates.admit(operation, self._caller(incoming), tenant)
            except RateLimitedError:
                incoming.allowance = ()  # The error tells its own.
                raise
            if verdict is not None:
                incoming.allowance = allowance_headers(verdict)

    async def hold(
        self, incoming: IncomingRequest, opening: Callable[[], Awaitable[EventStream]]
    ) -> EventStream:
        """Open a stream that counts among those of the caller until it is closed.

        It ends when what the caller has shown does, if that is known.

        Raises:
            RateLimitedError: the caller has all the streams open that one may.
        """
        caller = self._caller(incoming)
        self._streams.take(caller)
        try:
            held = HeldStream(await opening(), self._streams, caller)
        except BaseException:
            self._streams.give_back(caller)
            raise
        expires_ms = incoming.principal.expires_ms
        return ExpiringStream(held, expires_ms, self._clock) if expires_ms else held

    def _caller(self, incoming: IncomingRequest) -> Hashable:
        owner = incoming.principal.owner
        return owner if owner != ANONYMOUS else (ANONYMOUS, self._address(incoming))

    def _address(self, incoming: IncomingRequest) -> str:
        return caller_address(incoming.peer, incoming.headers, self._trusted_proxies)
