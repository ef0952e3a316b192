from typing import Any

import pytest
from msgspec import UNSET

from dragoman.cli.chat.forms import Field, Kind, written


def field(kind: Kind, **others: Any) -> Field:
    members: dict[str, Any] = {"name": "f", "kind": kind, "schema": {}, **others}
    return Field(**members)


TEXT = field("string")


@pytest.mark.parametrize(
    ("asked", "text", "value"),
    [
        (TEXT, " Rome ", "Rome"),
        (field("integer"), "-5", -5),
        (field("number"), "2.5", 2.5),
        (field("boolean"), "Yes", True),
        (field("boolean"), "n", False),
        (field("choice", choices=("km", "mi")), "KM", "km"),  # in whatever case
        (field("choice", choices=("m", "M")), "M", "M"),  # unless it makes a difference
        (field("choice", choices=(1, None, True)), "true", True),  # as JSON has it
        (field("list", items=field("integer")), "1, 2,3", [1, 2, 3]),
        (field("json"), '{"a": [1]}', {"a": [1]}),
        (field("integer", default=3), "", 3),
        (field("string", is_required=False), "", UNSET),
    ],
)
def test_a_text_is_read_as_a_value(asked: Field, text: str, value: object) -> None:
    found = asked.read(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("asked", "text", "complaint"),
    [
        (TEXT, " ", "needs a value"),
        (field("integer"), "2.5", "must be a whole number"),
        (field("number"), "inf", "must be a number"),
        (field("number"), "x", "must be a number"),
        (field("boolean"), "maybe", "must be yes or no"),
        (field("choice", choices=("a", "b")), "c", "must be one of a, b"),
        (field("choice", choices=("m", "M")), "mm", "must be one of m, M"),
        (field("list", items=field("integer")), "1,x", "must be a whole number"),
        (field("json"), "{", "must be JSON"),
        (field("integer", schema={"minimum": 1, "maximum": 9}), "10", "at least 1, at most 9"),
        (field("string", schema={"minLength": 3}), "ab", "must have at least 3 characters"),
    ],
)
def test_what_does_not_fit_is_told(asked: Field, text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        asked.read(text)


def test_a_huge_number_is_no_crash() -> None:
    assert field("integer").read("9" * 400) == int("9" * 400)
    with pytest.raises(ValueError, match="must be a whole number"):
        field("integer").read("9" * 5000)


def test_a_field_tells_what_is_known_of_it() -> None:
    asked = field(
        "integer",
        schema={"description": "How long.\x1b[2J", "minimum": 1},
        default=3,
    )
    assert asked.help == "How long.[2J; a whole number; at least 1; default 3"
    assert (
        field("choice", choices=("a", 2), is_required=False).help == "one of a, 2; may be left out"
    )
    assert TEXT.help == ""


def test_a_field_has_a_name_for_people() -> None:
    assert TEXT.label == "f"
    assert field("string", name="").label == "answer"
    assert field("string", name="", schema={"title": "Unit\r\n"}).label == "Unit "


@pytest.mark.parametrize("schema", [{"format": "password"}, {"writeOnly": True}])
def test_a_password_is_a_secret(schema: dict[str, object]) -> None:
    assert field("string", schema=schema).is_secret
    assert not TEXT.is_secret


def test_values_are_written_as_people_do() -> None:
    assert [written(each) for each in ("é", True, 2.5, None)] == ["é", "true", "2.5", "null"]
