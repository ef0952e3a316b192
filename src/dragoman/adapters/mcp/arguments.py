"""Arguments: what a message says, as the object that a JSON Schema describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
from jsonschema.exceptions import SchemaError
from jsonschema.validators import Draft202012Validator, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

from dragoman.errors import FieldViolation, UsageError
from dragoman.model.base import is_array, is_object
from dragoman.model.messages import text_of
from dragoman.model.plain_data import with_whole_numbers
from dragoman.model.schema import invalid

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message

__all__ = ("Arguments",)

_SPOKEN: Final = {"yes": True, "y": True, "no": False, "n": False}
_NO_OTHERS: Final[Registry[Any]] = Registry()
"""Schemas come from elsewhere: what one refers to outside of itself is not fetched."""


class Arguments:
    """A JSON Schema, and messages read by it.

    The object is the first that is sent as data. Text, where there is any, is the value of the one
    member that is still required, or of the only one that there is.
    """

    def __init__(self, schema: JsonObject) -> None:
        """Take a schema.

        Raises:
            UsageError: it is none.
        """
        kind: Any = validator_for(schema, default=Draft202012Validator)
        try:
            kind.check_schema(schema)
        except SchemaError as error:
            raise UsageError(f"this is no JSON Schema: {error.message}") from error
        self.schema = schema
        self._validator: Any = kind(schema, registry=_NO_OTHERS)
        # The check has made sure that these have the right types.
        self._members = msgspec.convert(schema.get("properties") or {}, dict[str, object])
        self._required = msgspec.convert(schema.get("required") or [], list[str])

    def read(self, message: Message) -> dict[str, Any]:
        """Return the object that a message is.

        Raises:
            InvalidParamsError: it does not fit the schema; every violation is named.
        """
        path, values = "message.parts", dict[str, Any]()
        for index, part in enumerate(message.parts):
            data = with_whole_numbers(part.data)
            if is_object(data):
                path = f"message.parts[{index}].data"
                values = data
                break
        if text := text_of(message.parts):
            left = [name for name in self._required if name not in values]
            left = left or ([] if values else list(self._members))
            if len(left) == 1:
                values = {**values, left[0]: self._spoken(text, left[0])}
        self.check(values, path)
        return values

    def check(self, values: object, path: str) -> None:
        """Raise InvalidParamsError, naming the fields below ``path``, if values do not fit."""
        try:
            found = [
                violation
                for error in self._validator.iter_errors(values)
                for violation in _violations(error, path)
            ]
        except Unresolvable as problem:
            reason = f"cannot be checked: its schema refers to {problem.ref}, which is not there"
            found = [FieldViolation(path, reason)]
        if found:
            raise invalid(found)

    def _spoken(self, text: str, name: str) -> object:
        """Read text as the type that a member has."""
        member = self._members.get(name)
        kind = member.get("type", "string") if is_object(member) else "string"
        if kind == "boolean":
            return _SPOKEN.get(text.strip().lower(), text)
        if kind in ("integer", "number"):
            try:
                return msgspec.json.decode(text, type=int | float)
            except msgspec.DecodeError:
                return text
        return text


def _violations(error: ValidationError, path: str) -> list[FieldViolation]:
    steps = error.absolute_path
    place = path + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    if error.validator == "required":
        names, present = error.validator_value, error.instance
        # There is one error for each that is missing.
        return [
            FieldViolation(f"{place}.{name}", "is required")
            for name in (names if is_array(names) else ())
            if is_object(present) and name not in present and error.message.startswith(f"{name!r} ")
        ]
    return [FieldViolation(place, f"is invalid: {error.message}")]
