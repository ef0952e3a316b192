"""What programs say and hear, as the plain data that JSON can express.

msgspec knows dataclasses, Structs, TypedDicts, enums and containers of them. A pydantic model
anywhere inside dumps itself; pydantic is recognised by shape, never imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeGuard

import msgspec

from dragoman.errors import UsageError
from dragoman.model.base import is_array, is_object

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = ("BYTES", "PydanticModel", "is_model", "to_plain_data", "with_whole_numbers")

BYTES: Final = "application/octet-stream"
"""The media type of bytes of which nothing is known."""


class PydanticModel(Protocol):
    """What we use of a pydantic model."""

    @classmethod
    def model_validate(cls, obj: object, /) -> object:
        """Read a value."""
        ...

    @classmethod
    def model_json_schema(cls) -> JsonObject:
        """Return the JSON Schema."""
        ...

    def model_dump(self, *, mode: str) -> object:
        """Return the value as data."""
        ...


def is_model(kind: object) -> TypeGuard[type[PydanticModel]]:
    """Tell whether this is a pydantic model class."""
    return (
        isinstance(kind, type)
        and hasattr(kind, "__pydantic_validator__")
        and hasattr(kind, "model_validate")
    )


def to_plain_data(value: object, *, instead: str) -> object:
    """Return a value as data that JSON can express.

    Args:
        instead: what else could be sent, for the error.

    Raises:
        UsageError: JSON cannot express it.
    """
    try:
        return msgspec.to_builtins(value, str_keys=True, enc_hook=_dump_model)
    except (TypeError, NotImplementedError) as problem:
        raise UsageError(
            f"a {type(value).__qualname__} cannot be sent: use {instead}, "
            "or data that JSON can express"
        ) from problem


def with_whole_numbers(value: object) -> object:
    """Return data in which 5.0 is 5: a google.protobuf.Value (gRPC) has doubles only."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if is_object(value):
        return {name: with_whole_numbers(member) for name, member in value.items()}
    if is_array(value):
        return [with_whole_numbers(item) for item in value]
    return value


def _is_instance(value: object) -> TypeGuard[PydanticModel]:
    return is_model(type(value))


def _dump_model(value: object) -> object:
    if _is_instance(value):
        return value.model_dump(mode="json")
    raise NotImplementedError
