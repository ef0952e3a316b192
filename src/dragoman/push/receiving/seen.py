"""Seen: which notifications have come already, so that none is taken twice.

A notification goes by marks, each with what it stands for: its id, and the id of its JWT, stand
for its body. The same mark with the same meaning is a retry; with another meaning it is misused.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from dragoman.clock import Clock

__all__ = ("Seen", "Verdict")


class Verdict(Enum):
    """What is known of some marks."""

    NEW = "new"
    PENDING = "pending"
    REPEATED = "repeated"
    MISUSED = "misused"


class Seen:
    """A bounded memory; the oldest marks are forgotten first.

    Only those who have shown who they are get marks in here: nobody else can have it forget.
    """

    def __init__(self, *, seconds: float, most: int, clock: Clock) -> None:
        """Remember marks for so long, and at most so many."""
        self._window_ms = round(seconds * 1000)
        self._most = most
        self._clock = clock
        self._pending: dict[str, str] = {}
        # In the order of time, since all are kept equally long.
        self._kept: dict[str, tuple[str, int]] = {}

    def begin(self, marks: Mapping[str, str]) -> Verdict:
        """Look at some marks; if they are new, they are pending until ``keep`` or ``drop``."""
        self._forget()
        known = {mark: meaning for mark in marks if (meaning := self._meaning(mark)) is not None}
        if any(marks[mark] != meaning for mark, meaning in known.items()):
            return Verdict.MISUSED
        if any(mark in self._pending for mark in known):
            return Verdict.PENDING
        if known:
            return Verdict.REPEATED
        self._pending.update(marks)
        return Verdict.NEW

    def keep(self, marks: Mapping[str, str]) -> None:
        """Remember marks whose notification was taken."""
        self.drop(marks)
        until_ms = self._clock.now_ms() + self._window_ms
        for mark, meaning in marks.items():
            self._kept[mark] = (meaning, until_ms)
        self._forget()

    def drop(self, marks: Mapping[str, str]) -> None:
        """Forget marks whose notification was not taken: it may come again."""
        for mark in marks:
            self._pending.pop(mark, None)

    def _meaning(self, mark: str) -> str | None:
        pending = self._pending.get(mark)
        return pending if pending is not None else self._kept.get(mark, (None,))[0]

    def _forget(self) -> None:
        now_ms = self._clock.now_ms()
        while self._kept:
            oldest = next(iter(self._kept))
            if len(self._kept) <= self._most and self._kept[oldest][1] > now_ms:
                return
            del self._kept[oldest]
