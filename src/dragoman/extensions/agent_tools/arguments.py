"""Arguments of a tool, held against its JSON Schema before anybody is asked to run it.

Checked is what a caller can be sure of without a full validator: which parameters there are, and
their types. What a schema says beyond that is for the tool itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeGuard

from dragoman.extensions.agent_tools.declarations import ClientTool
from dragoman.model.base import JsonObject, is_array, is_object

__all__ = ("fault_in",)


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
    """Return what is wrong with the arguments of a tool, "" if nothing is."""
    return next(_faults(tool.parameters, arguments), "")


def _faults(schema: JsonObject, arguments: JsonObject) -> Iterator[str]:
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
