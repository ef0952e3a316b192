"""What a decoder complains about, in our words.

msgspec says ``Expected `str`, got `int` - at `$.message.parts[1].text` ``. A peer is told the field
``message.parts[1].text`` and "expected string, got integer". Nothing of the value is repeated.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import DecodeError, ValidationError

from dragoman.errors import FieldViolation, InvalidParamsError, JSONParseError

__all__ = ("DECODER_ERRORS", "NOT_UTF8", "refusal_of", "violation_of")

DECODER_ERRORS: Final = (DecodeError, UnicodeDecodeError, RecursionError)
"""All that a decoder raises for what it is fed; DecodeError includes ValidationError."""

NOT_UTF8: Final = "The body is not UTF-8"
_NOT_JSON: Final = "The body is not well-formed JSON"
_TOO_DEEP: Final = "The body is nested too deeply"

_PLACE: Final = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?", re.DOTALL)
_MISSING: Final = re.compile(r"Object missing required field `([^`]+)`")
_WRONG_TYPE: Final = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_TOO_SHORT: Final = re.compile(r"Expected `[^`]+` of length >= 1")
_BOUND: Final = re.compile(r"Expected `[^`]+` (>=|<=) (-?\d+)")

_JSON_NAMES: Final = {
    "str": "string",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "bytes": "base64 string",
}
_BOUND_WORDS: Final = {">=": "at least", "<=": "at most"}
_FIXED: Final = {
    "Invalid base64 encoded string": "is not base64",
    "Number out of range": "holds a number that is out of range",
    "Integer value out of range": "holds a number that is out of range",
}


def refusal_of(error: Exception) -> JSONParseError | InvalidParamsError:
    """Return what to tell a peer about one of DECODER_ERRORS."""
    match error:
        case ValidationError():
            violation = violation_of(error)
            return InvalidParamsError.of(violation.field, violation.description)
        case UnicodeDecodeError():
            return JSONParseError(NOT_UTF8)
        case RecursionError():
            return JSONParseError(_TOO_DEEP)
        case _:
            return JSONParseError(_NOT_JSON)


def violation_of(error: ValidationError) -> FieldViolation:
    """Name the field a decoder complained about and what was expected of it."""
    match = _PLACE.fullmatch(str(error))
    what, path = (match["what"], match["path"] or "") if match else (str(error), "")
    # msgspec does not tell the key of a map.
    field = path.removeprefix(".").replace("[...]", "[*]")
    if missing := _MISSING.fullmatch(what):
        return FieldViolation(f"{field}.{missing[1]}".removeprefix("."), "is required")
    return FieldViolation(field, _describe(what))


def _describe(what: str) -> str:
    if wrong := _WRONG_TYPE.fullmatch(what):
        return f"expected {_json_type(wrong[1])}, got {_json_type(wrong[2])}"
    if _TOO_SHORT.fullmatch(what):
        return "must not be empty"
    if bound := _BOUND.fullmatch(what):
        return f"must be {_BOUND_WORDS[bound[1]]} {bound[2]}"
    if what.startswith("Invalid enum value"):
        return "is not one of the known values"
    # What is left are the sentences of our own model ("needs exactly one of ...").
    return _FIXED.get(what, what)


def _json_type(name: str) -> str:
    # "or null" is left unsaid: null is the same as absent.
    kinds = [kind for kind in name.split(" | ") if kind != "null"] or ["null"]
    return " or ".join(_JSON_NAMES.get(kind, kind) for kind in kinds)
