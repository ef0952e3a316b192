"""What is known of the callers under one rate, in bounded memory and without ever evicting one.

Whoever has not asked for a whole period has the whole allowance back, and is no different from a
stranger. So the table has two generations: each period the older one, of which nobody has asked for
at least that long, is dropped as a whole, and nothing is lost with it.

A table that is full of callers who did ask takes in no more. Strangers then share a fixed number of
cells, each with the allowance of one caller. So with made-up identities nobody can make the table
grow, push another one out of it, or get rid of what he has used up himself: the flood limits
those who come during the flood, and among them its maker.

Replicas keep an allowance together, about: each tells the others when a caller has used up another
part of it there, and they charge it. What is less than a part nobody is told.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from dragoman.server.admission.gcra import Rate, Verdict, charge, weigh

__all__ = ("RateTable",)

CAPACITY: Final = 100_000
"""Callers in one period; about 15 MB if they all come."""

CELLS: Final = 1024
"""Which cell a stranger gets depends on the hash of this process, which he cannot know."""


PARTS: Final = 8
"""In so many parts others are told of an allowance. With N replicas a rate can be exceeded by
N - 1 parts; more parts would be more to tell."""


class RateTable:
    """The callers under one rate.

    Attributes:
        name: the same for the same limit at every replica.
    """

    __slots__ = (
        "_capacity",
        "_cells",
        "_old",
        "_part",
        "_turned_ms",
        "_untold",
        "_young",
        "name",
        "rate",
    )

    def __init__(self, rate: Rate, name: str = "", *, capacity: int = CAPACITY) -> None:
        """Start with nobody known."""
        self.rate = rate
        self.name = name
        self._part = max(1, rate.units // PARTS)
        self._untold: dict[Hashable, int] = {}
        self._capacity = capacity
        self._young: dict[Hashable, int] = {}
        self._old: dict[Hashable, int] = {}
        self._cells: dict[int, int] = {}
        self._turned_ms = 0

    def __len__(self) -> int:
        """Count what is kept."""
        return len(self._young) + len(self._old) + len(self._cells)

    def weigh(self, caller: Hashable, cost: int, now_ms: int) -> Verdict:
        """Decide on a request, without counting it."""
        return weigh(self.rate, self._full(caller, now_ms), cost, now_ms)

    def charge(self, caller: Hashable, units: int, now_ms: int) -> None:
        """Count what somebody else has let through."""
        self._keep(caller, charge(self.rate, self._full(caller, now_ms), units, now_ms))

    def _full(self, caller: Hashable, now_ms: int) -> int:
        """Return what is kept of a caller; 0 for nothing."""
        if now_ms - self._turned_ms >= self.rate.period_ms:
            self._turn(now_ms)
        full = self._young.get(caller) or self._old.get(caller)
        if full is None:
            full = self._cells.get(hash(caller) % CELLS, 0) if self._cells else 0
        return full

    def _turn(self, now_ms: int) -> None:
        self._old, self._young = self._young, {}
        self._untold = {}
        self._turned_ms = now_ms
        now = now_ms * self.rate.units
        self._cells = {cell: full for cell, full in self._cells.items() if full > now}

    def count(self, caller: Hashable, verdict: Verdict) -> None:
        """Count a request that was allowed."""
        self._keep(caller, verdict.full)

    def _keep(self, caller: Hashable, full: int) -> None:
        is_known = self._old.pop(caller, None) is not None or caller in self._young
        if is_known or len(self._young) + len(self._old) < self._capacity:
            self._young[caller] = full
        else:
            self._cells[hash(caller) % CELLS] = full

    def to_tell(self, caller: Hashable, cost: int) -> int:
        """Note a cost that was counted; return what others are to be told now, mostly nothing.

        Strangers who share a cell are nobody that others would know.
        """
        if caller not in self._young:
            return 0
        untold = self._untold.get(caller, 0) + cost
        if untold < self._part:
            self._untold[caller] = untold
            return 0
        self._untold.pop(caller, None)
        return untold
