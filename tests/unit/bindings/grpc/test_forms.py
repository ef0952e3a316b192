import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.forms import MessageForm, StructForm
from dragoman.bindings.grpc.well_known import Proto
from dragoman.errors import FieldViolation, InvalidParamsError, InvalidRequestError
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part

PART = StructForm("lf.a2a.v1.Part", Part)
SEND = StructForm("lf.a2a.v1.SendMessageRequest", SendMessageRequest)


def test_plain_data_reads_back() -> None:
    form = MessageForm("lf.a2a.v1.Part")
    plain = {"text": "hi", "metadata": {"a": 1}}
    assert form.read(form.write(plain)) == plain


def nested(levels: int) -> bytes:
    """Return a Part whose data is an array in an array in an array."""
    data = b""
    # A Value in a ListValue (field 1), that in a Value (field 6); the outermost one is field 4.
    for tag in (*(b"\x0a", b"\x32") * levels, b"\x22"):
        size = len(data)
        length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
        data = tag + length + data
    return data


def test_a_value_of_the_model_reads_back() -> None:
    part = Part(raw=b"\x00\xff", filename="f", media_type="x/y", metadata={"a": [1, None]})
    assert PART.decode(PART.encode(part)) == part


@pytest.mark.parametrize(
    "data",
    [
        # A field that says it is longer than the message.
        b"\x0a\x05ab",
        # Text that is not UTF-8.
        b"\x0a\x01\xff",
        # A tag that is none.
        b"\x00",
        # Arrays in arrays, deeper than protobuf reads; we do not write such.
        nested(60),
    ],
    ids=["cut short", "not UTF-8", "no tag", "too deep"],
)
def test_bytes_that_are_no_message_are_an_invalid_request(data: bytes) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        PART.decode(data)
    assert caught.value.message == "The bytes are not a message lf.a2a.v1.Part"


def test_a_message_that_is_no_value_is_refused_by_the_name_of_the_field() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        PART.decode(b"")
    (violation,) = caught.value.violations
    assert violation.description == "needs exactly one of text, raw, url, data"


def test_a_number_that_json_does_not_have_is_refused_by_the_name_of_the_field() -> None:
    part: Proto = message_class("lf.a2a.v1.Part")()
    part.metadata.fields["a"].number_value = math.inf
    with pytest.raises(InvalidParamsError) as caught:
        PART.decode(part.SerializeToString())
    violation = FieldViolation("metadata", "holds a number that JSON does not have")
    assert caught.value.violations == (violation,)


def test_fields_that_nobody_knows_are_ignored() -> None:
    assert PART.decode(PART.encode(Part(text="hi")) + b"\xf8\x3f\x01") == Part(text="hi")


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(InvalidRequestError, InvalidParamsError):
        SEND.decode(data)
