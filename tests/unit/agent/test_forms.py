from dataclasses import dataclass
from enum import Enum
from typing import Literal

import pytest

from dragoman.agent.forms import SCHEMA_MEDIA_TYPE, form_part, read_answer
from dragoman.agent.results import File
from dragoman.errors import FieldViolation, InvalidParamsError, UsageError
from dragoman.model.messages import Message
from dragoman.model.parts import Part
from dragoman.testing.turn import user_message


class Size(Enum):
    SMALL = 1
    LARGE = 2


@dataclass
class Address:
    street: str
    number: int


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        (str, " as it is ", " as it is "),
        (int, "42", 42),
        (float, " 21.5\n", 21.5),
        (bool, "true", True),
        (bool, "No", False),
        (bool, "y", True),
        (Size, "2", Size.LARGE),
        (Literal["tea", "coffee"], "tea", "tea"),
        (int | None, "3", 3),
    ],
)
def test_a_scalar_is_read_from_text(form: object, text: str, value: object) -> None:
    assert read_answer(form, user_message(text)) == value


@pytest.mark.parametrize(
    ("form", "data", "value"),
    [
        (float, 21.5, 21.5),
        (int, 3.0, 3),
        (str, "data", "data"),
        (Address, {"street": "Via", "number": 1}, Address("Via", 1)),
    ],
)
def test_an_answer_is_read_from_data(form: object, data: object, value: object) -> None:
    assert read_answer(form, user_message(Part(data=data))) == value


def test_data_goes_before_text() -> None:
    assert read_answer(int, user_message("about three", 3)) == 3


def test_text_goes_before_data_when_text_was_asked_for() -> None:
    assert read_answer(str, user_message({"a": 1}, "hi")) == "hi"


def test_a_message_is_given_as_it_came() -> None:
    message = user_message("hi")
    assert read_answer(Message, message) is message


def test_a_file_is_taken_from_its_part() -> None:
    assert read_answer(File, user_message("here", File(content=b"x"))) == File(content=b"x")


@pytest.mark.parametrize(
    ("form", "content", "violation"),
    [
        (float, "warm", FieldViolation("message.parts[0].text", "must be float, not str")),
        (Address, "Via 1", FieldViolation("message.parts[0].text", "must be object, not str")),
        (Address, {"street": "Via"}, FieldViolation("message.parts[0].data.number", "is required")),
        (int, b"x", FieldViolation("message.parts", "has neither a data part nor a text part")),
        (File, "none", FieldViolation("message.parts", "has no file; send a file part")),
    ],
)
def test_an_answer_that_does_not_fit_is_named(
    form: object, content: object, violation: FieldViolation
) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        read_answer(form, user_message(content))
    assert caught.value.violations == (violation,)


@pytest.mark.parametrize("form", [str, Message, File])
def test_free_content_has_no_form(form: object) -> None:
    assert form_part(form) is None


def test_a_form_is_a_json_schema_in_a_data_part() -> None:
    assert form_part(int) == Part(
        data={"schema": {"type": "integer"}}, media_type=SCHEMA_MEDIA_TYPE
    )


def test_a_type_that_no_answer_could_be_is_refused() -> None:
    class Opaque: ...

    with pytest.raises(UsageError, match=r"ctx\.ask cannot ask for .*Opaque"):
        form_part(Opaque)
