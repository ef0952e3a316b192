"""Which numbers of an inbox this process knows of, in a store that several replicas post to."""

from __future__ import annotations

__all__ = ("KnownNumbers",)


class KnownNumbers:
    """Numbers that were given in an inbox, one after the other without gaps, as they get known.

    They may get known out of order: the store gave them to several replicas at once.

    Attributes:
        mark: all numbers up to this one are known.
    """

    __slots__ = ("_beyond", "mark")

    def __init__(self, mark: int = 0) -> None:
        self.mark: int = mark
        self._beyond: set[int] = set()

    def __contains__(self, n: int) -> bool:
        """Tell whether a number is known."""
        return n <= self.mark or n in self._beyond

    def add(self, n: int) -> None:
        """Get to know a number."""
        if n > self.mark:
            self._beyond.add(n)
        while self.mark + 1 in self._beyond:
            self.mark += 1
            self._beyond.remove(self.mark)
