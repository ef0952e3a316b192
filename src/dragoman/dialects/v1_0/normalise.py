"""What ProtoJSON lets a peer write that the strict decoder does not take.

A reader per type, made once from the model's own Structs, rewrites the leniencies of the
reference's section 2.1 into the plain form: snake_case names, ``null`` for absent, ``"5"`` and
``5.0`` for 5, URL-safe or unpadded base64, enum numbers. Anything else it leaves as it is, for the
strict decoder to refuse. Free JSON (metadata, params, header, data) is never touched.

It refuses by itself only what it alone can name well: a field given in both spellings, ``null`` in
an array, and values outside an enum or a range.

Requests are read so, by servers. What a client forgives beyond it is in ``answers``.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias, TypeGuard

import msgspec.inspect as shapes
from msgspec import UNSET, Struct

from dragoman.errors import InvalidParamsError
from dragoman.model.base import INT32_MAX, is_array, is_object
from dragoman.model.messages import Role
from dragoman.model.tasks import TaskState

if TYPE_CHECKING:
    from enum import Enum

__all__ = (
    "UNSPECIFIED_NAMES",
    "Reader",
    "enum_names",
    "is_number",
    "reader_for",
    "scalar_reader",
    "snake_names",
)

Reader: TypeAlias = Callable[[object, str], object]
"""Takes a value and its path, returns the plain form, or UNSET when the value means "absent"."""


class Member(Struct, frozen=True):
    """One member of an object: its JSON name, how to read it, and whether null is a value."""

    name: str
    read: Reader
    keeps_null: bool


_INTEGER: Final = re.compile(r"-?\d{1,10}", re.ASCII)
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]*={0,2}", re.ASCII)
_STANDARD_ALPHABET: Final = str.maketrans("-_", "+/")

UNSPECIFIED_NAMES: Final[dict[type[Enum], str]] = {
    TaskState: "TASK_STATE_UNSPECIFIED",
    Role: "ROLE_UNSPECIFIED",
}
"""Value 0 of each enum. It has no member in the model: it is never sent, and read as absent."""


@cache
def reader_for(kind: type[Struct]) -> Reader:
    """Return the reader of a Struct."""
    info = shapes.type_info(kind)
    if not isinstance(info, shapes.StructType):  # pragma: no cover - a Struct has no other shape
        raise TypeError(kind)
    return _object_reader(info)


def snake_names(*kinds: type[Struct]) -> frozenset[str]:
    """Return all snake_case names that these types, and the types they contain, also answer to."""
    found: set[str] = set()
    todo: list[shapes.Type] = [shapes.type_info(kind) for kind in kinds]
    while todo:
        shape = todo.pop()
        if isinstance(shape, shapes.StructType):
            found |= {field.name for field in shape.fields if field.name != field.encode_name}
            todo += (field.type for field in shape.fields)
        elif isinstance(shape, shapes.UnionType):
            todo += shape.types
        elif isinstance(shape, shapes.VarTupleType):
            todo.append(shape.item_type)
        elif isinstance(shape, shapes.DictType):
            todo.append(shape.value_type)
    return frozenset(found)


def _reader(shape: shapes.Type) -> Reader:
    if isinstance(shape, shapes.UnionType):
        # Every union of the model is "or absent".
        (shape,) = (kind for kind in shape.types if not isinstance(kind, shapes.NoneType))
    match shape:
        case shapes.StructType():
            return reader_for(shape.cls)
        case shapes.VarTupleType():
            return _array_reader(_reader(shape.item_type))
        case shapes.DictType():
            return _map_reader(_reader(shape.value_type))
        case shapes.EnumType():
            return _enum_reader(shape.cls)
        case _:
            return scalar_reader(shape)


def scalar_reader(shape: shapes.Type) -> Reader:
    """Return the reader of what is neither an object, an array nor an enum."""
    match shape:
        case shapes.IntType():
            return _int_reader(shape.ge or 0, INT32_MAX if shape.le is None else shape.le)
        case shapes.BytesType():
            return _read_bytes
        case _:
            # Strings, booleans and free JSON have one form only.
            return _read_as_is


def _object_reader(shape: shapes.StructType) -> Reader:
    members: dict[str, Member] = {}
    for field in shape.fields:
        # Part.data alone may be null: it is the one field whose absence is UNSET.
        keeps_null = isinstance(field.type, shapes.CustomType)
        read_field = _reader(field.type)
        member = Member(field.encode_name, read_field, keeps_null)
        members[field.encode_name] = members[field.name] = member

    def read(value: object, path: str) -> object:
        if not is_object(value):
            return value
        plain: dict[str, object] = {}
        seen: set[str] = set()
        for key, item in value.items():
            member = members.get(key)
            if member is None:
                continue  # R-5.7-5: unknown members are ignored
            place = f"{path}.{member.name}" if path else member.name
            if member.name in seen:
                raise InvalidParamsError.of(place, "is given in two spellings")
            seen.add(member.name)
            if item is None and not member.keeps_null:
                continue
            read_item = member.read(item, place)
            if read_item is not UNSET:
                plain[member.name] = read_item
        return plain

    return read


def _array_reader(read_item: Reader) -> Reader:
    def read(value: object, path: str) -> object:
        if not is_array(value):
            return value
        plain: list[object] = []
        for index, item in enumerate(value):
            place = f"{path}[{index}]"
            if item is None:
                raise InvalidParamsError.of(place, "must not be null")
            plain.append(read_item(item, place))
        return plain

    return read


def _map_reader(read_item: Reader) -> Reader:
    if read_item is _read_as_is:
        return _read_as_is

    def read(value: object, path: str) -> object:
        if not is_object(value):
            return value
        return {key: read_item(item, f"{path}.{key}") for key, item in value.items()}

    return read


def _int_reader(least: int, most: int) -> Reader:
    def read(value: object, path: str) -> object:
        if (isinstance(value, str) and _INTEGER.fullmatch(value)) or (
            isinstance(value, float) and value.is_integer()
        ):
            value = int(value)
        if is_number(value) and not least <= value <= most:
            raise InvalidParamsError.of(path, f"must be between {least} and {most}")
        return value

    return read


def enum_names(kind: type[Enum]) -> dict[int, str]:
    """Return the names of an enum by their numbers in the proto: the model's order, from 1."""
    return {number: member.value for number, member in enumerate(kind, 1)}


def _enum_reader(kind: type[Enum]) -> Reader:
    by_number = enum_names(kind)
    names = tuple(by_number.values())
    unset = UNSPECIFIED_NAMES[kind]
    expected = f"must be one of {', '.join(names)}"

    def read(value: object, path: str) -> object:
        if is_number(value):
            value = by_number.get(value, unset if value == 0 else None)
        if value == unset:
            return UNSET
        if value not in names:
            # an unknown name is refused, not read as "unset".
            raise InvalidParamsError.of(path, expected)
        return value

    return read


def is_number(value: object) -> TypeGuard[int]:
    """Whether a JSON value is an integer; booleans are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def _read_bytes(value: object, path: str) -> object:
    del path
    if not isinstance(value, str) or not _BASE64.fullmatch(value):
        return value
    bare = value.rstrip("=").translate(_STANDARD_ALPHABET)
    if len(bare) % 4 == 1:
        return value
    return b64decode(bare + "=" * (-len(bare) % 4))


def _read_as_is(value: object, path: str) -> object:
    del path
    return value
