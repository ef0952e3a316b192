from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from dragoman.dialects.base import Reading
from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.dialects.v0_1.methods import METHODS
from dragoman.errors import FieldViolation, InvalidParamsError, JSONParseError
from dragoman.model.base import INT32_MAX
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    Operation,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from tests.support.strategies import json_values

TEXT = {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
OPERATIONS = tuple(METHODS.values())


def read(operation: Operation, params: object) -> Reading:
    wire = params.encode() if isinstance(params, str) else msgspec.json.encode(params)
    return V0_1_DIALECT.decode_request(operation, wire)


def read_send(params: object) -> SendMessageRequest:
    request = read(Operation.SEND_MESSAGE, params).request
    assert isinstance(request, SendMessageRequest)
    return request


def read_configuration(params: object) -> SendMessageConfiguration:
    configuration = read_send(params).configuration
    assert configuration is not None
    return configuration


def read_part(part: str) -> Part:
    (read,) = read_send(f'{{"message":{{"role":"user","parts":[{part}]}}}}').message.parts
    return read


def refusal(operation: Operation, params: object) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        read(operation, params)
    (violation,) = caught.value.violations
    return violation


# --- sends --------------------------------------------------------------------------------------


def test_the_sample_send() -> None:
    reading = read(Operation.SEND_MESSAGE, {"id": "t-9", "sessionId": "s-1", "message": TEXT})
    assert reading.request == SendMessageRequest(
        message=Message(message_id="", context_id="s-1", role=Role.USER, parts=(Part(text="hi"),)),
        configuration=SendMessageConfiguration(history_length=0, return_immediately=UNSET),
    )
    assert reading.alias == "t-9"


@pytest.mark.parametrize("operation", [Operation.SEND_MESSAGE, Operation.SEND_STREAMING_MESSAGE])
def test_the_task_is_named_by_the_alias_and_not_by_the_message(operation: Operation) -> None:
    reading = read(operation, {"id": "t-9", "message": TEXT})
    assert isinstance(reading.request, SendMessageRequest)
    assert (reading.alias, reading.request.message.task_id) == ("t-9", "")


@pytest.mark.parametrize("task_id", [{}, {"id": None}, {"id": ""}])
def test_a_send_may_leave_the_id_to_the_server(task_id: dict[str, object]) -> None:
    assert read(Operation.SEND_MESSAGE, {**task_id, "message": TEXT}).alias == ""


def test_nulls_as_the_reference_client_writes_them_are_absent() -> None:
    params = (
        '{"id":"t","sessionId":null,"message":{"role":"user","parts":[{"type":"text","text":"hi",'
        '"metadata":null},{"type":"file","file":{"name":null,"mimeType":null,"bytes":"AA==",'
        '"uri":null},"metadata":null}],"metadata":null},"acceptedOutputModes":null,'
        '"pushNotification":{"url":"https://h.example","token":null,"authentication":null},'
        '"historyLength":null,"metadata":null}'
    )
    assert read_send(params) == SendMessageRequest(
        message=Message(message_id="", role=Role.USER, parts=(Part(text="hi"), Part(raw=b"\0"))),
        configuration=SendMessageConfiguration(
            task_push_notification_config=TaskPushNotificationConfig(url="https://h.example"),
            history_length=0,
            return_immediately=UNSET,
        ),
    )


@pytest.mark.parametrize(
    ("member", "length"),
    [({}, 0), ({"historyLength": 0}, 0), ({"historyLength": None}, 0), ({"historyLength": 7}, 7)],
)
def test_no_history_unless_it_is_asked_for(member: dict[str, object], length: int) -> None:
    assert read_configuration({"message": TEXT, **member}).history_length == length
    request = read(Operation.GET_TASK, {"id": "t", **member}).request
    assert request == GetTaskRequest(id="t", history_length=length)


@pytest.mark.parametrize("length", [-1, INT32_MAX + 1])
def test_a_history_length_out_of_range_is_refused(length: int) -> None:
    expected = FieldViolation("historyLength", f"must be between 0 and {INT32_MAX}")
    send = {"message": TEXT, "historyLength": length}
    assert refusal(Operation.SEND_MESSAGE, send) == expected
    assert refusal(Operation.GET_TASK, {"id": "t", "historyLength": length}) == expected


def test_a_send_waits() -> None:
    assert not read_configuration({"message": TEXT}).return_immediately


def test_the_modes_of_the_reference_client_are_media_types() -> None:
    params = {"message": TEXT, "acceptedOutputModes": ["text", "data", "image/png"]}
    assert read_configuration(params).accepted_output_modes == (
        "text/plain",
        "application/json",
        "image/png",
    )


def test_metadata_of_request_message_and_part_is_kept() -> None:
    request = read_send(
        '{"message":{"role":"user","parts":[{"type":"text","text":"hi","metadata":{"p":1}}],'
        '"metadata":{"m":2}},"metadata":{"r":3}}'
    )
    assert request.metadata == {"r": 3}
    assert request.message.metadata == {"m": 2}
    assert request.message.parts[0].metadata == {"p": 1}


# --- deviations ---------------------------------------------------------------------------------


def test_a_message_may_name_itself() -> None:
    params = '{"message":{"messageId":"m","role":"user","parts":[{"type":"text","text":"hi"}]}}'
    assert read_send(params).message.message_id == "m"


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (TEXT, "0.1"),
        ({"role": "user", "parts": [{"type": "text", "kind": "text", "text": "hi"}]}, "0.1"),
        ({"role": "user", "parts": [{"text": "hi"}]}, "0.1"),
        ({"role": "user", "parts": [{"kind": "text", "text": "hi"}]}, "0.1+kind"),
        (
            {
                "role": "user",
                "parts": [{"type": "text", "text": "a"}, {"kind": "text", "text": "hi"}],
            },
            "0.1+kind",
        ),
        ({"messageId": "m", **TEXT}, "0.1+kind"),
        ({"messageId": "m", "parts": TEXT["parts"]}, "0.1+kind"),
    ],
)
def test_who_mixes_in_members_of_0_2_is_answered_with_kind(message: object, name: str) -> None:
    reading = read(Operation.SEND_MESSAGE, {"message": message})
    assert isinstance(reading.request, SendMessageRequest)
    assert reading.request.message.parts[-1] == Part(text="hi")
    assert reading.answer.name == name


