"""The strict column of the 0.x reference, 6.1, as V0_3 keeps it, beside the lenient one."""

from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.v0_3.codec import V0_3, V0_3_DIALECT
from dragoman.dialects.v0_3.methods import METHODS
from dragoman.errors import FieldViolation, InvalidParamsError, JSONParseError
from dragoman.model.base import JsonObject
from dragoman.model.documents import TaskDocument
from dragoman.model.operations import Operation
from dragoman.model.tasks import Task, TaskState, TaskStatus
from tests.support.strategies import json_values

STRICT = V0_3(is_strict=True)
SEND = Operation.SEND_MESSAGE
TEXT: JsonObject = {"kind": "text", "text": "hi"}
MESSAGE: JsonObject = {"kind": "message", "messageId": "m", "role": "user", "parts": [TEXT]}
BY_ID = (
    Operation.GET_TASK,
    Operation.CANCEL_TASK,
    Operation.SUBSCRIBE_TO_TASK,
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
)


def without(member: str) -> JsonObject:
    return {name: value for name, value in MESSAGE.items() if name != member}


def refusal(operation: Operation, params: object) -> FieldViolation:
    """Return what the strict reader has against params that the lenient one reads."""
    wire = msgspec.json.encode(params)
    V0_3_DIALECT.decode_request(operation, wire)
    with pytest.raises(InvalidParamsError) as caught:
        STRICT.decode_request(operation, wire)
    (violation,) = caught.value.violations
    return violation


@pytest.mark.parametrize("operation", BY_ID)
def test_a_task_is_named_by_id(operation: Operation) -> None:  # D8
    assert refusal(operation, {"taskId": "t"}) == FieldViolation("id", "is required")
    assert STRICT.decode_request(operation, b'{"id":"t"}').request == (
        V0_3_DIALECT.decode_request(operation, b'{"id":"t"}').request
    )


@pytest.mark.parametrize("operation", [SEND, Operation.SEND_STREAMING_MESSAGE])
@pytest.mark.parametrize(
    ("message", "field", "description"),
    [
        # D9
        (
            {**MESSAGE, "parts": [TEXT, {"type": "text", "text": "x"}]},
            *("message.parts[1].kind", "is required"),
        ),
        # D10
        (without("messageId"), "message.messageId", "is required"),
        ({**MESSAGE, "messageId": ""}, "message.messageId", "must not be empty"),
        # D11
        ({**MESSAGE, "role": "ROLE_USER"}, "message.role", "is not one of the known values"),
        (without("role"), "message.role", "is required"),
        ({**MESSAGE, "parts": [{"raw": "AA=="}]}, "message.parts[0].kind", "is required"),
        ({**without("parts"), "content": [TEXT]}, "message.parts", "is required"),
        # D19
        ({**MESSAGE, "contextId": None}, "message.contextId", "must not be null"),
        ({**MESSAGE, "metadata": None}, "message.metadata", "must not be null"),
        (
            {**MESSAGE, "parts": [{**TEXT, "metadata": None}]},
            *("message.parts[0].metadata", "must not be null"),
        ),
        # D20
        ({**MESSAGE, "context_id": "c"}, "message.context_id", "is called contextId"),
        (
            {**without("messageId"), "message_id": "m"},
            *("message.message_id", "is called messageId"),
        ),
    ],
)
def test_a_message_keeps_to_the_schema(
    operation: Operation, message: JsonObject, field: str, description: str
) -> None:
    assert refusal(operation, {"message": message}) == FieldViolation(field, description)


@pytest.mark.parametrize(
    ("operation", "params", "field", "description"),
    [
        (SEND, {"message": MESSAGE, "metadata": None}, "metadata", "must not be null"),
        (
            SEND,
            {"message": MESSAGE, "configuration": {"blocking": None}},
            *("configuration.blocking", "must not be null"),
        ),
        (
            SEND,
            {"message": MESSAGE, "configuration": {"history_length": 1}},
            *("configuration.history_length", "is called historyLength"),
        ),
        (
            Operation.GET_TASK,
            {"id": "t", "historyLength": None},
            *("historyLength", "must not be null"),
        ),
        (Operation.LIST_TASKS, {"page_size": 5}, "page_size", "is called pageSize"),
        (
            Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
            {"taskId": "t", "pushNotificationConfig": {"url": "u", "token": None}},
            *("pushNotificationConfig.token", "must not be null"),
        ),
    ],
)
def test_other_params_keep_to_the_schema(  # D19, D20
    operation: Operation, params: object, field: str, description: str
) -> None:
    assert refusal(operation, params) == FieldViolation(field, description)


def test_a_message_there_must_be() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        STRICT.decode_request(SEND, b"{}")
    assert caught.value.violations == (FieldViolation("message", "is required"),)


@pytest.mark.parametrize(
    "params",
    [
        {"message": MESSAGE},
        {"message": without("kind")},  # D10
        {"message": {**MESSAGE, "role": "agent", "metadata": {"task_id": None}}},
        {"message": {**MESSAGE, "parts": [{"kind": "data", "data": {"x": None}}]}},
        {"message": {**MESSAGE, "parts": [{**TEXT, "type": "text"}]}},
        {
            "message": {**MESSAGE, "taskId": "t", "referenceTaskIds": ["r"]},
            "configuration": {"acceptedOutputModes": ["text"], "blocking": False},
            "metadata": {},
        },
    ],
)
def test_what_keeps_to_the_schema_is_read_and_answered_as_ever(params: object) -> None:
    wire = msgspec.json.encode(params)
    reading, lenient = (each.decode_request(SEND, wire) for each in (STRICT, V0_3_DIALECT))
    assert reading.request == lenient.request
    assert reading.answer.name == lenient.answer.name == "0.3"
    task = TaskDocument.of(Task(id="t", status=TaskStatus(state=TaskState.WORKING)))
    assert reading.answer.encode_result(SEND, task) == lenient.answer.encode_result(SEND, task)


def test_the_card_needs_no_params() -> None:
    assert STRICT.decode_request(Operation.GET_EXTENDED_AGENT_CARD, b"{}")


@pytest.mark.parametrize("params", [b"", b"{", b"[" * 100_000])
def test_what_is_not_json_is_a_parse_error(params: bytes) -> None:
    with pytest.raises(JSONParseError):
        STRICT.decode_request(SEND, params)


@given(st.sampled_from(sorted(METHODS)), json_values)
def test_whatever_json_comes_nothing_else_is_raised(method: str, value: object) -> None:
    bodies: tuple[object, ...] = (value, {"message": value}, {"message": {"parts": value}})
    for body in bodies:
        with suppress(JSONParseError, InvalidParamsError):
            STRICT.decode_request(METHODS[method], msgspec.json.encode(body))
