"""Puts the statement for a batch together from the pieces in ``queries.sql`` that it needs.

Each combination of pieces is one text, which PostgreSQL plans once for each connection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final

from dragoman.stores.shared.sql import read_queries

__all__ = ("QUERIES", "Piece", "compose")

QUERIES: Final = read_queries("dragoman.stores.postgres")

_MARK_WIDTH: Final = 3

_PARAMETER: Final = re.compile(r"\$(\d+)")

Piece = tuple[str, Sequence[object]]
"""The name of a piece, and its parameters."""


def compose(
    pieces: Sequence[Piece], mark: tuple[int, int, int], *, result: str = ""
) -> tuple[str, list[object]]:
    """Return a statement of these pieces, in order, and its parameters.

    Args:
        mark: who writes, on which of its connections, and how many batches it has written before.
        result: the piece that says what is answered; "" for nothing. It has the parameters of the
            first piece.
    """
    values: list[object] = [*mark]
    widths: list[tuple[str, int]] = []
    for name, parameters in pieces:
        values += parameters
        widths.append((name, len(parameters)))
    return _text(tuple(widths), result), values


@cache
def _text(pieces: tuple[tuple[str, int], ...], result: str) -> str:
    expressions: list[str] = []
    verdicts: list[str] = []
    offset = _MARK_WIDTH
    for name, width in pieces:
        # A piece that is there in two forms has the same name for those who refer to it.
        expression = _ALIASES.get(name, name)
        expressions.append(f"{expression} AS (\n{_shifted(QUERIES[f'with_{name}'], offset)}\n)")
        verdict = QUERIES.get(f"verdict_{name}")
        if verdict is not None:
            verdicts.append(_shifted(verdict, offset))
        offset += width
    answer = _shifted(QUERIES[f"result_of_{result}"], _MARK_WIDTH) if result else "NULL"
    expressions.append(f"marked AS (\n{QUERIES['with_marked'].replace('{result}', answer)}\n)")
    verdicts.append(QUERIES["verdict_marked"])
    return "WITH " + ",\n".join(expressions) + "\n" + "\nUNION ALL ".join(verdicts)


_ALIASES: Final = {"recounted": "counted", "sending_of_posts": "sending"}


def _shifted(text: str, offset: int) -> str:
    """Count the parameters of a piece on from those before it."""
    return _PARAMETER.sub(lambda match: f"${int(match[1]) + offset}", text)
