"""What an agent answers, seen with as little help as possible: the result, or the refusal.

What is wrong with the way it came is kept beside what it says, so that one mistake does not hide
the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeGuard

from msgspec import Struct

from dragoman.errors import SPELLINGS

__all__ = ("ERRORS", "Answer", "ErrorForm", "Refusal", "at", "items", "objects", "text_at")


class ErrorForm(Struct, frozen=True):
    """How an error is written on the three bindings; ``reason`` is that of its ErrorInfo."""

    jsonrpc: int
    http: int
    grpc: int
    reason: str


ERRORS: Final[Mapping[str, ErrorForm]] = {
    kind.__name__: ErrorForm(row.jsonrpc, row.http, row.grpc_code, row.reason)
    for kind, row in SPELLINGS.items()
}
"""R-5.4-1: every error by its name, those first that A2A has named itself."""


class Refusal(Struct, frozen=True, kw_only=True):
    """An error that the agent has answered with.

    Attributes:
        name: what A2A calls it; "" if it cannot be told.
        code: what the binding calls it: a JSON-RPC code, an HTTP status, a status of gRPC.
    """

    name: str
    code: int
    message: str

    def __str__(self) -> str:
        """Return it in one line, as it is told to a user."""
        return f"{self.name or 'an error'} ({self.code}: {self.message})"


class Answer(Struct, frozen=True, kw_only=True):
    """One answer, or one event of a stream.

    Attributes:
        result: the JSON of 1.0, whatever version was spoken.
        faults: what is wrong with the way it came.
        media_type: its Content-Type, without parameters; "" where there is none.
    """

    result: object = None
    refusal: Refusal | None = None
    faults: tuple[str, ...] = ()
    media_type: str = ""


def is_object(value: object) -> TypeGuard[dict[str, object]]:
    """Whether decoded JSON is an object. Ours: this package shares no code with what it checks."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether decoded JSON is an array."""
    return isinstance(value, list)


def at(value: object, *path: str) -> object:
    """Return what is at a place inside of JSON, None if there is no such place."""
    for name in path:
        if not is_object(value):
            return None
        value = value.get(name)
    return value


def items(value: object) -> list[object] | None:
    """Return the items of a JSON array, None if it is none."""
    return value if is_array(value) else None


def objects(value: object) -> list[dict[str, object]]:
    """Return the objects of a JSON array; nothing if it is none."""
    return [item for item in items(value) or () if is_object(item)]


def text_at(value: object, *path: str) -> str:
    """Return the text at a place inside of JSON, "" if there is none."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""
