"""Draft: an entry that may take several lines to write."""

from __future__ import annotations

from typing import Final

__all__ = ("QUOTES", "Draft")

QUOTES: Final = '"""'
"""What begins and ends a block, in which lines are taken as they are."""

_CONTINUED: Final = "\\"


class Draft:
    """One entry, written line by line.

    A line that ends with a backslash is continued on the next one. A line that begins with three
    quotes opens a block, and one that ends with three quotes closes it.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lines: list[str] = []
        self._is_block = False

    @property
    def is_begun(self) -> bool:
        """Tell whether there are lines that wait for more."""
        return bool(self._lines) or self._is_block

    def add(self, line: str) -> str | None:
        """Add a line; return the entry if that completes it, and begin anew."""
        if not self.is_begun and line.startswith(QUOTES):
            self._is_block = True
            line = line.removeprefix(QUOTES)
            if not line:
                return None
        if self._is_block:
            self._lines.append(line.removesuffix(QUOTES))
            return self._taken() if line.endswith(QUOTES) else None
        self._lines.append(line.removesuffix(_CONTINUED))
        return None if line.endswith(_CONTINUED) else self._taken()

    def _taken(self) -> str:
        entry = "\n".join(self._lines)
        # Quotes that stand on a line of their own are no empty last line.
        if self._is_block:
            entry = entry.removesuffix("\n")
        self._lines, self._is_block = [], False
        return entry
