"""Reads ``.sql`` files of named, described statements.

A statement begins with ``-- name: some_name``; comment lines after that describe it. A group of
placeholders followed by ``...`` stands for as many rows as the caller has: ``VALUES (?, ?)...``.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Final

__all__ = ("ManyRows", "read_migrations", "read_queries")

_NAME: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"^--.*\n", re.MULTILINE)
_ROWS: Final = re.compile(r"(\((?:\?, )*\?\))\.\.\.")

MOST_ROWS: Final = 256
"""Rows in one statement. SQLite allows 32766 parameters; our widest row has 15."""


def read_queries(package: str) -> dict[str, str]:
    """Return the statements in ``queries.sql`` of a package by name."""
    text = (files(package) / "queries.sql").read_text("utf-8")
    _, *pieces = _NAME.split(text)
    return {
        name: _COMMENT.sub("", body.lstrip("\n")).strip().removesuffix(";")
        for name, body in zip(pieces[::2], pieces[1::2], strict=True)
    }


def read_migrations(package: str) -> list[str]:
    """Return the scripts in ``migrations/`` of a package, oldest first."""
    scripts = [f for f in (files(package) / "migrations").iterdir() if f.name.endswith(".sql")]
    return [script.read_text("utf-8") for script in sorted(scripts, key=lambda f: f.name)]


class ManyRows:
    """A statement for any number of rows.

    Each run of a statement hands the interpreter lock over and back, so a batch of rows goes into
    one. Sizes are powers of two, so that a handful of prepared statements serves every batch; rows
    whose first value is NULL fill the rest, and the statement skips them.
    """

    def __init__(self, statement: str) -> None:
        match = _ROWS.search(statement)
        if match is None:
            raise ValueError(statement)
        self._before = statement[: match.start()]
        self._row = match[1]
        self._after = statement[match.end() :]
        self._width = self._row.count("?")
        # Zeros, because Python's sqlite3 takes ten times as long to bind a None.
        self._filling: list[object] = [None, *[0] * (self._width - 1)]
        self._sized: dict[int, str] = {}

    def calls(self, values: list[object]) -> list[tuple[str, list[object]]]:
        """Return statements with their parameters for rows laid end to end in ``values``."""
        most = MOST_ROWS * self._width
        if len(values) > most:
            return [
                call
                for start in range(0, len(values), most)
                for call in self.calls(values[start : start + most])
            ]
        rows = len(values) // self._width
        size = 1 << (rows - 1).bit_length()
        statement = self._sized.get(size)
        if statement is None:
            rows_text = ", ".join([self._row] * size)
            statement = self._sized[size] = f"{self._before}{rows_text}{self._after}"
        if size > rows:
            values = values + self._filling * (size - rows)
        return [(statement, values)]
