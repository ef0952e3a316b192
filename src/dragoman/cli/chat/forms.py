"""Forms: the answer that an agent asks for with a JSON Schema, field by field.

A schema comes from the agent and is not trusted: what it refers to is looked for in it alone, and
only so far. One that makes no form is answered in free text.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import UNSET, Struct

from dragoman.agent.forms import SCHEMA_MEDIA_TYPE
from dragoman.cli.options.values import is_list, is_object
from dragoman.cli.views.labels import cleaned
from dragoman.model.parts import Part

__all__ = (
    "Field",
    "Form",
    "Kind",
    "Schema",
    "form_of",
    "is_schema",
    "written",
)


# --- fields ---------------------------------------------------------------------------------------

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


# --- forms ----------------------------------------------------------------------------------------

_MOST_FIELDS: Final = 50
"""Nobody fills in more on a terminal."""

_MOST_STEPS: Final = 16
"""How far references are followed: one may lead to itself."""

_KINDS: Final[dict[object, Kind]] = {
    "string": "string",
    "number": "number",
    "integer": "integer",
    "boolean": "boolean",
}


class Form(Struct, frozen=True):
    """What to ask for; ``is_object`` says that the answer has the values as its members."""

    fields: tuple[Field, ...]
    is_object: bool

    def answer(self, values: Mapping[str, object]) -> Part:
        """Return the part that answers, of the values by the names of their fields."""
        given = {name: value for name, value in values.items() if value is not UNSET}
        if self.is_object:
            return Part(data=given)
        value = given.get(self.fields[0].name)
        # A single value is what a person would have written; every agent reads that.
        is_plain = self.fields[0].kind != "list"
        return Part(text=written(value)) if is_plain else Part(data=value)

    def fill(self, ask: Callable[[Field], str], complain: Callable[[str], None]) -> Part:
        """Ask for every field until it fits, and return the answer; what ``ask`` raises passes."""
        values: dict[str, object] = {}
        for field in self.fields:
            while field.name not in values:
                try:
                    values[field.name] = field.read(ask(field))
                except ValueError as problem:
                    complain(f"{field.label} {problem}")
        return self.answer(values)


def is_schema(part: Part) -> bool:
    """Tell whether a part says what the answer should be like, and nothing for people to read."""
    return _schema_in(part) is not None


def form_of(parts: Iterable[Part]) -> Form | None:
    """Return the form of a question; None if it is to be answered in free text."""
    for part in parts:
        schema = _schema_in(part)
        if schema is not None:
            return _form(schema)
    return None


def _schema_in(part: Part) -> Schema | None:
    members = part.data
    if not is_object(members):
        return None
    inner = members.get("schema")
    if is_object(inner):
        return inner
    is_declared = part.media_type.partition(";")[0].strip().lower() == SCHEMA_MEDIA_TYPE
    is_evident = members.get("type") == "object" and isinstance(members.get("properties"), dict)
    return members if is_declared or is_evident else None


def _form(root: Schema) -> Form | None:
    schema, _ = _resolved(root, root)
    members = schema.get("properties")
    if not is_object(members):
        field = _field("", schema, root, is_required=True)
        return None if field.kind == "json" else Form((field,), is_object=False)
    listed = schema.get("required")
    required = listed if is_list(listed) else []
    if not members or len(members) > _MOST_FIELDS:
        return None
    fields = (
        _field(name, _object(member), root, is_required=name in required)
        for name, member in members.items()
    )
    return Form(tuple(fields), is_object=True)


def _field(name: str, schema: Schema, root: Schema, *, is_required: bool) -> Field:
    schema, is_nullable = _resolved(schema, root)
    default = schema.get("default", UNSET)
    kind = _KINDS.get(schema.get("type"), "json")
    choices = _choices(schema)
    items: Field | None = None
    if choices:
        kind = "choice"
    elif schema.get("type") == "array":
        inner, _ = _resolved(_object(schema.get("items")), root)
        # A list of lists is JSON: it has no simple form, and may have no end.
        if _choices(inner) or inner.get("type") in _KINDS:
            kind, items = "list", _field(name, inner, root, is_required=True)
    return Field(
        name=name,
        kind=kind,
        schema=schema,
        choices=choices,
        items=items,
        # Nothing is what is left out anyway.
        default=UNSET if default is None else default,
        is_required=is_required and not is_nullable and default is not None,
    )


def _resolved(schema: Schema, root: Schema) -> tuple[Schema, bool]:
    """Return a schema without references, and whether it allows null."""
    is_nullable = False
    for _ in range(_MOST_STEPS):
        reference = schema.get("$ref")
        others = {name: value for name, value in schema.items() if name not in ("$ref", "anyOf")}
        variants = schema.get("anyOf")
        if isinstance(reference, str):
            schema = {**_found(reference, root), **others}
        elif is_list(variants):
            listed = [_object(each) for each in variants]
            real = [each for each in listed if each.get("type") != "null"]
            is_nullable = is_nullable or len(real) < len(listed)
            if len(real) != 1:
                return others, is_nullable
            schema = {**real[0], **others}
        else:
            return schema, is_nullable
    return {}, is_nullable


def _found(reference: str, root: Schema) -> Schema:
    """Return what a reference within the schema leads to; nothing else is looked up."""
    place: object = root
    for step in reference.removeprefix("#/").split("/"):
        place = _object(place).get(step)
    return _object(place)


def _choices(schema: Schema) -> tuple[object, ...]:
    listed = schema.get("enum")
    if is_list(listed):
        return tuple(each for each in listed if each is not None)
    if "const" in schema:
        return (schema["const"],)
    variants = schema.get("oneOf")
    if not is_list(variants):
        return ()
    named = [_object(each) for each in variants]
    return tuple(each["const"] for each in named) if all("const" in each for each in named) else ()


def _object(value: object) -> Schema:
    return value if is_object(value) else {}
