"""Messages as the plain JSON data they stand for, and back (reference sections 2.1, 2.2).

The rules are ProtoJSON's, without the text: members by their JSON names, enums by name, unset
members left out. Bytes are read as bytes, and written from bytes or from base64. A ``Shape`` is
made once for each kind of message, from its descriptor.
"""

from __future__ import annotations

from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from google.protobuf.descriptor import FieldDescriptor

from dragoman.bindings.grpc.well_known import (
    Proto,
    UnreadableError,
    read_duration,
    read_struct,
    read_timestamp,
    read_value,
    write_duration,
    write_struct,
    write_timestamp,
    write_value,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.descriptor import Descriptor, EnumDescriptor

__all__ = ("Shape", "shape_of")

Read: TypeAlias = Callable[[Any], object]
"""Takes the value of a field, returns plain data."""
Write: TypeAlias = Callable[[Proto, Any], None]
"""Takes a message and plain data, sets one field."""
Fill: TypeAlias = Callable[[Proto, Any], None]
"""Takes an empty message and plain data, fills it."""


class Member(NamedTuple):
    """One field: its two names, how it is read and written (None: as it is)."""

    name: str
    field: str
    read: Read | None
    write: Write | None


class Shape:
    """How one kind of message is read and written."""

    __slots__ = ("_by_name", "_by_number", "_zeros")

    def __init__(self, descriptor: Descriptor) -> None:
        """Look at the fields once; messages inside the message get a shape of their own."""
        members = {field.number: _member(field) for field in descriptor.fields}
        self._by_number = members
        self._by_name = {member.name: (member.field, member.write) for member in members.values()}
        self._zeros = {
            descriptor.fields_by_name[name].json_name: _zero(descriptor.fields_by_name[name])
            for name in _ALWAYS.get(descriptor.full_name, ())
        }

    def read(self, message: Proto) -> dict[str, object]:
        """Return what is set in a message.

        Raises:
            UnreadableError: it holds what JSON cannot say; the path tells where.
        """
        plain = self._zeros.copy()
        name = ""
        try:
            for field, value in message.ListFields():
                name, _, read, _ = self._by_number[field.number]
                plain[name] = value if read is None else read(value)
        except UnreadableError as problem:
            raise problem.within(name) from None
        return plain

    def write(self, message: Proto, plain: Mapping[str, object]) -> None:
        """Set the fields of an empty message; every member of the data has one."""
        if not plain:
            # An empty message is not an absent one.
            message.SetInParent()
        for name, value in plain.items():
            field, write = self._by_name[name]
            if write is None:
                setattr(message, field, value)
            else:
                write(message, value)


@cache
def shape_of(descriptor: Descriptor) -> Shape:
    """Return the shape of a kind of message."""
    return Shape(descriptor)


# What JSON has to hold even at its zero value, which protobuf leaves out (sections 2.3 and 8.4).
_ALWAYS: Final = {
    "lf.a2a.v1.ListTasksResponse": ("tasks", "next_page_token", "page_size", "total_size"),
    "lf.a2a.v1.AgentCard": (
        *("description", "version", "supported_interfaces", "skills"),
        *("default_input_modes", "default_output_modes"),
    ),
    "lf.a2a.v1.AgentSkill": ("tags",),
    "lf.a2a.v1.AuthorizationCodeOAuthFlow": ("scopes",),
    "lf.a2a.v1.ClientCredentialsOAuthFlow": ("scopes",),
    "lf.a2a.v1.DeviceCodeOAuthFlow": ("scopes",),
}


# The readers of 0.3's files know them from JSON.
_BASE64: Final = frozenset({"a2a.v1.FilePart.file_with_bytes"})


def _zero(field: FieldDescriptor) -> object:
    if _is_map(field):
        return {}
    return [] if field.is_repeated else field.default_value


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


_WELL_KNOWN: Final[dict[str, tuple[Read, Fill]]] = {
    "google.protobuf.Struct": (read_struct, write_struct),
    "google.protobuf.Value": (read_value, write_value),
    "google.protobuf.Timestamp": (read_timestamp, write_timestamp),
    "google.protobuf.Duration": (read_duration, write_duration),
}


def _member(field: FieldDescriptor) -> Member:
    kind = field.message_type
    if kind is None:
        read, write = _list_or_scalar(field)
    elif _is_map(field):
        read, write = _map(field.name, kind.fields_by_name["value"].message_type)
    elif field.is_repeated:
        read, write = _list(field.name, *_reader_and_filler(kind))
    else:
        read, write = _message(field.name, *_reader_and_filler(kind))
    return Member(field.json_name, field.name, read, write)


def _reader_and_filler(kind: Descriptor) -> tuple[Read, Fill]:
    known = _WELL_KNOWN.get(kind.full_name)
    if known is not None:
        return known
    shape = shape_of(kind)
    return shape.read, shape.write


def _list_or_scalar(field: FieldDescriptor) -> tuple[Read | None, Write | None]:
    name = field.name
    if field.is_repeated:
        return list, lambda message, value: getattr(message, name).extend(value)
    if field.enum_type is not None:
        return _enum(name, field.enum_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _bytes(field)
    return None, None


def _enum(name: str, kind: EnumDescriptor) -> tuple[Read, Write]:
    numbers = {value.name: value.number for value in kind.values}
    names = {value.number: value.name for value in kind.values}
    prefix = names[0].removesuffix("UNSPECIFIED")

    def read(number: int) -> str:
        # a number without a name reads as a name that nobody knows.
        return names.get(number) or f"{prefix}{number}"

    # What another peer has called a name that protobuf does not have is unspecified to this one.
    return read, lambda message, value: setattr(message, name, numbers.get(value, 0))


def _bytes(field: FieldDescriptor) -> tuple[Read | None, Write]:
    name = field.name

    def write(message: Proto, value: Any) -> None:
        setattr(message, name, a2b_base64(value) if isinstance(value, str) else value)

    return _as_base64 if field.full_name in _BASE64 else None, write


def _as_base64(value: bytes) -> str:
    return b64encode(value).decode()


def _message(name: str, read: Read, fill: Fill) -> tuple[Read, Write]:
    return read, lambda message, value: fill(getattr(message, name), value)


def _list(name: str, read_item: Read, fill: Fill) -> tuple[Read, Write]:
    def read(values: Any) -> list[object]:
        items: list[object] = []
        try:
            for value in values:
                items.append(read_item(value))  # noqa: PERF401 - how far it came tells the index
        except UnreadableError as problem:
            raise problem.within(f"[{len(items)}]") from None
        return items

    def write(message: Proto, values: Any) -> None:
        add = getattr(message, name).add
        for value in values:
            fill(add(), value)

    return read, write


def _map(name: str, kind: Descriptor | None) -> tuple[Read, Write]:
    if kind is None:
        return dict, lambda message, value: getattr(message, name).update(value)
    read, fill = _reader_and_filler(kind)

    def write(message: Proto, values: Any) -> None:
        entries = getattr(message, name)
        for key, value in values.items():
            # Looking an entry up makes it.
            fill(entries[key], value)

    return lambda values: {key: read(value) for key, value in values.items()}, write
