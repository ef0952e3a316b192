"""The names a member is read by: its JSON name, its proto name, and what peers call it besides.

A body whose members all have their JSON names costs one typed decode, which takes no others. What
it refuses is read as plain JSON and respelled, object by object, as its types say: other names
are replaced, and members that nobody knows left out. Free JSON (metadata, data) is never touched.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar, cast

import msgspec
import msgspec.inspect as shapes

from dragoman.dialects.fields import read_json
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.violations import DECODER_ERRORS, refusal_of
from dragoman.errors import InvalidParamsError
from dragoman.model.base import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.model.base import JsonObject

__all__ = ("Form",)

# JSON names by alias. The first three are proto names whose JSON name is another, and were the JSON
# names too before 0.3 and 0.2.6 (0.x reference, 3.9); the last is what the JSON schema says.
_ALIASES: Final[Mapping[type[wire.Wire], Mapping[str, str]]] = {
    wire.SendMessageRequest: {"request": "message"},
    wire.StreamResponse: {"msg": "message"},
    wire.TaskStatus: {"update": "message"},
    wire.SendMessageConfiguration: {"pushNotificationConfig": "pushNotification"},
}

W = TypeVar("W", bound=wire.Wire)


class Form(Generic[W]):
    """How one message is read; its decoder is made once."""

    __slots__ = ("_decode", "_kind")

    def __init__(self, kind: type[W]) -> None:
        """Prepare everything that depends on the type alone."""
        self._kind = kind
        self._decode = msgspec.json.Decoder(kind).decode

    def decode(self, data: bytes) -> W:
        """Read a message.

        Raises:
            JSONParseError, InvalidParamsError: the bytes are not JSON, or not this message.
        """
        try:
            return self._decode(data)
        except DECODER_ERRORS:
            return self.convert(read_json(data))

    def convert(self, value: object, *, is_text: bool = False) -> W:
        """Read a message from plain JSON.

        Args:
            is_text: scalars are the texts of a query.

        Raises:
            InvalidParamsError: the value is not this message.
        """
        try:
            plain = _respelled(self._kind, value, "")
            return msgspec.convert(plain, self._kind, strict=not is_text)
        except DECODER_ERRORS as refused:
            raise refusal_of(refused) from None


class _Member(NamedTuple):
    name: str
    """The JSON name."""
    kind: type[wire.Wire] | None
    """The message it holds, alone or in an array; None if it holds none."""


@cache
def _members(kind: type[wire.Wire]) -> dict[str, _Member]:
    """Return the members of a message by all their names."""
    members: dict[str, _Member] = {}
    for field in msgspec.structs.fields(kind):
        member = _Member(field.encode_name, _message_in(shapes.type_info(field.type)))
        members[field.encode_name] = members[field.name] = member
    for alias, name in _ALIASES.get(kind, {}).items():
        members[alias] = members[name]
    return members


def _message_in(shape: shapes.Type) -> type[wire.Wire] | None:
    match shape:
        case shapes.StructType():
            return cast("type[wire.Wire]", shape.cls)
        case shapes.VarTupleType():
            return _message_in(shape.item_type)
        case shapes.UnionType():
            # Every union is "or absent", so it has one message at most.
            return next(filter(None, map(_message_in, shape.types)), None)
        case _:
            return None


def _respelled(kind: type[wire.Wire], value: object, path: str) -> object:
    """Return the value with JSON names; what is not an object is left to the typed decoder."""
    if is_array(value):
        return [_respelled(kind, item, f"{path}[{index}]") for index, item in enumerate(value)]
    if not is_object(value):
        return value
    plain: JsonObject = {}
    members = _members(kind)
    for key, item in value.items():
        member = members.get(key)
        if member is None or item is None:
            continue
        place = f"{path}.{member.name}" if path else member.name
        if member.name in plain:
            raise InvalidParamsError.of(place, "is given in two spellings")
        plain[member.name] = item if member.kind is None else _respelled(member.kind, item, place)
    return plain
