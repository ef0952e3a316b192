"""google.protobuf's Struct, Value, Timestamp and Duration as the JSON they stand for.

What protobuf can carry and JSON cannot is refused with ``UnreadableError``. What JSON can carry and
protobuf cannot: an integer beyond 2^53 loses digits, and what is nested too deeply for protobuf's
readers is written as the text of its JSON.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import msgspec

from dragoman.model.timestamps import parse_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = (
    "Proto",
    "UnreadableError",
    "read_duration",
    "read_struct",
    "read_timestamp",
    "read_value",
    "write_duration",
    "write_struct",
    "write_timestamp",
    "write_value",
)

Proto: TypeAlias = Any
"""A protobuf message. The classes are made at run time: no type checker knows their fields."""

_DEPTH: Final = 88
"""Messages that may be nested within a value. Readers refuse more than 100 in all; the messages
around a value in an answer of ours take less than the rest."""

_OBJECT_DEPTH: Final = 3
"""A Struct, an entry of its map, and the Value of that."""

_ARRAY_DEPTH: Final = 2
"""A ListValue, and a Value in it."""

_EXACT: Final = 2**53
_SECOND: Final = 1_000_000_000
_MILLISECOND: Final = 1_000_000


class UnreadableError(ValueError):
    """A well-formed message holds what A2A does not allow; ``path`` says where."""

    def __init__(self, description: str, path: str = "") -> None:
        """Say what is wrong, and where."""
        super().__init__(description)
        self.description = description
        self.path = path

    def within(self, place: str) -> UnreadableError:
        """Return the same, seen from one level further up: a member's name, or ``[2]``."""
        separator = "." if self.path and not self.path.startswith("[") else ""
        return UnreadableError(self.description, f"{place}{separator}{self.path}")


# --- Struct and Value ---------------------------------------------------------------------------


def read_struct(struct: Proto) -> dict[str, object]:
    """Read an object."""
    return {name: read_value(value) for name, value in struct.fields.items()}


def read_value(value: Proto) -> object:
    """Read any JSON value; integral numbers become integers, and an empty Value is null."""
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        return _read_number(value.number_value)
    if kind == "struct_value":
        return read_struct(value.struct_value)
    if kind == "list_value":
        return [read_value(item) for item in value.list_value.values]
    return value.bool_value if kind == "bool_value" else None


def _read_number(number: float) -> float:
    if not isfinite(number):
        # NaN and the infinities are refused wherever they could come in.
        raise UnreadableError("holds a number that JSON does not have")
    # 0.x reference, 5.7: a double is all that protobuf has for an integer.
    return int(number) if number.is_integer() and -_EXACT <= number <= _EXACT else number


def write_struct(struct: Proto, items: object, depth: int = _DEPTH) -> None:
    """Write an object; ``depth`` messages may be nested in it."""
    if not items:
        # An empty message is not an absent one.
        struct.SetInParent()
    fields = struct.fields
    for name, item in cast("dict[str, object]", items).items():
        write_value(fields[name], item, depth)


def write_value(value: Proto, item: object, depth: int = _DEPTH) -> None:
    """Write any JSON value; ``depth`` messages may be nested in it."""
    _WRITERS[type(item)](value, item, depth)


def _write_text(value: Proto, item: Any, depth: int) -> None:
    del depth
    value.string_value = item


def _write_number(value: Proto, item: Any, depth: int) -> None:
    del depth
    try:
        if isfinite(item):
            value.number_value = item
        else:
            # Our JSON has null for it, too.
            value.null_value = 0
    except OverflowError:
        # An integer that no double comes near.
        value.string_value = str(item)


def _write_bool(value: Proto, item: Any, depth: int) -> None:
    del depth
    value.bool_value = item


def _write_object(value: Proto, item: Any, depth: int) -> None:
    if depth < _OBJECT_DEPTH:
        value.string_value = _json(item)
    else:
        write_struct(value.struct_value, item, depth - _OBJECT_DEPTH)


def _write_array(value: Proto, item: Any, depth: int) -> None:
    if depth < _ARRAY_DEPTH:
        value.string_value = _json(item)
        return
    array = value.list_value
    array.SetInParent()
    values = array.values
    for entry in item:
        write_value(values.add(), entry, depth - _ARRAY_DEPTH)


def _write_null(value: Proto, item: Any, depth: int) -> None:
    del item, depth
    value.null_value = 0


def _json(item: object) -> str:
    return msgspec.json.encode(item).decode()


_WRITERS: Final[dict[type, Callable[[Proto, Any, int], None]]] = {
    str: _write_text,
    int: _write_number,
    float: _write_number,
    bool: _write_bool,
    dict: _write_object,
    list: _write_array,
    tuple: _write_array,
    type(None): _write_null,
}


# --- Timestamp and Duration ---------------------------------------------------------------------


def read_timestamp(timestamp: Proto) -> str:
    """Read a time as RFC 3339: with milliseconds, or with nanoseconds where it needs them."""
    return _timestamp(timestamp.seconds, timestamp.nanos)


@lru_cache(maxsize=64)
def _timestamp(seconds: int, nanos: int) -> str:
    if not 0 <= nanos < _SECOND:
        raise UnreadableError("has nanoseconds outside of one second")
    try:
        second = datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        raise UnreadableError("is not a time between the years 1 and 9999") from None
    millis, rest = divmod(nanos, _MILLISECOND)
    fraction = f"{nanos:09d}" if rest else f"{millis:03d}"
    return f"{second[:19]}.{fraction}Z"


def write_timestamp(timestamp: Proto, text: object) -> None:
    """Write a time to the millisecond; a text that is no time leaves the message unset."""
    try:
        timestamp.seconds, timestamp.nanos = _moment(cast("str", text))
    except ValueError:
        return


@lru_cache(maxsize=64)
def _moment(text: str) -> tuple[int, int]:
    # Many tasks change in the same millisecond.
    seconds, millis = divmod(parse_timestamp(text), 1000)
    return seconds, millis * _MILLISECOND


def read_duration(duration: Proto) -> str:
    """Read a delay as JSON has it: seconds, such as ``1.5s``."""
    return f"{duration.seconds + duration.nanos / _SECOND:g}s"


def write_duration(duration: Proto, text: object) -> None:
    """Write a delay such as ``1.5s``."""
    nanos = round(float(cast("str", text).removesuffix("s")) * 1000) * _MILLISECOND
    duration.seconds, duration.nanos = divmod(nanos, _SECOND)
