"""Tally: what has come of notifications since the process began, for whoever watches it."""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct

from dragoman.push.schedule import Again, Dead, Done, Step

__all__ = ("Tally",)


class Tally(Struct, gc=False):
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
