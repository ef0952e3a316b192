from collections.abc import Callable

import pytest

from dragoman.dialects.fields import Fields, read_json
from dragoman.errors import FieldViolation, InvalidParamsError, JSONParseError

VALUES: dict[str, object] = {
    "text": "x",
    "empty": "",
    "null": None,
    "number": 3,
    "whole": 3.0,
    "broken": 3.5,
    "flag": True,
    "list": ["a", "b"],
    "mixed": ["a", 5],
    "object": {"a": 1},
    "history_length": 7,
}


def fields() -> Fields:
    return Fields(VALUES, "at")


def refused(read: Callable[[], object]) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        read()
    (violation,) = caught.value.violations
    return violation


def test_a_member_is_read_by_its_type() -> None:
    found = fields()
    assert found.text("text") == "x"
    assert found.texts("list") == ("a", "b")
    assert found.flag("flag") is True
    assert found.count("number") == found.count("whole") == 3
    assert found.free("object") == {"a": 1}
    assert found.get("mixed") == ["a", 5]
    inner = found.at("object")
    assert inner is not None
    assert (inner.path, inner.whole) == ("at.object", {"a": 1})


@pytest.mark.parametrize("name", ["null", "absent"])
def test_null_is_absent(name: str) -> None:
    found = fields()
    assert name not in found
    assert found.text(name) == ""
    assert found.optional_text(name) is None
    assert found.texts(name) == ()
    assert found.flag(name) is None
    assert found.count(name) is None
    assert found.free(name) is None
    assert found.at(name) is None


def test_a_proto_name_stands_for_the_json_name() -> None:
    assert fields().count("historyLength") == 7
    assert Fields({"historyLength": 1, "history_length": 2}).count("historyLength") == 1


def test_the_first_name_that_is_present_counts() -> None:
    assert fields().text("null", "absent", "text", "empty") == "x"


@pytest.mark.parametrize(
    ("read", "field", "description"),
    [
        (lambda: fields().text("number"), "at.number", "expected string, got integer"),
        (lambda: fields().text("x", "object"), "at.object", "expected string, got object"),
        (lambda: fields().texts("text"), "at.text", "expected array, got string"),
        (lambda: fields().texts("mixed"), "at.mixed[1]", "expected string, got integer"),
        (lambda: fields().flag("number"), "at.number", "expected boolean, got integer"),
        (lambda: fields().free("list"), "at.list", "expected object, got array"),
        (lambda: fields().at("flag"), "at.flag", "expected object, got boolean"),
        (lambda: fields().count("flag"), "at.flag", "expected integer, got boolean"),
        (lambda: fields().count("broken"), "at.broken", "expected integer, got number"),
        (lambda: fields().count("number", most=2), "at.number", "must be between 0 and 2"),
        (lambda: fields().required_text("null", "x"), "at.null", "is required"),
        (lambda: fields().required_text("empty"), "at.empty", "must not be empty"),
        (lambda: Fields(None), "", "expected object, got null"),
        (lambda: Fields([], "p[0]"), "p[0]", "expected object, got array"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(
    read: Callable[[], object], field: str, description: str
) -> None:
    assert refused(read) == FieldViolation(field, description)


def test_what_is_not_json_is_a_parse_error() -> None:
    with pytest.raises(JSONParseError):
        read_json(b"{")
    with pytest.raises(JSONParseError):
        read_json(b"[" * 100_000)


def test_a_number_out_of_range_is_refused() -> None:
    assert refused(lambda: read_json(b'{"n":1e999}')).description.endswith("out of range")
