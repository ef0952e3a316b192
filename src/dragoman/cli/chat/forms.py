"""Forms: the answer that an agent asks for with a JSON Schema, field by field.

A schema comes from the agent and is not trusted: what it refers to is looked for in it alone, and
only so far. One that makes no form is answered in free text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

from msgspec import UNSET, Struct

from dragoman.agent.forms import SCHEMA_MEDIA_TYPE
from dragoman.cli.chat.fields import Field, Kind, Schema, written
from dragoman.model.parts import Part

__all__ = ("Form", "form_of", "is_schema")

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
    data = part.data
    if not isinstance(data, dict):
        return None
    members = cast("dict[str, object]", data)
    inner = members.get("schema")
    if isinstance(inner, dict):
        return cast("dict[str, object]", inner)
    is_declared = part.media_type.partition(";")[0].strip().lower() == SCHEMA_MEDIA_TYPE
    is_evident = members.get("type") == "object" and isinstance(members.get("properties"), dict)
    return members if is_declared or is_evident else None


def _form(root: Schema) -> Form | None:
    schema, _ = _resolved(root, root)
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        field = _field("", schema, root, is_required=True)
        return None if field.kind == "json" else Form((field,), is_object=False)
    listed = schema.get("required")
    required = cast("list[object]", listed) if isinstance(listed, list) else []
    members = cast("dict[str, object]", properties)
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
        elif isinstance(variants, list):
            listed = [_object(each) for each in cast("list[object]", variants)]
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
    if isinstance(listed, list):
        return tuple(each for each in cast("list[object]", listed) if each is not None)
    if "const" in schema:
        return (schema["const"],)
    variants = schema.get("oneOf")
    if not isinstance(variants, list):
        return ()
    named = [_object(each) for each in cast("list[object]", variants)]
    return tuple(each["const"] for each in named) if all("const" in each for each in named) else ()


def _object(value: object) -> Schema:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}
