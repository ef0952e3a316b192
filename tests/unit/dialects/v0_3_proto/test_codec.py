"""The ProtoJSON dialect of 0.3, through its port."""

import json
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.dialects.base import RestDialect
from dragoman.dialects.legacy.file_bytes import FileBytes
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.codec import (
    V0_3_PROTO_DIALECT,
    V0_3_PROTO_RAW_DIALECT,
    V0_3Proto,
)
from dragoman.errors import A2AError, InvalidParamsError, JSONParseError, TaskNotFoundError
from dragoman.model.base import JsonObject
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentInterface
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    Empty,
    GetTaskRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    Operation,
    Request,
    SendMessageConfiguration,
    SendMessageRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus
from tests.support.strategies import (
    json_values,
    stream_responses,
)

DIALECT: RestDialect = V0_3_PROTO_DIALECT
BINARY = b"\x00\x01\x02\xff"
TASK = Task(
    id="T",
    context_id="C",
    status=TaskStatus(state=TaskState.COMPLETED, timestamp="2025-08-01T10:00:00.000Z"),
    artifacts=(
        Artifact(artifact_id="a1", parts=(Part(raw=BINARY, media_type="x/y", filename="f.bin"),)),
    ),
)
WIRE_TASK = {
    "id": "T",
    "contextId": "C",
    "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2025-08-01T10:00:00.000Z"},
    "artifacts": [
        {
            "artifactId": "a1",
            "parts": [
                {"file": {"fileWithBytes": "QUFFQy93PT0=", "mimeType": "x/y", "name": "f.bin"}}
            ],
        }
    ],
}
MESSAGE = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))
CONFIG = TaskPushNotificationConfig(task_id="t", id="c", url="u")
WIRE_CONFIG = {
    "name": "tasks/t/pushNotificationConfigs/c",
    "pushNotificationConfig": {"id": "c", "url": "u"},
}
CARD = AgentCard(
    name="a",
    description="d",
    supported_interfaces=(
        AgentInterface(url="u", protocol_binding="HTTP+JSON", protocol_version="0.3"),
    ),
    version="1",
    capabilities=AgentCapabilities(),
    default_input_modes=("text/plain",),
    default_output_modes=("text/plain",),
    skills=(),
)


def event_of(value: StreamResponse) -> EventDocument:
    return EventDocument(1, msgspec.json.encode(value))


# --- serving ----------------------------------------------------------------------------------


def test_the_form_has_a_name() -> None:
    assert DIALECT.name == "0.3-proto"
    assert DIALECT.has_final
    assert DIALECT.has_messages


def test_a_request_is_answered_in_the_same_form() -> None:
    body = (
        b'{"message":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"hi"}]},'
        b'"configuration":{"blocking":true}}'
    )
    reading = DIALECT.decode_request(Operation.SEND_MESSAGE, body)
    message = Message(message_id="m1", role=Role.USER, parts=(Part(text="hi"),))
    assert reading.request == SendMessageRequest(
        message=message, configuration=SendMessageConfiguration()
    )
    assert reading.answer is DIALECT
    assert reading.alias == ""


@pytest.mark.parametrize(
    ("operation", "fields", "request_"),
    [
        (
            Operation.GET_TASK,
            {"id": "null", "historyLength": "3"},
            GetTaskRequest(id="null", history_length=3),
        ),
        (Operation.GET_TASK, {"id": "7", "history_length": "0"}, GetTaskRequest(id="7")),
        (Operation.GET_TASK, {"id": "t", "historyLength": "", "new": "x"}, GetTaskRequest(id="t")),
        (
            Operation.LIST_TASKS,
            {"status": "5", "pageSize": "9", "includeArtifacts": "true"},
            ListTasksRequest(status=TaskState.CANCELED, page_size=9, include_artifacts=True),
        ),
        (
            Operation.LIST_TASKS,
            {"includeArtifacts": "false"},
            ListTasksRequest(include_artifacts=False),
        ),
    ],
)
def test_a_query_is_read(operation: Operation, fields: dict[str, str], request_: Request) -> None:
    assert DIALECT.decode_query(operation, fields) == request_


