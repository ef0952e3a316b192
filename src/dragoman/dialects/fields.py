"""The members of one JSON object, read by name and named by path when they are wrong.

For the forms that are read from plain JSON, member by member, because their peers write them in
more ways than one type could say. ``null`` is the same as absent (0.x reference, 6.1 D19), and a
member also answers to its proto name (``message_id`` for ``messageId``, D20).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.dialects.violations import DECODER_ERRORS, refusal_of
from dragoman.errors import InvalidParamsError
from dragoman.model.base import INT32_MAX, JsonObject, is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("Fields", "read_json", "wrong_type")

_NAMES: Final[dict[type, str]] = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}


def read_json(data: bytes) -> object:
    """Read plain JSON.

    Raises:
        JSONParseError, InvalidParamsError: it is none, or holds a number that is out of range.
    """
    try:
        return msgspec.json.decode(data)
    except DECODER_ERRORS as refused:
        raise refusal_of(refused) from None


def wrong_type(path: str, expected: str, found: object) -> InvalidParamsError:
    """Return the error for a value of the wrong type; the value itself is not repeated."""
    return InvalidParamsError.of(path, f"expected {expected}, got {_NAMES[type(found)]}")


class Fields:
    """The members of the object at a path. Every reader raises InvalidParamsError.

    The first of several names that is present is read.
    """

    __slots__ = ("_members", "path")

    def __init__(self, value: object, path: str = "") -> None:
        """Take a value that must be an object; ``path`` is "" at the top."""
        if not is_object(value):
            raise wrong_type(path, "object", value)
        self._members = value
        self.path: Final = path

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    @property
    def whole(self) -> JsonObject:
        """Return the object as it came."""
        return self._members

    def place(self, name: str) -> str:
        """Return the path of a member."""
        return f"{self.path}.{name}" if self.path else name

    def get(self, *names: str) -> object:
        """Return what a member holds, None if it is absent."""
        return self._find(names)[1]

    def at(self, *names: str) -> Fields | None:
        """Return the members of an object in a member, None if it is absent."""
        name, value = self._find(names)
        return None if value is None else Fields(value, self.place(name))

    def text(self, *names: str) -> str:
        """Return the text of a member, "" if it is absent."""
        return self.optional_text(*names) or ""

    def optional_text(self, *names: str) -> str | None:
        """Return the text of a member, None if it is absent."""
        name, value = self._find(names)
        if value is None or isinstance(value, str):
            return value
        raise wrong_type(self.place(name), "string", value)

    def required_text(self, *names: str) -> str:
        """Return the text of a member that must be there and not be empty."""
        text = self.optional_text(*names)
        if text:
            return text
        fault = "is required" if text is None else "must not be empty"
        raise InvalidParamsError.of(self.place(names[0]), fault)

    def texts(self, *names: str) -> tuple[str, ...]:
        """Return the texts in an array, none if it is absent."""
        return tuple(_text_item(value, place) for value, place in self.items(*names))

    def items(self, *names: str) -> Iterator[tuple[object, str]]:
        """Yield the elements of an array with their paths, none if it is absent."""
        name, value = self._find(names)
        if value is None:
            return
        if not is_array(value):
            raise wrong_type(self.place(name), "array", value)
        place = self.place(name)
        for index, item in enumerate(value):
            yield item, f"{place}[{index}]"

    def free(self, *names: str) -> JsonObject | None:
        """Return a member that may hold any object, such as metadata."""
        name, value = self._find(names)
        if value is None or is_object(value):
            return value
        raise wrong_type(self.place(name), "object", value)

    def flag(self, *names: str) -> bool | None:
        """Return the boolean of a member, None if it is absent."""
        name, value = self._find(names)
        if value is None or isinstance(value, bool):
            return value
        raise wrong_type(self.place(name), "boolean", value)

    def count(self, *names: str, least: int = 0, most: int = INT32_MAX) -> int | None:
        """Return the integer of a member, None if it is absent."""
        name, value = self._find(names)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool):
            raise wrong_type(self.place(name), "integer", value)
        if not least <= value <= most:
            raise InvalidParamsError.of(self.place(name), f"must be between {least} and {most}")
        return value

    def _find(self, names: tuple[str, ...]) -> tuple[str, object]:
        members = self._members
        for name in names:
            value = members.get(name)
            if value is None:
                value = members.get(_snake(name))
            if value is not None:
                return name, value
        return names[0], None


def _text_item(value: object, place: str) -> str:
    if isinstance(value, str):
        return value
    raise wrong_type(place, "string", value)


@lru_cache(maxsize=256)  # there are fewer names; the names of schemes in a card come here too
def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
