import msgspec
import pytest
from hypothesis import given

from dragoman.dialects.v0_3.answers import decode_event, decode_result
from dragoman.errors import A2AError, FieldViolation, InvalidParamsError, JSONParseError
from dragoman.model.base import JsonObject
from dragoman.model.events import (
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    Empty,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    Operation,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus
from tests.support.strategies import json_objects, json_values

SEND = Operation.SEND_MESSAGE
UNARY = [
    operation
    for operation in Operation
    if operation not in (Operation.SEND_STREAMING_MESSAGE, Operation.SUBSCRIBE_TO_TASK)
]
TASK: JsonObject = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}
READ_TASK = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING))
MESSAGE: JsonObject = {
    "kind": "message",
    "messageId": "m",
    "role": "agent",
    "parts": [{"kind": "text", "text": "x"}],
}
READ_MESSAGE = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))
UPDATE: JsonObject = {
    "kind": "status-update",
    "taskId": "t",
    "contextId": "c",
    "status": {"state": "completed"},
    "final": True,
}
READ_UPDATE = TaskStatusUpdateEvent(
    task_id="t", context_id="c", status=TaskStatus(state=TaskState.COMPLETED)
)
CHUNK: JsonObject = {
    "kind": "artifact-update",
    "taskId": "t",
    "contextId": "c",
    "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "x"}]},
    "append": True,
    "lastChunk": True,
}
READ_CHUNK = TaskArtifactUpdateEvent(
    task_id="t",
    context_id="c",
    artifact=Artifact(artifact_id="a", parts=(Part(text="x"),)),
    append=True,
    last_chunk=True,
)
CONFIG: JsonObject = {"taskId": "t", "pushNotificationConfig": {"url": "u"}}
READ_CONFIG = TaskPushNotificationConfig(task_id="t", url="u")


def without(members: JsonObject, *names: str) -> JsonObject:
    return {name: value for name, value in members.items() if name not in names}


def result(operation: Operation, value: object) -> object:
    return decode_result(operation, msgspec.json.encode(value))


def event(value: object) -> StreamResponse:
    return decode_event(msgspec.json.encode(value))


# --- events -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (TASK, StreamResponse(task=READ_TASK)),
        (MESSAGE, StreamResponse(message=READ_MESSAGE)),
        (UPDATE, StreamResponse(status_update=READ_UPDATE)),
        (CHUNK, StreamResponse(artifact_update=READ_CHUNK)),
        # 5.9: without a kind.
        (without(TASK, "kind"), StreamResponse(task=READ_TASK)),
        (without(MESSAGE, "kind"), StreamResponse(message=READ_MESSAGE)),
        (without(UPDATE, "kind"), StreamResponse(status_update=READ_UPDATE)),
        (without(UPDATE, "kind", "final"), StreamResponse(status_update=READ_UPDATE)),
        (without(CHUNK, "kind"), StreamResponse(artifact_update=READ_CHUNK)),
        # Wrapped (4.5, 8.2 A15).
        ({"result": TASK}, StreamResponse(task=READ_TASK)),
        ({"task": without(TASK, "kind")}, StreamResponse(task=READ_TASK)),
        ({"result": {"message": MESSAGE}}, StreamResponse(message=READ_MESSAGE)),
        ({"statusUpdate": without(UPDATE, "kind")}, StreamResponse(status_update=READ_UPDATE)),
        ({"artifactUpdate": CHUNK}, StreamResponse(artifact_update=READ_CHUNK)),
    ],
)
def test_an_event_is_known_by_its_kind_or_its_members(value: object, read: StreamResponse) -> None:
    assert event(value) == read


def test_a_context_that_is_missing_is_called_like_the_task() -> None:
    read = event(without(UPDATE, "contextId"))
    assert read.status_update is not None
    assert read.status_update.context_id == "t"


def test_an_artifact_without_an_id_is_called_by_its_index() -> None:
    chunk = {**CHUNK, "artifact": {"index": 3, "parts": [{"type": "text", "text": "x"}]}}
    read = event(chunk)
    assert read.artifact_update is not None
    assert read.artifact_update.artifact.artifact_id == "idx-3"


def test_a_last_chunk_may_hold_nothing() -> None:
    read = event({**CHUNK, "artifact": {"artifactId": "a", "parts": []}})
    assert read.artifact_update is not None
    assert read.artifact_update.artifact.parts == (Part(text=""),)


