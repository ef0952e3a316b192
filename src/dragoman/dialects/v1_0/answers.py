"""Answers of 1.0 as a client reads them, from whatever an agent makes of them.

A whole answer is never lost for one of its members:

- what is left out is empty, because ProtoJSON leaves out what is empty; where empty is not allowed,
  something stands in for it (``_STAND_INS``);
- what cannot be read counts as left out;
- an object that lacks what nothing can stand in for is left out of its array.

What an agent demands before it is called (``_DEMANDS``) must be read, or the answer is refused.
Words of 0.3 are understood: states, roles, parts, and ``kind`` in place of the member that 1.0 has
around each result. Requests are read by ``normalise`` alone.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec
import msgspec.inspect as shapes
from msgspec import Struct

from dragoman.dialects.fields import wrong_type
from dragoman.dialects.legacy.tolerant import read_any_part, read_any_state, read_role
from dragoman.dialects.v1_0.normalise import UNSPECIFIED_NAMES, enum_names, is_number, scalar_reader
from dragoman.dialects.violations import violation_of
from dragoman.errors import InvalidParamsError
from dragoman.model.base import JsonObject, is_array, is_object
from dragoman.model.cards import AgentInterface, AgentSkill
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageResponse
from dragoman.model.parts import Part
from dragoman.model.tasks import UNSPECIFIED, Artifact, TaskState

if TYPE_CHECKING:
    from enum import Enum

    from dragoman.dialects.v1_0.normalise import Reader

__all__ = ("answer_reader",)

_logger = logging.getLogger(__name__)

_DEMANDS: Final = frozenset({"security_schemes", "security_requirements"})
"""Members that must be read: a client that missed them would call without what is demanded."""

_ESSENTIAL: Final = frozenset({"status", "supported_interfaces"})
"""Members that nothing stands in for: without them it is no task that can be followed, and no card
of this version."""

_NEEDED: Final = _DEMANDS | _ESSENTIAL

StandIn: TypeAlias = Callable[[Mapping[str, Any], str], object]
"""Takes the members that are known by now, and the path of the object."""

_NO_CONTENT: Final = (Part(text=""),)
_PLACE: Final = re.compile(r".*\[(\d+)\]", re.ASCII)


def _indexed(_: Mapping[str, Any], path: str) -> str:
    placed = _PLACE.fullmatch(path)
    return f"idx-{placed[1] if placed else 0}"


_STAND_INS: Final[Mapping[tuple[type[Struct], str], StandIn]] = {
    # The client names it (``client.caller``): by then it is known where the message belongs.
    (Message, "message_id"): lambda _found, _path: "",
    (Message, "parts"): lambda _found, _path: _NO_CONTENT,
    (Artifact, "parts"): lambda _found, _path: _NO_CONTENT,
    (Artifact, "artifact_id"): _indexed,
    (TaskStatusUpdateEvent, "context_id"): lambda found, _path: found["task_id"],
    (TaskArtifactUpdateEvent, "context_id"): lambda found, _path: found["task_id"],
    (AgentInterface, "protocol_binding"): lambda _found, _path: "JSONRPC",
    (AgentInterface, "protocol_version"): lambda _found, _path: "1.0",
    (AgentSkill, "name"): lambda found, _path: found["id"],
    (AgentSkill, "description"): lambda found, _path: found["name"],
}

_BY_KIND: Final = {
    "task": "task",
    "message": "message",
    "status-update": "statusUpdate",
    "artifact-update": "artifactUpdate",
}


@cache
def answer_reader(kind: type[Struct]) -> Reader:
    """Return the reader of a Struct; what it returns is one."""
    if kind is Part:
        return _read_part
    shape = _shape_of(kind)
    read = _ObjectReader(shape)
    return _unwrapped(read, shape) if kind in (StreamResponse, SendMessageResponse) else read


def _shape_of(kind: type[Struct]) -> shapes.StructType:
    shape = shapes.type_info(kind)
    assert isinstance(shape, shapes.StructType)  # noqa: S101 - a Struct has no other shape
    return shape


class _Member(NamedTuple):
    """One member of an object: what it is called here and on the wire, and how it is read."""

    field: str
    name: str
    kind: Any
    read: Reader
    keeps_null: bool


class _ObjectReader:
    """Reads one Struct; call it with a value and its path."""

    __slots__ = ("_kind", "_members", "_required")

    def __init__(self, shape: shapes.StructType) -> None:
        self._kind = shape.cls
        types = {field.name: field.type for field in msgspec.structs.fields(shape.cls)}
        self._members: dict[str, _Member] = {}
        self._required: dict[str, StandIn] = {}
        for field in shape.fields:
            self._members[field.encode_name] = self._members[field.name] = _Member(
                field=field.name,
                name=field.encode_name,
                kind=types[field.name],
                read=_reader(field.type, is_demanded=field.name in _DEMANDS),
                # Part.data alone may be null: it is the one field whose absence is UNSET.
                keeps_null=isinstance(field.type, shapes.CustomType),
            )
            if field.required:
                self._required[field.name] = _stand_in(shape.cls, field)

    def __call__(self, value: object, path: str) -> object:
        if not is_object(value):
            raise wrong_type(path, "object", value)
        found, lost = self._read(value, path)
        try:
            for name, stand_in in self._required.items():
                if name not in found:
                    found[name] = stand_in(found, path)
            return self._kind(**found)
        except InvalidParamsError as refused:
            raise next(iter(lost), refused) from None
        except ValueError as refused:
            raise next(iter(lost), InvalidParamsError.of(path, str(refused))) from None

    def _read(
        self, value: JsonObject, path: str
    ) -> tuple[dict[str, object], list[InvalidParamsError]]:
        """Return the members that can be read, and what is wrong with the others."""
        found: dict[str, object] = {}
        lost: list[InvalidParamsError] = []
        for key, item in value.items():
            member = self._members.get(key)
            if member is None or (item is None and not member.keeps_null):
                continue  # R-5.7-5: unknown members are ignored
            place = _place(path, member.name)
            try:
                found[member.field] = _converted(member.read(item, place), member.kind, place)
            except InvalidParamsError as problem:
                if member.field in _NEEDED:
                    raise
                lost.append(problem)
        return found, lost


def _converted(value: object, kind: Any, place: str) -> object:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as refused:
        raise InvalidParamsError.of(place, violation_of(refused).description) from None


def _place(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _stand_in(kind: type[Struct], field: shapes.Field) -> StandIn:
    """Return what makes a required member that was left out, or refuses the object."""
    if field.name in _ESSENTIAL:
        return _refuse(field.encode_name)
    if (kind, field.name) in _STAND_INS:
        return _STAND_INS[kind, field.name]
    match field.type:
        case shapes.StrType(min_length=None):
            return lambda _found, _path: ""
        case shapes.VarTupleType(min_length=None):
            return lambda _found, _path: ()
        case shapes.IntType():
            return lambda _found, _path: 0
        case shapes.EnumType() as enum:
            return lambda _found, _path: _OTHERWISE[enum.cls]
        case shapes.StructType() as inner:
            # As if it were there and empty.
            return lambda _found, path: answer_reader(inner.cls)({}, path)
        case _:
            return _refuse(field.encode_name)


def _refuse(name: str) -> StandIn:
    def refuse(_: Mapping[str, Any], path: str) -> object:
        raise InvalidParamsError.of(_place(path, name), "is required")

    return refuse


def _reader(shape: shapes.Type, *, is_demanded: bool = False) -> Reader:
    if isinstance(shape, shapes.UnionType):
        # Every union of the model is "or absent".
        (shape,) = (kind for kind in shape.types if not isinstance(kind, shapes.NoneType))
    match shape:
        case shapes.StructType():
            return answer_reader(shape.cls)
        case shapes.VarTupleType():
            return _array_reader(_reader(shape.item_type), is_demanded=is_demanded)
        case shapes.DictType(value_type=shapes.StructType() as item):
            return _map_reader(answer_reader(item.cls))
        case shapes.EnumType():
            return _enum_reader(shape.cls)
        case _:
            return scalar_reader(shape)


def _array_reader(read_item: Reader, *, is_demanded: bool) -> Reader:
    def read(value: object, path: str) -> object:
        if not is_array(value):
            return value
        found: list[object] = []
        for index, item in enumerate(value):
            try:
                found.append(read_item(item, f"{path}[{index}]"))
            except InvalidParamsError as problem:
                if is_demanded:
                    raise
                _logger.debug("left out of an answer: %s", problem)
        return found

    return read


def _map_reader(read_item: Reader) -> Reader:
    def read(value: object, path: str) -> object:
        if not is_object(value):
            return value
        return {key: read_item(item, f"{path}.{key}") for key, item in value.items()}

    return read


# --- words of other versions --------------------------------------------------------------------

_OTHERWISE: Final[Mapping[type[Enum], Enum]] = {TaskState: UNSPECIFIED, Role: Role.AGENT}


def _enum_reader(kind: type[Enum]) -> Reader:
    by_number = {0: UNSPECIFIED_NAMES[kind], **enum_names(kind)}
    prefix = UNSPECIFIED_NAMES[kind].removesuffix("UNSPECIFIED")

    def read(value: object, path: str) -> object:
        del path
        if is_number(value):
            value = by_number.get(value, f"{prefix}{value}")
        if kind is Role:
            return read_role(value, Role.AGENT)
        return read_any_state(value) if isinstance(value, str) else value

    return read


def _unwrapped(read: Reader, shape: shapes.StructType) -> Reader:
    """Take a result without the member around it for what its ``kind`` says.

    LangGraph's server streams so.
    """
    names = {name for field in shape.fields for name in (field.encode_name, field.name)}

    def read_result(value: object, path: str) -> object:
        if is_object(value) and names.isdisjoint(value):
            kind = value.get("kind")
            name = _BY_KIND.get(kind) if isinstance(kind, str) else None
            value = {name: value} if name in names else value
        return read(value, path)

    return read_result


def _read_part(value: object, path: str) -> object:
    try:
        return _PART(value, path)
    except InvalidParamsError:
        return read_any_part(value, path)  # No part of 1.0, but perhaps one of 0.3.


_PART: Final = _ObjectReader(_shape_of(Part))
