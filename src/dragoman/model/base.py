"""What all values of the model share.

Presence follows the proto (reference section 2.2): an implicit scalar at its zero value and an
empty array are left out, an ``optional`` field is ``None`` when unset and written even at zero. A
REQUIRED string is never empty and a REQUIRED array has at least one element (R-5.7-1, R-5.7-3).
"""

from __future__ import annotations

from typing import Annotated, TypeGuard

from msgspec import Meta, Struct

__all__ = ("INT32_MAX", "Count", "JsonObject", "NonEmpty", "Value", "is_array", "is_object")

INT32_MAX = 2**31 - 1

NonEmpty = Annotated[str, Meta(min_length=1)]
"""A REQUIRED string."""

Count = Annotated[int, Meta(ge=0, le=INT32_MAX)]
"""An int32 that cannot be negative."""

JsonObject = dict[str, object]
"""Free key/value data (google.protobuf.Struct): string keys, any JSON value."""


def is_object(value: object) -> TypeGuard[JsonObject]:
    """Whether decoded JSON is an object; its keys are strings because JSON has no others."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[object]]:
    """Whether decoded JSON is an array."""
    return isinstance(value, list)


class Value(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """A frozen value whose JSON is its 1.0 wire form.

    msgspec does not pass ``kw_only`` on and pyright wants ``frozen`` said again, so each subclass
    repeats both. ``gc=False``: values are trees decoded from JSON or built from such; they cannot
    form cycles.
    """
