"""When to look at a task again. Pure: whoever looks does the waiting."""

from __future__ import annotations

from typing import Final

__all__ = ("Gaps",)

_LEAST_SECONDS: Final = 0.1
_MOST_SECONDS: Final = 10.0
_GROWTH: Final = 1.5


class Gaps:
    """The pauses between two looks: the interval, growing while nothing changes."""

    def __init__(self, interval: float) -> None:
        """Begin with the interval that the user wants; no interval makes a busy loop."""
        self._interval = max(interval, _LEAST_SECONDS)
        self._most = max(_MOST_SECONDS, self._interval)
        self._gap = self._interval

    def first(self) -> float:
        """Return the pause before the first look."""
        return self._interval

    def after(self, *, has_changed: bool) -> float:
        """Return the pause after a look."""
        self._gap = self._interval if has_changed else min(self._gap * _GROWTH, self._most)
        return self._gap
