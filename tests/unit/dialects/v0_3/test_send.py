from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.dialects.v0_3.codec import V0_3_DIALECT
from dragoman.dialects.v0_3.send import decode_send
from dragoman.errors import A2AError, FieldViolation, InvalidParamsError, JSONParseError
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Operation, SendMessageConfiguration, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from tests.support.strategies import json_values, send_message_requests

TEXT: JsonObject = {"kind": "text", "text": "hi"}
MESSAGE: JsonObject = {"kind": "message", "messageId": "m", "role": "user", "parts": [TEXT]}
NONCE = "k"
READ = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))


def send(message: object = MESSAGE, **params: object) -> SendMessageRequest:
    return decode_send(msgspec.json.encode({"message": message, **params}))[0]


def refusal(params: object) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        decode_send(msgspec.json.encode(params))
    (violation,) = caught.value.violations
    return violation


LEFT_OPEN: Final = SendMessageConfiguration(return_immediately=UNSET)


# --- the message --------------------------------------------------------------------------------


def test_a_message_is_read_with_all_its_members() -> None:
    message: JsonObject = {
        **MESSAGE,
        "taskId": "t",
        "contextId": "c",
        "metadata": {"k": 1},
        "extensions": ["e"],
        "referenceTaskIds": ["r"],
    }
    assert send(message, metadata={"j": 2}) == SendMessageRequest(
        message=replace(
            READ,
            task_id="t",
            context_id="c",
            metadata={"k": 1},
            extensions=("e",),
            reference_task_ids=("r",),
        ),
        configuration=LEFT_OPEN,
        metadata={"j": 2},
    )


@pytest.mark.parametrize(
    ("part", "read"),
    [
        ({"kind": "file", "file": {"bytes": "AAEC/w==", "name": "f.bin"}}, b"\x00\x01\x02\xff"),
        ({"kind": "file", "file": {"bytes": "AAEC_w"}}, b"\x00\x01\x02\xff"),
    ],
)
def test_the_bytes_of_a_file_are_read(part: JsonObject, read: bytes) -> None:
    (found,) = send({**MESSAGE, "parts": [part]}).message.parts
    assert found.raw == read


def test_marks_are_undone() -> None:
    part = {"kind": "data", "data": {"value": 5}, "metadata": {"data_part_compat": True}}
    assert send({**MESSAGE, "parts": [part]}).message.parts == (Part(data=5),)


@pytest.mark.parametrize(
    ("change", "params"),
    [
        ({"kind": None}, {}),  # D10
        ({"role": None}, {}),
        ({"role": "ROLE_USER", "parts": [{"text": "hi"}]}, {}),  # D11
        ({"taskId": None, "metadata": None, "extensions": None}, {"configuration": None}),  # D19
        ({"messageId": None, "message_id": "m"}, {}),  # D20
        ({"messageId": None}, {"messageId": "m"}),  # an example of 0.2
        ({"parts": [{"root": TEXT}]}, {}),
    ],
)
def test_other_spellings_of_the_same_message(change: JsonObject, params: JsonObject) -> None:
    assert send({**MESSAGE, **change}, **params) == SendMessageRequest(
        message=READ, configuration=LEFT_OPEN
    )


def test_a_message_without_an_id_has_none() -> None:
    message = {name: value for name, value in MESSAGE.items() if name != "messageId"}
    assert send(message).message.message_id == ""


@pytest.mark.parametrize("params", [{"taskId": "t"}, {"id": "t"}])
@pytest.mark.parametrize("part", [TEXT, {"type": "text", "text": "hi"}])
def test_a_task_may_be_continued_by_the_params(params: JsonObject, part: JsonObject) -> None:
    message = {**MESSAGE, "parts": [part]}
    assert send(message, **params).message.task_id == "t"
    assert send({**message, "taskId": "own"}, **params).message.task_id == "own"


@pytest.mark.parametrize(
    ("name", "attribute"), [("context_id", "context_id"), ("task_id", "task_id")]
)
def test_proto_names_are_not_overlooked(name: str, attribute: str) -> None:
    assert getattr(send({**MESSAGE, name: "x"}).message, attribute) == "x"
    assert send({**MESSAGE, "reference_task_ids": ["r"]}).message.reference_task_ids == ("r",)


@pytest.mark.parametrize(
    ("parts", "by_type"),
    [
        ([TEXT], False),
        ([{"type": "text", "text": "x"}], True),
        ([{"kind": "text", "type": "text", "text": "x"}], False),
        ([TEXT, {"type": "text", "text": "x"}], True),
        ([{"text": "x"}], False),
    ],
)
def test_it_is_told_whether_parts_came_by_type(parts: list[JsonObject], *, by_type: bool) -> None:
    params = msgspec.json.encode({"message": {**MESSAGE, "parts": parts}})
    assert decode_send(params)[1] is by_type