@pytest.mark.parametrize(
    ("operation", "fields", "field"),
    [
        (Operation.GET_TASK, {"id": ""}, "id"),
        (Operation.GET_TASK, {"id": "t", "historyLength": "many"}, "historyLength"),
        (Operation.LIST_TASKS, {"includeArtifacts": "maybe"}, "includeArtifacts"),
        (Operation.LIST_TASKS, {"pageSize": "5", "page_size": "5"}, "pageSize"),
    ],
)
def test_what_is_wrong_with_a_query_is_named(
    operation: Operation, fields: dict[str, str], field: str
) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        DIALECT.decode_query(operation, fields)
    assert caught.value.violations[0].field == field


@pytest.mark.parametrize(
    ("operation", "result", "members"),
    [
        (Operation.SEND_MESSAGE, TaskDocument.of(TASK), {"task": WIRE_TASK}),
        (Operation.GET_TASK, TaskDocument.of(TASK), WIRE_TASK),
        (Operation.CANCEL_TASK, TaskDocument.of(TASK), WIRE_TASK),
        (
            Operation.SEND_MESSAGE,
            MESSAGE,
            {"message": {"messageId": "m", "role": "ROLE_AGENT", "content": [{"text": "x"}]}},
        ),
        (
            Operation.LIST_TASKS,
            TaskPage(
                tasks=(TaskDocument.of(TASK).without_artifacts(),),
                next_page_token="p",  # noqa: S106 - no secret
                page_size=1,
                total_size=7,
            ),
            {
                "tasks": [{k: v for k, v in WIRE_TASK.items() if k != "artifacts"}],
                "nextPageToken": "p",
                "totalSize": 7,
            },
        ),
        (
            Operation.LIST_TASKS,
            TaskPage(tasks=(), next_page_token="", page_size=50, total_size=0),
            {},
        ),
        (Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG, CONFIG, WIRE_CONFIG),
        (Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, CONFIG, WIRE_CONFIG),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            ListTaskPushNotificationConfigsResponse(configs=(CONFIG,)),
            {"configs": [WIRE_CONFIG]},
        ),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            ListTaskPushNotificationConfigsResponse(),
            {},
        ),
        (Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, Empty(), {}),
    ],
)
def test_an_answer_is_written(operation: Operation, result: object, members: object) -> None:
    assert json.loads(DIALECT.encode_result(operation, result)) == members  # pyright: ignore[reportArgumentType] - the table holds results


def test_a_card_reads_back_through_the_port() -> None:
    written = DIALECT.encode_result(Operation.GET_EXTENDED_AGENT_CARD, CARD)
    assert DIALECT.decode_result(Operation.GET_EXTENDED_AGENT_CARD, written) == CARD


def test_an_error_reads_back_through_the_port() -> None:
    status, body = DIALECT.encode_http_error(TaskNotFoundError("t"))
    assert status == 404
    assert json.loads(body)["code"] == -32001
    assert isinstance(DIALECT.decode_http_error(status, body), TaskNotFoundError)


# --- streams ----------------------------------------------------------------------------------


def test_a_stream_ends_with_its_final_frame() -> None:
    writer = DIALECT.frame_writer()
    working = replace(TASK, status=TaskStatus(state=TaskState.WORKING))
    assert len(writer.write(event_of(StreamResponse(task=working)))) == 1
    assert not writer.has_ended
    assert len(writer.write(event_of(StreamResponse(task=TASK)))) == 2
    assert writer.has_ended
    writer.write(event_of(StreamResponse(task=working)))
    assert writer.has_ended


def test_streams_share_what_was_written() -> None:
    event = event_of(StreamResponse(task=TASK))
    first, second = DIALECT.frame_writer(), DIALECT.frame_writer()
    assert first.write(event) is second.write(event)
    assert second.has_ended


def sent_file(content: bytes) -> bytes:
    """Return a send with a file, as a peer that knows no base64 text writes it."""
    message = Message(message_id="m", role=Role.USER, parts=(Part(raw=content, media_type="x/y"),))
    request = SendMessageRequest(message=message)
    return V0_3_PROTO_RAW_DIALECT.encode_request(Operation.SEND_MESSAGE, request)


def test_who_sends_raw_content_gets_raw_content() -> None:
    reading = DIALECT.decode_request(Operation.SEND_MESSAGE, sent_file(BINARY))
    assert reading.answer is V0_3_PROTO_RAW_DIALECT
    answer = reading.answer.encode_result(Operation.GET_TASK, TaskDocument.of(TASK))
    file = json.loads(answer)["artifacts"][0]["parts"][0]["file"]
    assert file["fileWithBytes"] == "AAEC/w=="


def test_what_may_be_base64_text_is_answered_with_base64_text() -> None:
    reading = DIALECT.decode_request(Operation.SEND_MESSAGE, sent_file(b"AAEC/w=="))
    assert reading.answer is DIALECT


