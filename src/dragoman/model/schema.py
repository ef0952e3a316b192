"""The types of parameters and answers: their JSON Schema, and JSON turned into their values.

msgspec does both for dataclasses, Structs, TypedDicts, enums and containers of them. A pydantic
model anywhere inside is left to its own ``model_validate``; pydantic is recognised by shape, never
imported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Protocol, TypedDict, cast

import msgspec

from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.base import is_object
from dragoman.model.plain_data import is_model, with_whole_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.model.base import JsonObject

__all__ = ("convert", "invalid", "schema_of", "schemas_of")

_REF: Final = "#/$defs/{name}"
_PLACE: Final = re.compile(r" - at (?:`key` in )?`\$([^`]*)`$")
_MISSING: Final = re.compile(r"Object missing required field `([^`]+)`")


class _ModelError(ValueError):
    """Carries what a model found wrong through msgspec, which adds the place."""

    def __init__(self, found: list[tuple[str, str]]) -> None:
        """Keep (path below the model, description) pairs."""
        super().__init__("is invalid")
        self.found = found


def invalid(violations: Sequence[FieldViolation]) -> InvalidParamsError:
    """Make one error that names every violation."""
    listed = "; ".join(f"{each.field} {each.description}" for each in violations)
    return InvalidParamsError(f"Invalid parameters: {listed}", violations=tuple(violations))


def convert(value: object, kind: object, path: str, *, is_text: bool = False) -> object:
    """Turn a JSON value into a value of the type ``kind``.

    Args:
        path: where the value stands in the request; violations are named below it.
        is_text: the value is text somebody typed: "21.5" is a float then.

    Raises:
        InvalidParamsError: it does not fit.
    """
    try:
        return _convert(value, kind, is_strict=not is_text)
    except msgspec.ValidationError as error:
        if "got `float`" not in str(error):
            raise invalid(_violations(error, path)) from None
    # From gRPC, 5.0 stands for the integer 5 as well.
    try:
        return _convert(with_whole_numbers(value), kind, is_strict=not is_text)
    except msgspec.ValidationError as error:
        raise invalid(_violations(error, path)) from None


def _convert(value: object, kind: object, *, is_strict: bool) -> object:
    return msgspec.convert(value, type=kind, strict=is_strict, dec_hook=_convert_other)


def _convert_other(kind: type, value: object) -> object:
    if kind is object:
        return value
    if not is_model(kind):
        raise NotImplementedError
    try:
        return kind.model_validate(value)
    except ValueError as error:
        raise _ModelError(_found_by_model(error)) from None


def _found_by_model(error: ValueError) -> list[tuple[str, str]]:
    errors = cast("_ModelFindings", error).errors()
    return [(_suffix(each["loc"]), f"is invalid: {each['msg']}") for each in errors]


class _Finding(TypedDict):
    loc: tuple[str | int, ...]
    msg: str


class _ModelFindings(Protocol):
    def errors(self) -> list[_Finding]: ...


def _suffix(location: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)


def _violations(error: msgspec.ValidationError, path: str) -> list[FieldViolation]:
    text = str(error)
    place = _PLACE.search(text)
    if place is not None:
        path += place[1]
        text = text[: place.start()]
    if isinstance(error.__cause__, _ModelError):
        return [FieldViolation(path + below, what) for below, what in error.__cause__.found]
    missing = _MISSING.match(text)
    if missing is not None:
        return [FieldViolation(f"{path}.{missing[1]}", "is required")]
    return [FieldViolation(path, _as_predicate(text))]


def _as_predicate(text: str) -> str:
    """Reword msgspec's finding so that it can follow the name of the field."""
    if text.startswith("Expected "):
        return f"must be {text[9:].replace(', got ', ', not ')}".replace("`", "")
    return f"is invalid: {text}"


def schemas_of(kinds: Sequence[object]) -> tuple[tuple[JsonObject, ...], JsonObject]:
    """Return the JSON Schema of each type and the definitions they share (``$defs``).

    Raises:
        TypeError: one of the types cannot be read from JSON.
    """
    definitions: JsonObject = {}

    def schema_of_other(kind: type) -> JsonObject:
        if kind is object:
            # An empty schema would say it, but msgspec takes that for no answer.
            return {"title": "Any"}
        if not is_model(kind):
            raise NotImplementedError
        schema = kind.model_json_schema()
        # pydantic writes references from the root of the document, so they move there.
        shared = schema.pop("$defs", None)
        if is_object(shared):
            definitions.update(shared)
        return schema

    schemas, components = msgspec.json.schema_components(
        kinds, schema_hook=schema_of_other, ref_template=_REF
    )
    definitions.update(components)
    return schemas, definitions


def schema_of(kind: object) -> JsonObject:
    """Return one self-contained JSON Schema, its outermost object spelled out in place.

    Raises:
        TypeError: the type cannot be read from JSON.
    """
    (schema,), definitions = schemas_of((kind,))
    reference = schema.get("$ref")
    name = reference.removeprefix(_REF.format(name="")) if isinstance(reference, str) else ""
    if is_object(defined := definitions.get(name)):
        schema = defined
        used = msgspec.json.encode((schema, definitions))
        if msgspec.json.encode(reference) not in used:
            del definitions[name]
    return {**schema, "$defs": definitions} if definitions else schema