@pytest.mark.parametrize(
    ("params", "field", "description"),
    [
        ([], "", "expected object, got array"),
        ({}, "message", "is required"),
        ({"message": 5}, "message", "expected object, got integer"),
        ({"message": {}}, "message.parts", "is required"),
        ({"message": {**MESSAGE, "parts": []}}, "message.parts", "must not be empty"),
        (
            {"message": {**MESSAGE, "parts": [TEXT, {"kind": "text", "text": 5}]}},
            "message.parts[1].text",
            "expected string, got integer",
        ),
        (
            {"message": {**MESSAGE, "parts": [TEXT, {"kind": "file", "file": {"bytes": "%"}}]}},
            "message.parts[1].file.bytes",
            "is not base64",
        ),
        (
            {"message": MESSAGE, "configuration": {"historyLength": -1}},
            "configuration.historyLength",
            "must be between 0 and 2147483647",
        ),
        (
            {"message": MESSAGE, "configuration": {"blocking": "yes"}},
            "configuration.blocking",
            "expected boolean, got string",
        ),
        (
            {"message": MESSAGE, "configuration": {"pushNotificationConfig": {}}},
            "configuration.pushNotificationConfig.url",
            "is required",
        ),
        ({"message": MESSAGE, "metadata": 5}, "metadata", "expected object, got integer"),
    ],
)
def test_what_is_wrong_is_named_by_its_path(params: object, field: str, description: str) -> None:
    assert refusal(params) == FieldViolation(field, description)


@pytest.mark.parametrize("params", [b"", b"{", b'{"message":"\xff"}', b"[" * 100_000])
def test_what_is_not_json_is_a_parse_error(params: bytes) -> None:
    with pytest.raises(JSONParseError):
        decode_send(params)


# --- the configuration --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configuration", "read"),
    [
        ({}, LEFT_OPEN),
        # 0.x reference, 5.10.
        ({"blocking": True}, SendMessageConfiguration()),
        ({"blocking": False}, SendMessageConfiguration(return_immediately=True)),
        ({"blocking": None}, LEFT_OPEN),
        ({"historyLength": 0}, LEFT_OPEN),
        ({"historyLength": 3}, replace(LEFT_OPEN, history_length=3)),
        ({"history_length": 3}, replace(LEFT_OPEN, history_length=3)),
        (
            {"acceptedOutputModes": ["text", "image/png"]},
            replace(LEFT_OPEN, accepted_output_modes=("text/plain", "image/png")),
        ),
        (
            {
                "pushNotificationConfig": {
                    "url": "u",
                    "id": "p",
                    "token": "k",
                    "authentication": {"schemes": ["Digest", "Bearer"], "credentials": "c"},
                }
            },
            replace(
                LEFT_OPEN,
                task_push_notification_config=TaskPushNotificationConfig(
                    id="p",
                    url="u",
                    token=NONCE,
                    authentication=AuthenticationInfo(scheme="Bearer", credentials="c"),
                ),
            ),
        ),
    ],
)
def test_the_configuration_is_read(
    configuration: JsonObject, read: SendMessageConfiguration
) -> None:
    assert send(configuration=configuration).configuration == read


def test_without_a_configuration_the_wait_is_left_open() -> None:
    assert send().configuration == LEFT_OPEN


# --- the two readers ----------------------------------------------------------------------------


@given(send_message_requests)
def test_the_tolerant_reader_agrees_with_the_typed_one(request: SendMessageRequest) -> None:
    params = V0_3_DIALECT.encode_request(Operation.SEND_MESSAGE, request)
    # A proto name anywhere sends it the slow way.
    assert decode_send(params[:-1] + b',"x":{"task_id":""}}') == decode_send(params)


# --- anything -----------------------------------------------------------------------------------


@given(json_values, st.sampled_from(["message", "parts", "part", "file", "configuration"]))
def test_whatever_json_comes_nothing_else_is_raised(value: object, place: str) -> None:
    params: dict[str, object] = {
        "message": {"message": value},
        "parts": {"message": {**MESSAGE, "parts": value}},
        "part": {"message": {**MESSAGE, "parts": [TEXT, value]}},
        "file": {"message": {**MESSAGE, "parts": [{"kind": "file", "file": value}]}},
        "configuration": {"message": MESSAGE, "configuration": value},
    }
    for body in (value, params[place]):
        try:
            decode_send(msgspec.json.encode(body))
        except A2AError:
            continue