def test_a_pinned_peer_is_answered_as_it_is_pinned() -> None:
    for dialect in (V0_3_PROTO_RAW_DIALECT, V0_3Proto("base64text")):
        for content in (BINARY, b"AAEC/w=="):
            reading = dialect.decode_request(Operation.SEND_MESSAGE, sent_file(content))
            assert reading.answer is dialect


def test_a_variant_is_known_by_the_origin_of_a_task() -> None:
    assert V0_3_PROTO_DIALECT.variant("0.3-proto+raw") is V0_3_PROTO_RAW_DIALECT
    for origin in ("", "0.3-proto", "1.0", "0.3-grpc+raw"):
        assert V0_3_PROTO_DIALECT.variant(origin) is V0_3_PROTO_DIALECT


def test_streams_of_peers_with_another_habit_share_nothing() -> None:
    event = event_of(StreamResponse(task=TASK))
    raw = V0_3_PROTO_RAW_DIALECT
    assert raw.name == "0.3-proto+raw"
    assert raw.frame_writer().write(event) != DIALECT.frame_writer().write(event)
    assert raw.decode_event(raw.frame_writer().write(event)[0]).task == TASK


@given(stream_responses)
def test_a_frame_is_one_line_of_known_members(value: StreamResponse) -> None:
    for frame in DIALECT.frame_writer().write(event_of(value)):
        assert b"\n" not in frame
        (member,) = json.loads(frame)
        assert member in ("task", "message", "statusUpdate", "artifactUpdate")


@given(content=st.binary(max_size=70), pinned=st.sampled_from(["raw", "base64text"]))
def test_file_content_comes_back_from_a_pinned_peer(content: bytes, pinned: FileBytes) -> None:
    dialect = V0_3Proto(pinned)
    message = replace(MESSAGE, parts=(Part(raw=content),))
    written = dialect.encode_result(Operation.SEND_MESSAGE, message)
    assert dialect.decode_result(Operation.SEND_MESSAGE, written) == message


# --- strangers --------------------------------------------------------------------------------

_MEMBERS = {
    name
    for message in wire.Wire.__subclasses__()
    for field in msgspec.structs.fields(message)
    for name in (field.name, field.encode_name)
}
_OTHERS = {"request", "msg", "update", "result", "fileWithBytes", "fileWithUri", "schemes"}
_keys = st.sampled_from(sorted(_MEMBERS | _OTHERS))
likely_json = st.recursive(
    json_values,
    lambda inner: st.dictionaries(_keys, inner, max_size=4) | st.lists(inner, max_size=2),
)


@pytest.mark.parametrize("operation", Operation)
@given(value=likely_json)
def test_nothing_but_our_errors_comes_of_any_json(operation: Operation, value: object) -> None:
    data = msgspec.json.encode(value)
    with suppress(JSONParseError, InvalidParamsError):
        DIALECT.decode_request(operation, data)
    with suppress(JSONParseError, InvalidParamsError):
        DIALECT.decode_result(operation, data)
    with suppress(JSONParseError, InvalidParamsError):
        DIALECT.decode_event(data)
    assert isinstance(DIALECT.decode_http_error(400, data), A2AError)


@pytest.mark.parametrize("operation", Operation)
@given(fields=st.dictionaries(_keys, st.text(max_size=5), max_size=4))
def test_nothing_but_our_errors_comes_of_any_query(
    operation: Operation, fields: dict[str, str]
) -> None:
    with suppress(InvalidParamsError):
        DIALECT.decode_query(operation, fields)


@pytest.mark.parametrize("depth", [300, 900, 100_000])
def test_deep_nesting_is_refused_or_read(depth: int) -> None:
    deep = b'{"a":' * depth + b"1" + b"}" * depth
    send = b'{"message":{"messageId":"m","content":[{"text":"x"}]},"metadata":%b}' % deep
    with suppress(JSONParseError):
        DIALECT.decode_request(Operation.SEND_MESSAGE, send)
    with suppress(JSONParseError):
        DIALECT.decode_event(b'{"task":{"id":"t","status":{"state":1},"metadata":%b}}' % deep)
    task: JsonObject = {"id": "t", "status": {"state": 1}}
    with suppress(JSONParseError):
        DIALECT.decode_result(
            Operation.GET_TASK, msgspec.json.encode(task)[:-1] + b',"metadata":%b}' % deep
        )
