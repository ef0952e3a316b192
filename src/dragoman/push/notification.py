"""A notification, ready to be sent, and counts of what has come of notifications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from msgspec import Struct

from dragoman.push.schedule import Again, Dead, Done, Step

__all__ = (
    "OutgoingNotification",
    "PushCounters",
)


class OutgoingNotification(Struct, frozen=True, kw_only=True):
    """A notification, ready to be sent.

    Attributes:
        id: what it is called; every attempt repeats it, so that receivers know it again.
        headers: how the body is labelled.
        trace: of what it tells of, as ``dragoman.telemetry`` has it; "" if that was not traced.
    """

    id: str
    body: bytes
    headers: Mapping[str, str]
    trace: str = ""


class PushCounters(Struct, gc=False):
    """Counts that only grow.

    Attributes:
        delivered: notifications that a receiver has taken.
        retried: attempts in vain after which another follows.
        dead: notifications that were given up.
    """

    delivered: int = 0
    retried: int = 0
    dead: int = 0

    def note(self, step: Step) -> None:
        """Count what follows from an attempt."""
        match step:
            case Done():
                self.delivered += 1
            case Again():
                self.retried += 1
            case Dead():
                self.dead += 1
            case _:
                assert_never(step)
