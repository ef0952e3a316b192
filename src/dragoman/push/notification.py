"""A notification, ready to be sent, and counts of what has come of notifications."""

from __future__ import annotations

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
        version: of the protocol, in whose form the body is.
        trace: of what it tells of, as ``dragoman.telemetry`` has it; "" if that was not traced.
    """

    id: str
    body: bytes
    version: str = "1.0"
    trace: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """How the body is labelled; versions before 1.0 have a label of their own."""
        if self.version == "1.0":
            # R-4.3.3-2.
            return {"Content-Type": "application/a2a+json", "A2A-Version": self.version}
        return {"Content-Type": "application/json"}


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