def test_a_part_alone_is_a_chunk() -> None:  # 8.2 A6
    value = {
        "kind": "artifact-update",
        "taskId": "t",
        "index": 2,
        "part": {"kind": "text", "text": "x", "index": 2, "append": True},
        "timestamp": "2025-05-01T10:00:00Z",
    }
    assert event(value).artifact_update == TaskArtifactUpdateEvent(
        task_id="t",
        context_id="t",
        artifact=Artifact(artifact_id="idx-2", parts=(Part(text="x"),)),
        append=True,
    )


# --- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "value", "read"),
    [
        (SEND, TASK, READ_TASK),
        (SEND, MESSAGE, READ_MESSAGE),
        (SEND, {"task": TASK}, READ_TASK),
        (SEND, {"message": without(MESSAGE, "kind")}, READ_MESSAGE),
        (Operation.GET_TASK, without(TASK, "kind"), READ_TASK),
        (Operation.CANCEL_TASK, TASK, READ_TASK),
        (Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, None, Empty()),
        (Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG, CONFIG, READ_CONFIG),
        (Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, CONFIG, READ_CONFIG),
        (
            *(Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, [CONFIG]),
            ListTaskPushNotificationConfigsResponse(configs=(READ_CONFIG,)),
        ),
        (
            *(Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, {"configs": [CONFIG]}),
            ListTaskPushNotificationConfigsResponse(configs=(READ_CONFIG,)),
        ),
        (
            *(Operation.LIST_TASKS, [TASK]),
            ListTasksResponse(tasks=(READ_TASK,), next_page_token="", page_size=1, total_size=1),
        ),
        (
            *(Operation.LIST_TASKS, {"tasks": [], "totalSize": 9, "pageSize": 5}),
            ListTasksResponse(tasks=(), next_page_token="", page_size=5, total_size=9),
        ),
    ],
)
def test_results_are_read(operation: Operation, value: object, read: object) -> None:
    assert result(operation, value) == read


def test_delete_may_be_answered_by_nothing() -> None:
    assert decode_result(Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, b"") == Empty()


def test_a_task_is_read_with_all_its_members() -> None:
    value = {
        **TASK,
        "status": {"state": "done", "message": MESSAGE, "timestamp": "2025-05-01T12:00:00+02:00"},
        "artifacts": [
            {"index": 0, "parts": [{"type": "text", "text": "x"}]},
            {"parts": [{"type": "text", "text": "x"}], "name": "n"},
        ],
        "history": [without(MESSAGE, "role")],
        "metadata": {"k": 1},
    }
    assert result(SEND, value) == Task(
        id="t",
        context_id="c",
        status=TaskStatus(
            state=TaskState.COMPLETED,
            message=READ_MESSAGE,
            timestamp="2025-05-01T10:00:00.000Z",
        ),
        artifacts=(
            Artifact(artifact_id="idx-0", parts=(Part(text="x"),)),
            Artifact(artifact_id="idx-1", parts=(Part(text="x"),), name="n"),
        ),
        history=(READ_MESSAGE,),
        metadata={"k": 1},
    )


@pytest.mark.parametrize("timestamp", ["soon", 5, None])
def test_a_time_that_is_none_is_left_out(timestamp: object) -> None:
    value = {**TASK, "status": {"state": "working", "timestamp": timestamp}}
    assert result(SEND, value) == READ_TASK


@pytest.mark.parametrize(
    ("value", "field", "description"),
    [
        ({}, "id", "is required"),
        (without(TASK, "status"), "status", "is required"),
        ({**TASK, "status": {}}, "status.state", "is required"),
        ({**TASK, "status": {"state": ""}}, "status.state", "must not be empty"),
        (without(CHUNK, "artifact"), "artifact", "is required"),
        (
            {"result": {**TASK, "history": [5]}},
            *("result.history[0]", "expected object, got integer"),
        ),
    ],
)
def test_what_is_wrong_is_named(value: object, field: str, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        event(value)
    assert caught.value.violations == (FieldViolation(field, description),)


def test_what_is_not_json_is_a_parse_error() -> None:
    with pytest.raises(JSONParseError):
        decode_event(b"{")


@pytest.mark.parametrize("operation", UNARY)
@given(value=json_values, members=json_objects)
def test_whatever_json_comes_nothing_else_is_raised(
    operation: Operation, value: object, members: JsonObject
) -> None:
    for found in (value, members, {**TASK, **members}, {**TASK, "status": value}):
        try:
            result(operation, found)
            event(found)
        except A2AError:
            continue
