"""The turnstile: how often and how much at once, for a visitor at the door and then at the gate.

A caller is told by who it is. Those nobody knows share one owner, but one of them must not use up
what the others have: they are told by where they are.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Hashable, Iterable
from typing import Final

from dragoman.clock import Clock
from dragoman.errors import RateLimitedError
from dragoman.model.operations import Operation
from dragoman.server.admission.authentication import Visitor
from dragoman.server.admission.callers import caller_address
from dragoman.server.admission.expiry import ExpiringStream
from dragoman.server.admission.quota import HeldStream, Holdings
from dragoman.server.admission.rate_limits import RateLimits, RateSettings, allowance_headers
from dragoman.service.principal import ANONYMOUS
from dragoman.service.service import EventStream

__all__ = ("Turnstile",)


class Turnstile:
    """Counts what visitors do, and stops those who do too much.

    What is left of a limit is put into the ``allowance`` of the visitor, for every answer to tell.

    Attributes:
        rates: how often whom.
    """

    def __init__(
        self,
        rates: RateSettings,
        clock: Clock,
        *,
        max_streams: int = sys.maxsize,
        trusted_proxies: Iterable[str] = (),
    ) -> None:
        """Read the rates.

        Raises:
            UsageError: one of them is none.
        """
        self._clock = clock
        self.rates: Final = RateLimits(rates, clock)
        self._streams = Holdings(max_streams, "streams")
        self._trusted_proxies = frozenset(trusted_proxies)

    def meet(self, visitor: Visitor) -> None:
        """Count a request before anything is known of it but where it comes from.

        Raises:
            RateLimitedError: too many have come from there.
        """
        if self.rates.is_at_door:
            verdict = self.rates.meet(self._address(visitor))
            if verdict is not None:
                visitor.allowance = allowance_headers(verdict)

    def turned_away(self, visitor: Visitor) -> None:
        """Count a request whose credentials were not good."""
        self.rates.turned_away(self._address(visitor))

    def admit(self, operation: Operation, visitor: Visitor, tenant: str) -> None:
        """Count an operation of a caller who is known by now.

        Raises:
            RateLimitedError: the caller, or its tenant, has asked too often.
        """
        if self.rates.is_at_gate:
            try:
                verdict = self.rates.admit(operation, self._caller(visitor), tenant)
            except RateLimitedError:
                visitor.allowance = ()  # The error tells its own.
                raise
            if verdict is not None:
                visitor.allowance = allowance_headers(verdict)

    async def hold(
        self, visitor: Visitor, opening: Callable[[], Awaitable[EventStream]]
    ) -> EventStream:
        """Open a stream that counts among those of the caller until it is closed.

        It ends when what the caller has shown does, if that is known.

        Raises:
            RateLimitedError: the caller has all the streams open that one may.
        """
        caller = self._caller(visitor)
        self._streams.take(caller)
        try:
            held = HeldStream(await opening(), self._streams, caller)
        except BaseException:
            self._streams.give_back(caller)
            raise
        expires_ms = visitor.principal.expires_ms
        return ExpiringStream(held, expires_ms, self._clock) if expires_ms else held

    def _caller(self, visitor: Visitor) -> Hashable:
        owner = visitor.principal.owner
        return owner if owner != ANONYMOUS else (ANONYMOUS, self._address(visitor))

    def _address(self, visitor: Visitor) -> str:
        return caller_address(visitor.peer, visitor.headers, self._trusted_proxies)
