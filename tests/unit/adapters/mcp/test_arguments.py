from typing import Any

import pytest

from dragoman.adapters.mcp.arguments import Arguments
from dragoman.errors import InvalidParamsError, UsageError
from dragoman.testing.turn import user_message

TABLE: Any = {
    "type": "object",
    "properties": {
        "day": {"type": "string"},
        "seats": {"type": "integer"},
        "outside": {"type": "boolean"},
        "guests": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["day", "seats"],
}


def one(kind: str) -> Arguments:
    return Arguments({"type": "object", "properties": {"it": {"type": kind}}})


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (({"day": "Monday", "seats": 2},), {"day": "Monday", "seats": 2}),
        (({"day": "Monday", "seats": 2.0},), {"day": "Monday", "seats": 2}),  # as gRPC has it
        (("4", {"day": "Monday"}), {"day": "Monday", "seats": 4}),  # the one that is missing
        (("Monday", {"seats": 4}), {"day": "Monday", "seats": 4}),
        (("hello", {"day": "Monday", "seats": 4}), {"day": "Monday", "seats": 4}),
    ],
)
def test_a_message_is_read_as_an_object(content: tuple[object, ...], values: object) -> None:
    assert Arguments(TABLE).read(user_message(*content)) == values


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "4", "4"),
        ("integer", "4", 4),
        ("number", "4.5", 4.5),
        ("boolean", "Yes", True),
        ("boolean", "n", False),
    ],
)
def test_text_is_read_as_the_only_member_there_is(kind: str, text: str, value: object) -> None:
    assert one(kind).read(user_message(text)) == {"it": value}


@pytest.mark.parametrize(
    ("content", "violations"),
    [
        (
            ({"seats": "two"},),
            {
                "message.parts[0].data.day": "is required",
                "message.parts[0].data.seats": "is invalid: 'two' is not of type 'integer'",
            },
        ),
        (
            ("x", {"day": "Monday", "seats": 1, "guests": ["ann", 7]}),
            {"message.parts[1].data.guests[1]": "is invalid: 7 is not of type 'string'"},
        ),
        (
            ("Monday",),  # which of the two?
            {"message.parts.day": "is required", "message.parts.seats": "is required"},
        ),
    ],
)
def test_every_violation_is_named(content: tuple[object, ...], violations: object) -> None:
    with pytest.raises(InvalidParamsError) as refused:
        Arguments(TABLE).read(user_message(*content))
    assert {each.field: each.description for each in refused.value.violations} == violations


@pytest.mark.parametrize("kind", ["integer", "number", "boolean"])
def test_text_that_is_no_such_value_is_refused(kind: str) -> None:
    with pytest.raises(InvalidParamsError, match=f"'perhaps' is not of type '{kind}'"):
        one(kind).read(user_message("perhaps"))


def test_what_is_no_schema_is_refused() -> None:
    with pytest.raises(UsageError, match="no JSON Schema"):
        Arguments({"type": "objekt"})


def test_what_a_schema_refers_to_elsewhere_is_not_fetched() -> None:
    arguments = Arguments({"type": "object", "$ref": "http://127.0.0.1:9/schema.json"})
    with pytest.raises(InvalidParamsError, match="cannot be checked: its schema refers to http"):
        arguments.read(user_message({"a": 1}))
