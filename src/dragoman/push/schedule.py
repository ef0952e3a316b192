"""The plan of retries: what to do after an attempt to deliver, and when. Pure.

Time and chance are arguments; whoever sends does the waiting and the storing.
"""

from __future__ import annotations

from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Final, TypeAlias

from msgspec import Struct

from dragoman.push.outcomes import Answered, Outcome, Verdict, verdict_of

__all__ = ("Again", "Dead", "Done", "RetryPlan", "Step", "asked_seconds")


_MOST_DOUBLINGS: Final = 64
"""Beyond any bound; it only keeps the number small."""


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
