"""What becomes of values of the model on their way through protobuf."""

from collections.abc import Callable
from typing import TypeVar, cast

import msgspec
from msgspec import Struct

from dragoman.model.base import JsonObject

__all__ = ("as_doubles", "without_empty_part_metadata")

S = TypeVar("S", bound=Struct)


def as_doubles(value: S) -> S:
    """Return a value as it is once all the numbers in its free JSON have been doubles."""
    return _changed(value, _as_double)


def without_empty_part_metadata(value: S) -> S:
    """Return a value whose parts have no empty metadata: 0.3 puts its marks there."""
    return _changed(value, _drop_empty_metadata)


def _as_double(value: object) -> object:
    return float(value) if isinstance(value, int) and abs(value) > 2**53 else value


def _drop_empty_metadata(value: object) -> object:
    if not isinstance(value, dict):
        return value
    members = cast("JsonObject", value)
    if members.get("metadata") == {} and members.keys() & {"text", "raw", "url", "data"}:
        return {name: item for name, item in members.items() if name != "metadata"}
    return members


def _changed(value: S, change: Callable[[object], object]) -> S:
    return msgspec.convert(_walk(msgspec.to_builtins(value), change), type(value))


def _walk(value: object, change: Callable[[object], object]) -> object:
    if isinstance(value, dict):
        members = cast("JsonObject", value)
        return change({name: _walk(item, change) for name, item in members.items()})
    if isinstance(value, list | tuple):
        return [_walk(item, change) for item in cast("list[object]", value)]
    return change(value)
