"""Text output: lines of ``Label: value``, and blocks for what is long.

What an agent says is not trusted. It is printed without control characters, and in a block every
line of it is indented, an empty one too: it can neither end the block nor pass for a field.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ("Lines", "cleaned", "printable")

# Controls but tab and newline, the soft ways to start a line, and marks that reorder text.
_UNPRINTABLE: Final = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_BREAK: Final = re.compile(r"\r\n?|\n")
_INDENT: Final = "  "


def cleaned(text: str) -> str:
    """Return a text on one line, without what could steer a terminal."""
    return _UNPRINTABLE.sub("", _BREAK.sub(" ", text))


def printable(text: str) -> str:
    """Return a text with its lines, without what could steer a terminal."""
    return _UNPRINTABLE.sub("", _BREAK.sub("\n", text))


class Lines:
    """Labelled lines, built from top to bottom."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._lines: list[str] = []

    def field(self, label: str, value: object) -> Lines:
        """Add one line; a newline in the value becomes a space."""
        self._lines.append(f"{label}: {cleaned(str(value))}".rstrip())
        return self

    def line(self, text: str) -> Lines:
        """Add one line that has no label; a newline in it becomes a space."""
        self._lines.append(cleaned(text).rstrip())
        return self

    def block(self, label: str, content: str) -> Lines:
        """Add a label, the content below it, and an empty line."""
        indented = (_INDENT + line for line in printable(content).split("\n"))
        self._lines += [f"{label}:", *indented, ""]
        return self

    def gap(self) -> Lines:
        """Add an empty line after a record, unless a block has left one."""
        if self._lines and self._lines[-1]:
            self._lines.append("")
        return self

    def add(self, other: Lines) -> Lines:
        """Add other lines as they are."""
        self._lines += other._lines
        return self

    def text(self) -> str:
        """Return everything, each line ended."""
        return "".join(f"{line}\n" for line in self._lines)
