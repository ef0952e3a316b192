from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest
from msgspec import UNSET

from dragoman.agent.forms import form_part
from dragoman.cli.chat.forms import Field, Form, form_of, is_schema
from dragoman.model.parts import Part


class Unit(Enum):
    KM = "km"
    MI = "mi"


@dataclass
class Trip:
    city: str
    unit: Unit
    days: int = 3
    tags: list[str] | None = None
    extra: dict[str, list[int]] | None = None


def asked(kind: object) -> Form | None:
    """The form that an agent of ours asks with."""
    part = form_part(kind)
    assert part is not None
    return form_of((Part(text="?"), part))


def of_schema(schema: Any) -> Form | None:
    return form_of((Part(data={"schema": schema}),))


def fields_of(form: Form | None) -> dict[str, Field]:
    assert form is not None
    return {field.name: field for field in form.fields}


def filled(form: Form | None, *lines: str) -> Part:
    assert form is not None
    typed = iter(lines)
    return form.fill(lambda _: next(typed), lambda _: None)


def test_the_form_of_a_type_has_its_fields() -> None:
    fields = fields_of(asked(Trip))
    assert {name: field.kind for name, field in fields.items()} == {
        "city": "string",
        "unit": "choice",
        "days": "integer",
        "tags": "list",
        "extra": "json",
    }
    assert [name for name, field in fields.items() if field.is_required] == ["city", "unit"]
    assert fields["days"].default == 3
    assert fields["unit"].choices == ("km", "mi")


def test_a_form_is_filled_in() -> None:
    part = filled(asked(Trip), "Oslo", "mi", "", "a, b", "")
    assert part.data == {"city": "Oslo", "unit": "mi", "days": 3, "tags": ["a", "b"]}


def test_a_field_is_asked_for_until_it_fits() -> None:
    form = asked(Trip)
    assert form is not None
    typed = iter(["Oslo", "xx", "km", "", "", ""])
    complaints: list[str] = []
    form.fill(lambda _: next(typed), complaints.append)
    assert complaints == ["unit must be one of km, mi"]


@pytest.mark.parametrize(
    ("kind", "line", "text"),
    [
        (int, "5", "5"),
        (bool, "yes", "true"),
        (Unit, "KM", "km"),
        (Literal["a", "b"], "a", "a"),
    ],
)
def test_a_single_value_is_answered_as_text(kind: object, line: str, text: str) -> None:
    assert filled(asked(kind), line).text == text


def test_a_list_is_answered_as_data() -> None:
    assert filled(asked(list[int]), "1,2").data == [1, 2]


@pytest.mark.parametrize(
    "part",
    [
        Part(data={"type": "string"}, media_type="application/schema+json"),
        Part(data={"type": "object", "properties": {"a": {"type": "string"}}}),
        Part(data={"schema": {"type": "string"}}),
    ],
)
def test_a_schema_is_known_in_several_guises(part: Part) -> None:
    assert is_schema(part)
    assert form_of((part,)) is not None


@pytest.mark.parametrize(
    "part",
    [Part(text="x"), Part(data=[1]), Part(data={"type": "object"}), Part(data={"schema": 1})],
)
def test_other_data_is_no_schema(part: Part) -> None:
    assert not is_schema(part)
    assert form_of((part,)) is None


@pytest.mark.parametrize(
    "schema",
    [
        {},  # anything
        {"type": "object", "properties": {}},  # nothing
        {"type": "array", "items": {"type": "array"}},  # no simple form
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},  # a choice of kinds
        {"$ref": "#"},  # leads to itself
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"$ref": "https://elsewhere.example/schema"},  # nothing is fetched
        {"type": "object", "properties": {f"f{n}": {"type": "string"} for n in range(51)}},
    ],
)
def test_what_makes_no_form_is_answered_in_free_text(schema: object) -> None:
    assert of_schema(schema) is None


def test_an_agent_may_write_choices_in_several_ways() -> None:
    ways: dict[str, Any] = {
        "const": {"const": "only"},
        "one": {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
        "many": {"type": "array", "items": {"enum": ["a", "b", None]}},
        "mixed": {"oneOf": [{"const": "a"}, {"type": "string"}]},
        "broken": {"enum": "a"},
    }
    fields = fields_of(of_schema({"type": "object", "properties": ways, "required": "const"}))
    assert fields["const"].choices == ("only",)
    assert fields["one"].choices == ("a", "b")
    assert fields["many"].items is not None
    assert fields["many"].items.choices == ("a", "b")
    assert (fields["mixed"].kind, fields["broken"].kind) == ("json", "json")
    assert not any(field.is_required for field in fields.values())


def test_what_is_null_by_default_may_be_left_out() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "default": None}}}
    field = fields_of(of_schema({**schema, "required": ["a"]}))["a"]
    assert field.default is UNSET
    assert not field.is_required
