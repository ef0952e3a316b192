"""The strict column of the 0.x reference, 6.1, as V0_1 keeps it, beside the lenient one."""

import msgspec
import pytest

from dragoman.dialects.v0_1.codec import V0_1, V0_1_DIALECT
from dragoman.dialects.v0_1.methods import METHODS
from dragoman.errors import FieldViolation, InvalidParamsError, JSONParseError
from dragoman.model.base import JsonObject
from dragoman.model.operations import GetTaskRequest, Operation, SendMessageRequest

STRICT = V0_1(is_strict=True)
SEND = Operation.SEND_MESSAGE
TEXT: JsonObject = {"type": "text", "text": "hi"}


def send_of(*parts: JsonObject, **params: object) -> bytes:
    message = {"role": "user", "parts": parts}
    return msgspec.json.encode({"id": "t", "message": message, **params})


def refusal(operation: Operation, params: bytes) -> FieldViolation:
    """Return what the strict reader has against params that the lenient one reads."""
    V0_1_DIALECT.decode_request(operation, params)
    with pytest.raises(InvalidParamsError) as caught:
        STRICT.decode_request(operation, params)
    (violation,) = caught.value.violations
    return violation


@pytest.mark.parametrize(
    "operation", [Operation.GET_TASK, Operation.CANCEL_TASK, Operation.SUBSCRIBE_TO_TASK]
)
def test_a_task_is_named_by_id(operation: Operation) -> None:  # D8
    assert refusal(operation, b'{"taskId":"t"}') == FieldViolation("id", "is required")


def test_a_part_is_known_by_type() -> None:  # D13
    params = send_of(TEXT, {"kind": "text", "text": "hi"})
    assert refusal(SEND, params) == FieldViolation("message.parts[1].type", "is required")
    assert refusal(SEND, send_of({"text": "hi"})) == (
        FieldViolation("message.parts[0].type", "is required")
    )


@pytest.mark.parametrize(
    "params",
    [
        send_of({**TEXT, "kind": "text"}),
        send_of(message={"messageId": "m", "role": "user", "parts": [TEXT]}),
    ],
)
def test_who_mixes_in_members_of_0_2_is_answered_by_type_alone(params: bytes) -> None:  # D13
    assert STRICT.decode_request(SEND, params).answer.name == "0.1"


@pytest.mark.parametrize(
    ("task_id", "description"),
    [(None, "is required"), ("", "must not be empty")],
)
def test_a_send_names_its_task(task_id: str | None, description: str) -> None:  # D14
    assert refusal(SEND, send_of(TEXT, id=task_id)) == FieldViolation("id", description)


def test_null_is_absent_in_0_1() -> None:  # D19
    params = send_of({**TEXT, "metadata": None}, sessionId=None, metadata=None)
    reading = STRICT.decode_request(SEND, params)
    lenient = V0_1_DIALECT.decode_request(SEND, params)
    assert reading == lenient._replace(answer=reading.answer)
    assert reading.alias == "t"
    query = STRICT.decode_request(Operation.GET_TASK, b'{"id":"t","historyLength":null}')
    assert query.request == GetTaskRequest(id="t", history_length=0)


def test_what_keeps_to_the_text_is_read_as_ever() -> None:
    reading = STRICT.decode_request(SEND, send_of(TEXT))
    assert isinstance(reading.request, SendMessageRequest)
    assert (reading.alias, reading.answer.name) == ("t", "0.1")
    assert reading.request == V0_1_DIALECT.decode_request(SEND, send_of(TEXT)).request


@pytest.mark.parametrize("operation", METHODS.values())
def test_what_is_not_json_is_a_parse_error(operation: Operation) -> None:
    with pytest.raises(JSONParseError):
        STRICT.decode_request(operation, b"{")


def test_habits_outlast_strictness() -> None:
    dialect = V0_1(has_kind=True, is_strict=True)
    assert dialect.decode_request(Operation.GET_TASK, b'{"id":"t"}').answer.name == "0.1+kind"
