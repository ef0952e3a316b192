"""What follows from an attempt to deliver a notification. Pure.

An attempt has an outcome. ``RetryPlan`` decides by it what to do with the notification, and when.
A webhook has retries of its own, but many webhooks at one host that is down would each wait for a
timeout, and hold the places of those that could be served. So ``Breakers`` leave such a host alone
for a while:

    closed ── failures in a row ──► open ── time ──► half open ── success ──► closed
                                     ▲                   │
                                     └───── failure ─────┘  (for twice as long)

Time and chance are arguments; whoever sends does the waiting and the storing.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import UTC
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import Final, TypeAlias, assert_never

from msgspec import Struct

__all__ = (
    "Again",
    "Answered",
    "Breaker",
    "BreakerRules",
    "Breakers",
    "Dead",
    "Done",
    "Forbidden",
    "Outcome",
    "RetryPlan",
    "Step",
    "Unanswered",
    "Unsendable",
    "Verdict",
    "asked_seconds",
    "is_failure_of_host",
    "verdict_of",
)


_MOST_DOUBLINGS: Final = 64
"""Beyond any bound; it only keeps the number small."""

_MOST_HOSTS: Final = 10_000
"""Who is forgotten is tried as if it had never failed."""


# --- outcomes -------------------------------------------------------------------------------------


class Answered(Struct, frozen=True, kw_only=True):
    """The receiver has answered.

    Attributes:
        retry_after: what it says of when to come again, as it stands in the header.
    """

    status: int
    retry_after: str = ""

    @property
    def finding(self) -> str:
        """Tell it in words, for the log."""
        return f"HTTP status {self.status}"


class Unanswered(Struct, frozen=True, kw_only=True):
    """No answer came; whether the notification has arrived is not known."""

    finding: str


class Forbidden(Struct, frozen=True, kw_only=True):
    """The rules for outgoing requests forbid the address; nothing was sent.

    Attributes:
        is_of_address: the URL is good, but its host is now found where it must not be called.
    """

    finding: str
    is_of_address: bool = False


class Unsendable(Struct, frozen=True, kw_only=True):
    """The webhook was registered with what HTTP cannot carry; nothing was sent."""

    finding: str


Outcome: TypeAlias = Answered | Unanswered | Forbidden | Unsendable


class Verdict(Enum):
    """What an outcome means for the notification."""

    DELIVERED = "delivered"
    RETRY = "retry"
    """It will pass; try for long."""
    RETRY_BRIEFLY = "retry briefly"
    """It looks lasting, but may be a deployment: try a few times."""
    GIVE_UP = "give up"
    """The same request will always get the same answer."""


_PASSING: Final = frozenset({408, 409, 421, 423, 425, 429})
"""Statuses below 500 that say "not now"."""

_LASTING: Final = frozenset({400, 405, 406, 410, 411, 413, 414, 415, 422, 431, 501, 505})
"""Statuses that say "never so"."""


def verdict_of(outcome: Outcome) -> Verdict:
    """Tell what an outcome means."""
    match outcome:
        case Answered(status=status):
            return _verdict_of_status(status)
        case Unanswered():
            return Verdict.RETRY
        case Forbidden(is_of_address=is_of_address):
            # Names are moved, and are found in the wrong place for a while.
            return Verdict.RETRY_BRIEFLY if is_of_address else Verdict.GIVE_UP
        case Unsendable():
            return Verdict.GIVE_UP
        case _:
            assert_never(outcome)


def _verdict_of_status(status: int) -> Verdict:
    if 200 <= status < 300:
        # R-4.3.3-4: any of these says that it has come.
        return Verdict.DELIVERED
    if status in _LASTING or 300 <= status < 400:
        # A redirect is not followed: what was checked and registered is this address.
        return Verdict.GIVE_UP
    if status in _PASSING or status >= 500:
        return Verdict.RETRY
    return Verdict.RETRY_BRIEFLY


# --- retries --------------------------------------------------------------------------------------


class Done(Struct, frozen=True):
    """The notification has arrived."""


class Again(Struct, frozen=True):
    """Try again, not before this time."""

    at_ms: int


class Dead(Struct, frozen=True):
    """Keep it as a dead letter, for an operator to look at; the next one goes on.

    Attributes:
        finding: what came of the last attempt.
    """

    finding: str


Step: TypeAlias = Done | Again | Dead


class RetryPlan(Struct, frozen=True, kw_only=True):
    """How often and how patiently to deliver a notification.

    With these numbers the last attempt is some 10 to 15 hours after the first: a receiver may be
    down for a night. Receivers of ours know a notification again for 24 hours.

    Attributes:
        attempts: how often at most, the first time included (R-4.3.3-11).
        brief_attempts: the same, where it looks as if trying does not help.
        first_seconds: the first wait; each later one is twice as long (R-13.2-3).
        most_seconds: the longest.
        most_asked_seconds: the longest wait that a receiver can ask for by ``Retry-After``.
    """

    attempts: int = 20
    brief_attempts: int = 4
    first_seconds: float = 1.0
    most_seconds: float = 7200.0
    most_asked_seconds: float = 3600.0

    def next_step(self, outcome: Outcome, *, attempts: int, now_ms: int, chance: float) -> Step:
        """Decide what follows from the outcome of an attempt.

        Args:
            attempts: how many were made, this one included.
            chance: a random number from 0 to 1.
        """
        match verdict_of(outcome):
            case Verdict.DELIVERED:
                return Done()
            case Verdict.GIVE_UP:
                most = 0
            case Verdict.RETRY_BRIEFLY:
                most = min(self.brief_attempts, self.attempts)
            case Verdict.RETRY:
                most = self.attempts
        finding = outcome.finding
        if attempts >= most:
            return Dead(finding)
        asked = asked_seconds(outcome, now_ms)
        return Again(now_ms + round(1000 * self.delay(attempts, chance, asked)))

    def delay(self, failures: int, chance: float, asked: float = 0.0) -> float:
        """Return how many seconds to wait after so many failures.

        Args:
            chance: half of the wait is left to it, so that what failed together does not come back
                together.
            asked: the wait that the receiver has asked for; it gets no less, within bounds.
        """
        doublings = min(failures - 1, _MOST_DOUBLINGS)
        wait = min(self.first_seconds * 2**doublings, self.most_seconds) * (0.5 + chance / 2)
        return max(wait, min(asked, self.most_asked_seconds))


def asked_seconds(outcome: Outcome, now_ms: int) -> float:
    """Return the wait that a receiver asks for, 0 if none that can be read (RFC 9110, 10.2.3)."""
    text = outcome.retry_after.strip() if isinstance(outcome, Answered) else ""
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    return max(0.0, then.replace(tzinfo=then.tzinfo or UTC).timestamp() - now_ms / 1000)


# --- breakers -------------------------------------------------------------------------------------


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
