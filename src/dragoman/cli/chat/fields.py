"""Field: one value that a form asks for, and what the text that a person types stands for.

What is said of a field comes from the agent and is not trusted. Its patterns are not run, as one
can be made to never end; the agent checks the answer once more anyway.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import UNSET, Struct

from dragoman.cli.views.labels import cleaned

__all__ = ("Field", "Kind", "Schema", "written")

Kind = Literal["string", "number", "integer", "boolean", "choice", "list", "json"]
Schema: TypeAlias = Mapping[str, object]

_NAMES: Final[dict[str, str]] = {
    "boolean": "yes or no",
    "integer": "a whole number",
    "number": "a number",
    "list": "values with commas between them",
    "json": "JSON",
}
_SPOKEN: Final = {
    **dict.fromkeys(("y", "yes", "true", "on", "1"), True),
    **dict.fromkeys(("n", "no", "false", "off", "0"), False),
}


class Field(Struct, frozen=True, kw_only=True):
    """One value to ask for.

    Attributes:
        name: its member in the answer; "" if it is the whole answer.
        schema: what the agent says of it, references resolved.
        items: what a list consists of.
        default: what an empty line stands for; UNSET for none.
    """

    name: str
    kind: Kind
    schema: Schema
    choices: tuple[object, ...] = ()
    items: Field | None = None
    default: object = UNSET
    is_required: bool = True

    @property
    def is_secret(self) -> bool:
        """Tell whether it is a password, which is not shown while it is typed."""
        return self.schema.get("format") == "password" or self.schema.get("writeOnly") is True

    @property
    def label(self) -> str:
        """The name for the person who answers."""
        return cleaned(self.name or str(self.schema.get("title") or "answer"))

    @property
    def help(self) -> str:
        """What is known of it, on one line; "" if nothing is."""
        choices = ", ".join(map(written, self.choices))
        said = self.schema.get("description")
        known = (
            cleaned(said).rstrip(".") if isinstance(said, str) else "",
            f"one of {cleaned(choices)}" if choices else _NAMES.get(self.kind, ""),
            _bounds(self.schema),
            f"default {cleaned(written(self.default))}" if self.default is not UNSET else "",
            "" if self.is_required or self.default is not UNSET else "may be left out",
        )
        return "; ".join(each for each in known if each)

    def read(self, text: str) -> object:
        """Return the value that a text stands for; UNSET leaves the field out.

        Raises:
            ValueError: it is none; says what is wanted.
        """
        text = text.strip()
        if not text:
            if self.default is UNSET and self.is_required:
                raise ValueError("needs a value")
            return self.default
        value = self._parsed(text)
        _check(value, self.schema)
        return value

    def _parsed(self, text: str) -> object:
        match self.kind:
            case "choice":
                return self._chosen(text)
            case "boolean":
                if text.lower() not in _SPOKEN:
                    raise ValueError("must be yes or no")
                return _SPOKEN[text.lower()]
            case "integer":
                return _number(text, int, "a whole number")
            case "number":
                return _number(text, float, "a number")
            case "list":
                assert self.items is not None  # noqa: S101 - what makes it a list
                return [self.items.read(piece) for piece in text.split(",")]
            case "json":
                return _json(text)
            case "string":
                return text

    def _chosen(self, text: str) -> object:
        exact = [each for each in self.choices if written(each) == text]
        alike = [each for each in self.choices if written(each).lower() == text.lower()]
        found = exact or alike
        if len(found) != 1:
            raise ValueError(f"must be one of {cleaned(', '.join(map(written, self.choices)))}")
        return found[0]


def _check(value: object, schema: Schema) -> None:
    amount = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    if amount is not None and not _limit(schema, "minimum") <= amount <= _limit(schema, "maximum"):
        raise ValueError(f"must be {_bounds(schema)}")
    size = len(value) if isinstance(value, str) else None
    if size is not None and not _limit(schema, "minLength") <= size <= _limit(schema, "maxLength"):
        raise ValueError(f"must have {_bounds(schema)}")


def _bounds(schema: Schema) -> str:
    """Tell the limits in words; "" if there are none."""
    least, most = _limit(schema, "minimum"), _limit(schema, "maximum")
    told = [f"at least {least:g}"] if math.isfinite(least) else []
    told += [f"at most {most:g}"] if math.isfinite(most) else []
    least, most = _limit(schema, "minLength"), _limit(schema, "maxLength")
    told += [f"at least {least:g} characters"] if math.isfinite(least) else []
    told += [f"at most {most:g} characters"] if math.isfinite(most) else []
    return ", ".join(told)


def _limit(schema: Schema, name: str) -> float:
    value = schema.get(name)
    if isinstance(value, int | float):
        return value
    return -math.inf if name.startswith("min") else math.inf


def _number(text: str, kind: Callable[[str], float], name: str) -> float:
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(f"must be {name}") from None
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"must be {name}")
    return value


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError("must be JSON") from None


def written(value: object) -> str:
    """Return a value as a person would write it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
