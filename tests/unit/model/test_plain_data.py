from dataclasses import dataclass

import msgspec
import pydantic
import pytest

from dragoman.errors import UsageError
from dragoman.model.plain_data import is_model, to_plain_data, with_whole_numbers


@dataclass
class Line:
    name: str
    count: int = 1


class Order(pydantic.BaseModel):
    lines: list[int]


class Box(msgspec.Struct):
    order: Order


def test_a_model_of_pydantic_is_known_by_its_shape() -> None:
    found = [is_model(each) for each in (Order, Order(lines=[]), Line, Line("tea"))]
    assert found == [True, False, False, False]


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (Line("tea"), {"name": "tea", "count": 1}),
        ({1: [Line("tea")]}, {"1": [{"name": "tea", "count": 1}]}),
        (Order(lines=[1]), {"lines": [1]}),
        (Box(Order(lines=[])), {"order": {"lines": []}}),
        (None, None),
    ],
)
def test_what_json_can_express_becomes_data(value: object, data: object) -> None:
    assert to_plain_data(value, instead="text") == data


def test_what_json_cannot_express_is_named_with_what_could_be_sent() -> None:
    with pytest.raises(UsageError, match="a object cannot be sent: use text, or data that JSON"):
        to_plain_data(object(), instead="text")
    with pytest.raises(UsageError, match="cannot be sent"):
        to_plain_data({"deep": [lambda: None]}, instead="text")


def test_whole_numbers_are_integers_at_any_depth() -> None:
    found = with_whole_numbers({"a": [1.0, 1.5, True, "1.0"], "b": {"c": -2.0}})
    assert repr(found) == repr({"a": [1, 1.5, True, "1.0"], "b": {"c": -2}})