def test_the_ids_of_a_mixed_message_do_not_count() -> None:
    params = (
        '{"id":"t","sessionId":"s","message":{"kind":"message","taskId":"x","contextId":"y",'
        '"parts":[{"kind":"text","text":"hi"}]}}'
    )
    message = read_send(params).message
    assert (message.task_id, message.context_id) == ("", "s")


def test_who_does_not_say_who_speaks_is_the_user() -> None:
    assert read_send('{"message":{"parts":[{"text":"hi"}]}}').message.role is Role.USER


@pytest.mark.parametrize("name", ["bytes", "data"])
@pytest.mark.parametrize("content", ["AAEC/w==", "AAEC_w", "AAEC\\n/w=="])
def test_the_spellings_of_a_file(name: str, content: str) -> None:
    part = f'{{"type":"file","file":{{"{name}":"{content}","name":"f","mimeType":"x/y"}}}}'
    assert read_part(part) == Part(raw=b"\0\1\2\xff", filename="f", media_type="x/y")


def test_a_file_without_content_is_a_marked_reference() -> None:
    assert read_part('{"type":"file","file":{"name":"f"}}') == Part(
        data={"name": "f"}, metadata={"a2a.v0.fileReference": True}
    )


def test_an_unknown_part_is_kept_whole() -> None:
    assert read_part('{"type":"form","fields":[1]}') == Part(
        data={"type": "form", "fields": [1]}, metadata={"a2a.v0.kind": "form"}
    )


# --- other requests -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "params", "request_"),
    [
        (Operation.GET_TASK, '{"id":"t"}', GetTaskRequest(id="t", history_length=0)),
        (Operation.GET_TASK, '{"taskId":"t"}', GetTaskRequest(id="t", history_length=0)),
        (
            Operation.CANCEL_TASK,
            '{"id":"t","metadata":{"why":1}}',
            CancelTaskRequest(id="t", metadata={"why": 1}),
        ),
        (Operation.CANCEL_TASK, '{"id":"t","metadata":null}', CancelTaskRequest(id="t")),
        (
            Operation.SUBSCRIBE_TO_TASK,
            '{"id":"t","historyLength":5,"metadata":{}}',
            SubscribeToTaskRequest(id="t"),
        ),
        (
            Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
            '{"id":"t"}',
            GetTaskPushNotificationConfigRequest(task_id="t", id="t"),
        ),
        (
            Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
            '{"id":"t","pushNotificationConfig":{"url":"https://h.example"}}',
            TaskPushNotificationConfig(task_id="t", url="https://h.example"),
        ),
    ],
)
def test_a_request_names_the_task_as_the_client_does(
    operation: Operation, params: str, request_: object
) -> None:
    reading = read(operation, params)
    assert (reading.request, reading.alias) == (request_, "")


