from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypedDict

import pytest
from msgspec import Struct

from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.schema import convert, schema_of


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Line:
    item: str
    count: int = 1


class Order(Struct):
    lines: list[Line]
    colour: Colour = Colour.RED


class Tree(Struct):
    children: list["Tree"] = []


class Options(TypedDict):
    depth: int


def violations(value: object, kind: object) -> tuple[FieldViolation, ...]:
    with pytest.raises(InvalidParamsError) as caught:
        convert(value, kind, "message.parts[0].data")
    return caught.value.violations


def test_objects_become_values_of_their_types() -> None:
    value = {"lines": [{"item": "tea", "count": 2}], "colour": "blue"}
    assert convert(value, Order, "") == Order([Line("tea", 2)], Colour.BLUE)


def test_a_number_without_a_fraction_is_an_integer() -> None:
    assert convert({"item": "tea", "count": 2.0}, Line, "") == Line("tea", 2)
    assert convert([1.0, 2], list[int], "") == [1, 2]


def test_a_number_with_a_fraction_is_no_integer() -> None:
    assert violations(2.5, int) == (
        FieldViolation("message.parts[0].data", "must be int, not float"),
    )


def test_a_wrong_type_is_named_by_its_path() -> None:
    assert violations({"lines": [{"item": "a"}, {"item": 3}]}, Order) == (
        FieldViolation("message.parts[0].data.lines[1].item", "must be str, not int"),
    )


def test_a_missing_field_is_named_by_its_path() -> None:
    assert violations({"lines": [{"count": 1}]}, Order) == (
        FieldViolation("message.parts[0].data.lines[0].item", "is required"),
    )


def test_a_value_outside_an_enum_is_named_by_its_path() -> None:
    assert violations({"lines": [], "colour": "green"}, Order) == (
        FieldViolation("message.parts[0].data.colour", "is invalid: Invalid enum value 'green'"),
    )


def test_a_wrong_key_is_named_by_its_object() -> None:
    assert violations({"c": 1}, dict[Literal["a"], int])[0].field == "message.parts[0].data"


def test_the_error_says_the_same_in_words() -> None:
    with pytest.raises(InvalidParamsError, match=r"^Invalid parameters: here\.item is required$"):
        convert({}, Line, "here")


def test_text_is_read_as_a_scalar_only_when_it_was_typed() -> None:
    assert convert("21.5", float, "", is_text=True) == 21.5
    assert violations("21.5", float)[0].description == "must be float, not str"


def test_the_outermost_object_is_spelled_out_in_place() -> None:
    schema = schema_of(Order)
    assert schema["type"] == "object"
    assert schema["required"] == ["lines"]
    assert "$ref" not in schema


def test_a_recursive_object_stays_defined() -> None:
    schema = schema_of(Tree)
    assert schema["properties"] == {
        "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []}
    }
    assert "$defs" in schema


def test_a_scalar_has_a_plain_schema() -> None:
    assert schema_of(int) == {"type": "integer"}
    assert schema_of(Literal["a", "b"]) == {"enum": ["a", "b"]}


def test_a_typed_dict_has_a_schema() -> None:
    assert schema_of(Options)["required"] == ["depth"]


def test_a_type_that_is_not_json_has_no_schema() -> None:
    class Opaque: ...

    with pytest.raises(TypeError):
        schema_of(Opaque)
