"""What comes of one attempt to deliver a notification, and what that means for the next. Pure."""

from __future__ import annotations

from enum import Enum
from typing import Final, TypeAlias, assert_never

from msgspec import Struct

__all__ = ("Answered", "Forbidden", "Outcome", "Unanswered", "Unsendable", "Verdict", "verdict_of")


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
