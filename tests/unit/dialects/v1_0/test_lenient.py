"""1.0 methods with messages of 0.3: row D12 of the 0.x reference, 6.1."""

import msgspec
import pytest

from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.lenient import MIXED_DIALECT
from dragoman.errors import InvalidParamsError, JSONParseError
from dragoman.model.base import JsonObject
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Operation, SendMessageConfiguration, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig

SEND = Operation.SEND_MESSAGE
TEXT: JsonObject = {"kind": "text", "text": "hi"}
MESSAGE: JsonObject = {"kind": "message", "messageId": "m", "role": "user", "parts": [TEXT]}
READ = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))


def read(message: object = MESSAGE, **params: object) -> SendMessageRequest:
    wire = msgspec.json.encode({"message": message, **params})
    request = MIXED_DIALECT.decode_request(SEND, wire).request
    assert isinstance(request, SendMessageRequest)
    return request


@pytest.mark.parametrize("operation", [SEND, Operation.SEND_STREAMING_MESSAGE])
def test_a_message_of_0_3_is_read_and_answered_in_1_0(operation: Operation) -> None:
    wire = msgspec.json.encode({"message": MESSAGE})
    reading = MIXED_DIALECT.decode_request(operation, wire)
    assert isinstance(reading.request, SendMessageRequest)
    assert reading.request.message == READ
    assert reading.answer is MIXED_DIALECT
    assert (reading.answer.name, reading.answer.has_final, reading.alias) == ("1.0", False, "")


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (TEXT, Part(text="hi")),
        ({"type": "text", "text": "hi"}, Part(text="hi")),
        (
            {"kind": "file", "file": {"bytes": "AAEC/w==", "mimeType": "x/y"}},
            Part(raw=b"\x00\x01\x02\xff", media_type="x/y"),
        ),
        # As the appendix of 1.0 shows parts of 0.3.
        ({"kind": "file", "file": {"fileWithUri": "u", "name": "f"}}, Part(url="u", filename="f")),
        ({"file": {"uri": "u"}}, Part(url="u")),
        ({"kind": "data", "data": {"a": 1}}, Part(data={"a": 1})),
    ],
)
def test_the_parts_of_0_3_are_read(part: JsonObject, expected: Part) -> None:
    assert read({**MESSAGE, "parts": [part]}).message.parts == (expected,)


@pytest.mark.parametrize(
    ("role", "part"),
    [
        (1, {"text": "hi"}),
        ("user", {"text": "hi"}),
        ("user", TEXT),
        ("ROLE_USER", {"type": "text", "text": "hi"}),
    ],
)
def test_the_words_of_both_may_be_mixed(role: object, part: JsonObject) -> None:
    file = {"kind": "file", "file": {"uri": "u"}}
    request = read({"messageId": "m", "role": role, "parts": [part, file]})
    assert request.message == Message(
        message_id="m", role=Role.USER, parts=(Part(text="hi"), Part(url="u"))
    )


def test_an_agent_may_speak() -> None:
    assert read({**MESSAGE, "role": "agent"}).message.role is Role.AGENT


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({"blocking": True}, SendMessageConfiguration()),
        ({"blocking": False}, SendMessageConfiguration(return_immediately=True)),
        ({"returnImmediately": True}, SendMessageConfiguration(return_immediately=True)),
        (
            {"acceptedOutputModes": ["a/b"], "historyLength": 0},
            SendMessageConfiguration(accepted_output_modes=("a/b",), history_length=0),
        ),
        *(
            (
                {name: {"url": "u"}},
                SendMessageConfiguration(
                    task_push_notification_config=TaskPushNotificationConfig(url="u")
                ),
            )
            for name in ("pushNotificationConfig", "taskPushNotificationConfig")
        ),
    ],
)
def test_the_configuration_may_be_in_the_words_of_either(
    configuration: JsonObject, expected: SendMessageConfiguration
) -> None:
    assert read(configuration=configuration).configuration == expected


def test_what_only_1_0_has_is_kept() -> None:
    request = read(tenant="acme", metadata={"k": 1})
    assert (request.tenant, request.metadata) == ("acme", {"k": 1})


def test_what_can_be_read_as_1_0_is() -> None:
    # ``kind`` is a member that 1.0 does not know, and ignores.
    wire = msgspec.json.encode({"message": {**MESSAGE, "role": "ROLE_USER"}})
    request = MIXED_DIALECT.decode_request(SEND, wire).request
    assert request == SendMessageRequest(message=READ)
    assert request == V1_0_DIALECT.decode_request(SEND, wire).request


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        # The message is one of 1.0, with something wrong in it.
        (SEND, {"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}}),
        (SEND, {"message": {"messageId": "m", "parts": [{"text": "x"}]}}),
        (SEND, {"message": {"messageId": "m", "role": "robot", "parts": [{"text": "x"}]}}),
        (SEND, {"message": {"kind": "message", "role": "ROLE_USER", "parts": [{"text": "x"}]}}),
        (SEND, {}),
        (SEND, {"message": []}),
        # It is one of 0.3, and 1.0 requires more.
        (SEND, {"message": {**MESSAGE, "messageId": ""}}),
        (SEND, {"message": {**MESSAGE, "role": None}}),
        # It is one of 0.3, with something wrong in it.
        (SEND, {"message": {**MESSAGE, "parts": [TEXT, None]}}),
        (SEND, {"message": {**MESSAGE, "parts": []}}),
        (SEND, {"message": {**MESSAGE, "parts": [{"kind": "text", "text": 5}]}}),
        (SEND, {"message": {**MESSAGE, "parts": [{"kind": "file", "file": {"bytes": "%"}}]}}),
        # It is right, and something beside it is wrong.
        (SEND, {"message": MESSAGE, "tenant": 5}),
        (SEND, {"message": MESSAGE, "configuration": {"returnImmediately": "yes"}}),
        (SEND, {"message": MESSAGE, "configuration": {"blocking": "yes"}}),
        # It is no send at all.
        (Operation.GET_TASK, {"message": MESSAGE}),
        (Operation.LIST_TASKS, {"message": MESSAGE, "pageSize": -1}),
    ],
)
def test_a_refusal_is_that_of_1_0(operation: Operation, params: JsonObject) -> None:
    wire = msgspec.json.encode(params)
    with pytest.raises(InvalidParamsError) as expected:
        V1_0_DIALECT.decode_request(operation, wire)
    with pytest.raises(InvalidParamsError) as caught:
        MIXED_DIALECT.decode_request(operation, wire)
    assert caught.value.violations == expected.value.violations


@pytest.mark.parametrize("params", [b"", b'{"kind":', b'{"kind":"\xff"}'])
def test_what_is_not_json_is_a_parse_error(params: bytes) -> None:
    with pytest.raises(JSONParseError):
        MIXED_DIALECT.decode_request(SEND, params)