@pytest.mark.parametrize("operation", OPERATIONS[2:])
def test_a_task_must_be_named_by_all_but_a_send(operation: Operation) -> None:
    assert refusal(operation, "{}") == FieldViolation("id", "is required")
    assert refusal(operation, '{"id":""}') == FieldViolation("id", "must not be empty")
    assert refusal(operation, '{"id":5}') == FieldViolation("id", "expected string, got integer")


@pytest.mark.parametrize("operation", [Operation.LIST_TASKS, Operation.GET_EXTENDED_AGENT_CARD])
def test_what_0_1_does_not_have_is_not_read(operation: Operation) -> None:
    with pytest.raises(TypeError):
        read(operation, '{"id":"t"}')


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "field", "description"),
    [
        ("[]", "", "expected object, got array"),
        ("null", "", "expected object, got null"),
        ("{}", "message", "is required"),
        ('{"message":null}', "message", "is required"),
        ('{"message":"hi"}', "message", "expected object, got string"),
        ('{"message":{"role":"user"}}', "message.parts", "is required"),
        ('{"message":{"role":"user","parts":[]}}', "message.parts", "must not be empty"),
        (
            '{"message":{"role":"user","parts":[{"type":"text","text":"a"},{"type":"text",'
            '"text":5}]}}',
            "message.parts[1].text",
            "expected string, got integer",
        ),
        (
            '{"message":{"role":"user","parts":[{"type":"file","file":{"bytes":"?"}}]}}',
            "message.parts[0].file.bytes",
            "is not base64",
        ),
        ({"id": 5, "message": TEXT}, "id", "expected string, got integer"),
        ({"sessionId": 5, "message": TEXT}, "sessionId", "expected string, got integer"),
        ({"metadata": 5, "message": TEXT}, "metadata", "expected object, got integer"),
        (
            {"acceptedOutputModes": [5], "message": TEXT},
            "acceptedOutputModes[0]",
            "expected string, got integer",
        ),
        ({"pushNotification": {}, "message": TEXT}, "pushNotification.url", "is required"),
    ],
)
def test_a_wrong_send_is_refused_by_path(params: object, field: str, description: str) -> None:
    assert refusal(Operation.SEND_MESSAGE, params) == FieldViolation(field, description)


@pytest.mark.parametrize(
    "params", [b"", b"{", b'{"id":"\xff"}', b'{"id":"t",}', b"[" * 100_000 + b"]" * 100_000]
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_not_json_is_a_parse_error(operation: Operation, params: bytes) -> None:
    with pytest.raises(JSONParseError):
        V0_1_DIALECT.decode_request(operation, params)


_names = st.sampled_from(
    (
        *("id", "taskId", "sessionId", "message", "messageId", "role", "parts", "type", "kind"),
        *("text", "file", "bytes", "uri", "name", "mimeType", "data", "root", "metadata", "url"),
        *("pushNotification", "pushNotificationConfig", "authentication", "schemes", "a2a.v1"),
        *("historyLength", "acceptedOutputModes", "inputRequest", "a2a.v0.kind", "extensions"),
    )
)
_leaves = json_values | st.sampled_from(("user", "text", "file", "data", "AA==", "t", 5, True))
_bodies = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_names, inner, max_size=5)
        | st.fixed_dictionaries({"message": inner, "id": inner})
        | st.fixed_dictionaries({"parts": st.lists(inner, max_size=2)})
    ),
    max_leaves=12,
)


@given(st.sampled_from(OPERATIONS), _bodies)
def test_any_json_raises_a2a_errors_only(operation: Operation, params: object) -> None:
    with suppress(JSONParseError, InvalidParamsError):
        V0_1_DIALECT.decode_request(operation, msgspec.json.encode(params))


@given(st.sampled_from(OPERATIONS), st.binary(max_size=60))
def test_any_bytes_raise_a2a_errors_only(operation: Operation, params: bytes) -> None:
    with suppress(JSONParseError, InvalidParamsError):
        V0_1_DIALECT.decode_request(operation, params)
