"""Breakers: hosts that do not answer are left alone for a while. Pure.

A webhook has retries of its own. But many webhooks at one host that is down would each wait for a
timeout, and hold the places of those that could be served.

    closed ── failures in a row ──► open ── time ──► half open ── success ──► closed
                                     ▲                   │
                                     └───── failure ─────┘  (for twice as long)
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from msgspec import Struct

from dragoman.push.outcomes import Answered, Forbidden, Outcome, Unsendable

__all__ = ("Breaker", "BreakerRules", "Breakers", "is_failure_of_host")

_MOST_HOSTS: Final = 10_000
"""Who is forgotten is tried as if it had never failed."""


_MOST_DOUBLINGS: Final = 64
"""Beyond any bound; it only keeps the number small."""


class BreakerRules(Struct, frozen=True, kw_only=True):
    """When a breaker opens, and for how long.

    Attributes:
        failures: so many in a row.
        first_seconds: the first pause; each later one is twice as long.
        most_seconds: the longest.
        trial_seconds: after so long without a result, a trial counts as lost and another may begin.
    """

    failures: int = 5
    first_seconds: float = 10.0
    most_seconds: float = 600.0
    trial_seconds: float = 60.0


class Breaker(Struct, frozen=True, kw_only=True):
    """What is known of one host.

    Attributes:
        failures: how many in a row.
        pauses: how often it has opened since the last success.
        open_until_ms: nobody may call before; 0 if it is closed.
        trial_until_ms: one is trying until then, at most; 0 if nobody is.
    """

    failures: int = 0
    pauses: int = 0
    open_until_ms: int = 0
    trial_until_ms: int = 0

    def wait_ms(self, now_ms: int) -> int:
        """Return how long the host is left alone from now on, 0 if it may be called."""
        return max(0, self.open_until_ms - now_ms, self.trial_until_ms - now_ms)

    def begun(self, rules: BreakerRules, now_ms: int) -> Breaker:
        """Note that somebody calls; after a pause, the one who does is alone."""
        if not self.open_until_ms:
            return self
        return Breaker(
            failures=self.failures,
            pauses=self.pauses,
            open_until_ms=self.open_until_ms,
            trial_until_ms=now_ms + round(1000 * rules.trial_seconds),
        )

    def failed(self, rules: BreakerRules, now_ms: int) -> Breaker:
        """Note a failure; one of a call that began before the pause does not make it longer."""
        failures = self.failures + 1
        is_trial = bool(self.trial_until_ms)
        if failures < rules.failures or (self.open_until_ms and not is_trial):
            return Breaker(failures=failures, pauses=self.pauses, open_until_ms=self.open_until_ms)
        doublings = min(self.pauses, _MOST_DOUBLINGS)
        pause = min(rules.first_seconds * 2**doublings, rules.most_seconds)
        return Breaker(
            failures=failures, pauses=self.pauses + 1, open_until_ms=now_ms + round(1000 * pause)
        )


class Breakers:
    """One breaker per host; those that have nothing to tell take no memory."""

    def __init__(self, rules: BreakerRules | None = None, *, most: int = _MOST_HOSTS) -> None:
        self._rules = rules or BreakerRules()
        self._most = most
        self._by_host: OrderedDict[str, Breaker] = OrderedDict()

    def __len__(self) -> int:
        """Count the hosts that have failed lately."""
        return len(self._by_host)

    def wait_ms(self, host: str, now_ms: int) -> int:
        """Return how long a host is left alone from now on, 0 if it may be called."""
        known = self._by_host.get(host)
        return known.wait_ms(now_ms) if known is not None else 0

    def resting(self, now_ms: int) -> set[str]:
        """Return the hosts that are left alone now."""
        return {host for host, known in self._by_host.items() if known.wait_ms(now_ms)}

    def begin(self, host: str, now_ms: int) -> None:
        """Note that somebody calls a host, who has asked ``wait_ms`` before."""
        known = self._by_host.get(host)
        if known is not None:
            self._by_host[host] = known.begun(self._rules, now_ms)

    def note(self, host: str, outcome: Outcome, now_ms: int) -> None:
        """Note what came of a call."""
        if not is_failure_of_host(outcome):
            self._by_host.pop(host, None)
            return
        known = self._by_host.get(host, Breaker())
        self._by_host[host] = known.failed(self._rules, now_ms)
        self._by_host.move_to_end(host)
        if len(self._by_host) > self._most:
            self._by_host.popitem(last=False)


def is_failure_of_host(outcome: Outcome) -> bool:
    """Tell whether others who call the same host would fare as badly.

    What a host says of one webhook (404, 401) it says in good health.
    """
    match outcome:
        case Answered(status=status):
            return status >= 500 or status == 429
        case Forbidden() | Unsendable():
            return False
        case _:
            return True
