"""Declarations: the tools that a caller says it can run, as they travel with its message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeGuard

import msgspec
from msgspec import Struct

from dragoman.errors import InvalidParamsError
from dragoman.model.base import JsonObject, is_array, is_object
from dragoman.model.client_tools import CLIENT_TOOLS, TOOLS

__all__ = (
    "ClientTool",
    "check_tools",
    "declaration",
    "declared_in",
    "fault_in",
)

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_LONGEST_DESCRIPTION: Final = 1024
"""What makers of models take for the name and the description of a tool."""

_PLACE: Final = f"message.metadata[{CLIENT_TOOLS!r}].{TOOLS}"


class ClientTool(Struct, frozen=True, kw_only=True):
    """A tool that runs at the caller's.

    Attributes:
        parameters: the JSON Schema of what it takes, an object.
    """

    name: str
    description: str
    parameters: JsonObject


def declaration(tools: Iterable[ClientTool]) -> JsonObject:
    """Return the entry of a message's metadata that declares tools."""
    return {CLIENT_TOOLS: {TOOLS: [msgspec.to_builtins(tool) for tool in tools]}}


def declared_in(metadata: JsonObject | None) -> tuple[ClientTool, ...]:
    """Read the tools that a message declares; none if it declares none.

    Raises:
        InvalidParamsError: a declaration breaks a rule; says which and where.
    """
    entry = None if metadata is None else metadata.get(CLIENT_TOOLS)
    listed = entry.get(TOOLS) if is_object(entry) else None
    if listed is None:
        return ()
    try:
        tools = msgspec.convert(listed, tuple[ClientTool, ...])
    except msgspec.ValidationError as error:
        raise InvalidParamsError.of(_PLACE, f"is no list of tools: {error}") from None
    check_tools(tools, _PLACE)
    return tools


def check_tools(tools: Iterable[ClientTool], place: str) -> None:
    """Raise InvalidParamsError for tools that may not be declared.

    Args:
        place: where they stand; the error names what is below it.
    """
    seen: list[str] = []
    for index, tool in enumerate(tools):
        for field, fault in _faults(tool):
            raise InvalidParamsError.of(f"{place}[{index}].{field}", fault)
        seen.append(tool.name)
    repeated = sorted({name for name in seen if seen.count(name) > 1})
    if repeated:
        raise InvalidParamsError.of(place, f"Duplicate tool names: {', '.join(repeated)}")


def _faults(tool: ClientTool) -> Iterable[tuple[str, str]]:
    if not _NAME.fullmatch(tool.name):
        yield "name", "must be 1 to 64 letters, digits, _ or -"
    if not 1 <= len(tool.description) <= _LONGEST_DESCRIPTION:
        yield "description", f"must have 1 to {_LONGEST_DESCRIPTION} characters"
    if tool.parameters.get("type") != "object":
        yield "parameters", 'must be a JSON Schema of "type": "object"'
    elif not isinstance(tool.parameters.get("properties", {}), dict):
        yield "parameters.properties", "must be an object"


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return _is_number(value) and float(value).is_integer()


_TYPES: Final[Mapping[str, Callable[[object], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list | tuple),
    "null": lambda value: value is None,
}


def fault_in(tool: ClientTool, arguments: JsonObject) -> str:
    """Return what is wrong with the arguments of a tool, "" if nothing is.

    Checked is what a caller can be sure of without a full validator: which parameters there are,
    and their types. What a schema says beyond that is for the tool itself.
    """
    return next(_argument_faults(tool.parameters, arguments), "")


def _argument_faults(schema: JsonObject, arguments: JsonObject) -> Iterator[str]:
    properties, required = schema.get("properties"), schema.get("required")
    for name in required if is_array(required) else ():
        if name not in arguments:
            yield f"Missing required parameter: {name}"
    for name, value in arguments.items():
        known = properties.get(name) if is_object(properties) else None
        if is_object(known):
            yield from _type_faults(name, known.get("type"), value)
        elif schema.get("additionalProperties") is False:
            yield f"Unknown parameter: {name}"


def _type_faults(name: str, said: object, value: object) -> Iterator[str]:
    allowed = said if is_array(said) else [said]
    known = [each for each in allowed if isinstance(each, str) and each in _TYPES]
    if not known or any(_TYPES[each](value) for each in known):
        return
    if known == ["integer"] and _is_number(value):
        yield f"Parameter {name} must be an integer, got: {value}"
        return
    found = next(each for each, is_such in _TYPES.items() if is_such(value))
    yield f"Parameter {name} has wrong type: expected {' or '.join(known)}, got {found}"
