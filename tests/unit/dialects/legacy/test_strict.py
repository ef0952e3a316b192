import pytest
from hypothesis import given

from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy.strict import check_parts, check_spelling
from dragoman.errors import FieldViolation, InvalidParamsError
from tests.support.strategies import json_objects


def spelling_fault(params: object) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        check_spelling(Fields(params))
    (violation,) = caught.value.violations
    return violation


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"a": None}, "a"),
        ({"metadata": None}, "metadata"),
        ({"message": {"taskId": None}}, "message.taskId"),
        ({"message": {"parts": [{}, {"data": None}]}}, "message.parts[1].data"),
        ({"modes": ["text", None]}, "modes[1]"),
        ({"deep": [[{"x": [None]}]]}, "deep[0][0].x[0]"),
    ],
)
def test_null_is_not_absent(params: object, field: str) -> None:
    assert spelling_fault(params) == FieldViolation(field, "must not be null")


@pytest.mark.parametrize(
    ("params", "field", "name"),
    [
        ({"history_length": 1}, "history_length", "historyLength"),
        ({"message": {"message_id": "m"}}, "message.message_id", "messageId"),
        ({"parts": [{"file": {"mime_type": "x/y"}}]}, "parts[0].file.mime_type", "mimeType"),
        # Even beside the right one, and whatever it holds.
        ({"taskId": "t", "task_id": None}, "task_id", "taskId"),
    ],
)
def test_a_proto_name_is_told_the_right_one(params: object, field: str, name: str) -> None:
    assert spelling_fault(params) == FieldViolation(field, f"is called {name}")


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"id": "t", "historyLength": 0, "flag": False, "empty": "", "list": []},
        # Members that nobody knows are legal.
        {"trace_id": "x", "message": {"x_y": [1.5]}},
        # What is inside these is the sender's own.
        {"metadata": {"task_id": None}, "parts": [{"data": {"message_id": [None]}}]},
    ],
)
def test_what_is_spelled_right_passes(params: object) -> None:
    check_spelling(Fields(params))


@given(json_objects)
def test_free_json_passes_whatever_it_is(value: object) -> None:
    check_spelling(Fields({"metadata": value, "message": {"metadata": value}}))


def test_nesting_has_no_limit_here() -> None:
    deep: object = None
    for _ in range(5000):
        deep = [deep]
    assert spelling_fault({"x": deep}).description == "must not be null"


# --- parts --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        [{"kind": "text", "text": "x"}],
        [{"kind": "text"}, {"kind": "file", "type": 5, "file": {"uri": "https://a.example"}}],
        # Whether there must be one is for the reader to say.
        [],
    ],
)
def test_parts_that_say_what_they_are_pass(parts: list[object]) -> None:
    check_parts(Fields({"parts": parts}), "kind")


@pytest.mark.parametrize(
    ("message", "field", "description"),
    [
        ({"parts": [{"kind": "text"}, {"type": "text"}]}, "at.parts[1].kind", "is required"),
        ({"parts": [{"text": "x"}]}, "at.parts[0].kind", "is required"),
        ({"parts": [{"root": {"kind": "text"}}]}, "at.parts[0].kind", "is required"),
        ({"parts": [{"kind": ""}]}, "at.parts[0].kind", "must not be empty"),
        ({"parts": [{"kind": 5}]}, "at.parts[0].kind", "expected string, got integer"),
        ({"parts": ["x"]}, "at.parts[0]", "expected object, got string"),
        ({"parts": {}}, "at.parts", "expected array, got object"),
        ({"content": [{"kind": "text"}]}, "at.parts", "is required"),
    ],
)
def test_parts_that_do_not_say_what_they_are_are_refused(
    message: object, field: str, description: str
) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        check_parts(Fields(message, "at"), "kind")
    assert caught.value.violations == (FieldViolation(field, description),)
