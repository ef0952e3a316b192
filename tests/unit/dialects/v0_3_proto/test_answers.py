"""Answers and frames, as a client reads them."""

import json

import pytest

from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.answers import (
    Written,
    decode_answer,
    decode_event,
    read_answer,
    write_answer,
)
from dragoman.dialects.v0_3_proto.decode import Decoder
from dragoman.dialects.v0_3_proto.encode import Encoder
from dragoman.errors import InvalidParamsError, JSONParseError
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
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

DECODER = Decoder(None)
NEXT = "opaque"
COMPLETED = TaskStatus(state=TaskState.COMPLETED)
TASK = Task(id="t", context_id="c", status=COMPLETED)
MESSAGE = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))
STATUS = TaskStatusUpdateEvent(task_id="t", context_id="c", status=COMPLETED)
ARTIFACT = TaskArtifactUpdateEvent(
    task_id="t",
    context_id="c",
    artifact=Artifact(artifact_id="a", parts=(Part(text="x"),)),
    append=True,
    last_chunk=True,
)
CONFIG = TaskPushNotificationConfig(task_id="t", id="c", url="u")

WIRE_TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}
WIRE_MESSAGE = {"messageId": "m", "role": "ROLE_AGENT", "content": [{"text": "x"}]}
WIRE_STATUS = {
    "taskId": "t",
    "contextId": "c",
    "status": {"state": "TASK_STATE_COMPLETED"},
    "final": True,
}
WIRE_ARTIFACT = {
    "taskId": "t",
    "contextId": "c",
    "artifact": {"artifactId": "a", "parts": [{"text": "x"}]},
    "append": True,
    "lastChunk": True,
}
WIRE_CONFIG = {
    "name": "tasks/t/pushNotificationConfigs/c",
    "pushNotificationConfig": {"id": "c", "url": "u"},
}


def event(data: object) -> StreamResponse:
    return decode_event(json.dumps(data).encode(), DECODER)


def answer(operation: Operation, data: object) -> object:
    return decode_answer(operation, json.dumps(data).encode(), DECODER)


@pytest.mark.parametrize(
    ("data", "frame"),
    [
        ({"task": WIRE_TASK}, StreamResponse(task=TASK)),
        ({"message": WIRE_MESSAGE}, StreamResponse(message=MESSAGE)),
        ({"msg": WIRE_MESSAGE}, StreamResponse(message=MESSAGE)),
        ({"statusUpdate": WIRE_STATUS}, StreamResponse(status_update=STATUS)),
        ({"status_update": WIRE_STATUS}, StreamResponse(status_update=STATUS)),
        ({"artifactUpdate": WIRE_ARTIFACT}, StreamResponse(artifact_update=ARTIFACT)),
        # A15: bare, or in result
        (WIRE_TASK, StreamResponse(task=TASK)),
        (WIRE_MESSAGE, StreamResponse(message=MESSAGE)),
        (WIRE_STATUS, StreamResponse(status_update=STATUS)),
        (WIRE_ARTIFACT, StreamResponse(artifact_update=ARTIFACT)),
        ({"result": WIRE_STATUS}, StreamResponse(status_update=STATUS)),
        ({"result": {"statusUpdate": WIRE_STATUS}}, StreamResponse(status_update=STATUS)),
        # the shape of the schema
        (
            {
                "kind": "status-update",
                "taskId": "t",
                "contextId": "c",
                "status": {"state": "completed"},
                "final": True,
            },
            StreamResponse(status_update=STATUS),
        ),
        (
            {
                "kind": "message",
                "messageId": "m",
                "role": "agent",
                "parts": [{"kind": "text", "text": "x"}],
            },
            StreamResponse(message=MESSAGE),
        ),
    ],
)
def test_a_frame_is_known_by_its_member_or_its_looks(data: object, frame: StreamResponse) -> None:
    assert event(data) == frame


@pytest.mark.parametrize("data", [{}, [], None, {"result": 1}, {"result": {}}, {"id": "t"}])
def test_what_is_no_frame_is_refused(data: object) -> None:
    with pytest.raises(InvalidParamsError):
        event(data)


def test_a_frame_over_several_lines_is_read() -> None:
    text = json.dumps({"task": WIRE_TASK}, indent=2).encode()
    assert decode_event(text, DECODER) == StreamResponse(task=TASK)


@pytest.mark.parametrize(
    ("operation", "data", "result"),
    [
        (Operation.SEND_MESSAGE, {"task": WIRE_TASK}, TASK),
        (Operation.SEND_MESSAGE, {"message": WIRE_MESSAGE}, MESSAGE),
        (Operation.SEND_MESSAGE, WIRE_TASK, TASK),
        (Operation.GET_TASK, WIRE_TASK, TASK),
        (Operation.CANCEL_TASK, WIRE_TASK, TASK),
        (
            Operation.LIST_TASKS,
            {"tasks": [WIRE_TASK], "nextPageToken": NEXT, "totalSize": 7},
            ListTasksResponse(tasks=(TASK,), next_page_token=NEXT, page_size=1, total_size=7),
        ),
        (
            Operation.LIST_TASKS,
            [WIRE_TASK],
            ListTasksResponse(tasks=(TASK,), next_page_token="", page_size=1, total_size=1),
        ),
        (
            Operation.LIST_TASKS,
            {},
            ListTasksResponse(tasks=(), next_page_token="", page_size=0, total_size=0),
        ),
        (Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG, WIRE_CONFIG, CONFIG),
        (Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, WIRE_CONFIG, CONFIG),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            {"configs": [WIRE_CONFIG]},
            ListTaskPushNotificationConfigsResponse(configs=(CONFIG,)),
        ),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            [WIRE_CONFIG],
            ListTaskPushNotificationConfigsResponse(configs=(CONFIG,)),
        ),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            {},
            ListTaskPushNotificationConfigsResponse(),
        ),
        (Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, {}, Empty()),
        (Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, None, Empty()),
    ],
)
def test_an_answer_is_read(operation: Operation, data: object, result: object) -> None:
    assert answer(operation, data) == result


def test_a_deletion_may_be_answered_by_nothing() -> None:
    nothing = decode_answer(Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, b"", DECODER)
    assert nothing == Empty()


def test_a_send_is_not_answered_by_an_update() -> None:
    with pytest.raises(InvalidParamsError):
        answer(Operation.SEND_MESSAGE, {"statusUpdate": WIRE_STATUS})


def test_the_place_of_what_is_wrong_in_a_list_is_named() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        answer(Operation.LIST_TASKS, {"tasks": [WIRE_TASK, {"id": "t"}]})
    assert caught.value.violations[0].field == "tasks[1].status"


@pytest.mark.parametrize("data", [b"", b"{", b"nope"])
def test_what_is_not_json_is_a_parse_error(data: bytes) -> None:
    with pytest.raises(JSONParseError):
        decode_answer(Operation.LIST_TASKS, data, DECODER)
    with pytest.raises(JSONParseError):
        decode_event(data, DECODER)


# --- in whatever the answers travel -------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "result", "read"),
    [
        (Operation.SEND_MESSAGE, TaskDocument.of(TASK), TASK),
        (Operation.GET_TASK, TaskDocument.of(TASK), TASK),
        (Operation.SEND_MESSAGE, MESSAGE, MESSAGE),
        (
            Operation.LIST_TASKS,
            TaskPage(
                tasks=(TaskDocument.of(TASK),), next_page_token=NEXT, page_size=5, total_size=9
            ),
            ListTasksResponse(tasks=(TASK,), next_page_token=NEXT, page_size=1, total_size=9),
        ),
        (
            Operation.LIST_TASKS,
            TaskPage(tasks=(), next_page_token="", page_size=5, total_size=0),
            ListTasksResponse(tasks=(), next_page_token="", page_size=0, total_size=0),
        ),
        (Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, CONFIG, CONFIG),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            ListTaskPushNotificationConfigsResponse(configs=(CONFIG,)),
            ListTaskPushNotificationConfigsResponse(configs=(CONFIG,)),
        ),
        (Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, Empty(), Empty()),
    ],
)
def test_what_is_written_reads_back(operation: Operation, result: Written, read: object) -> None:
    assert read_answer(write_answer(operation, result, Encoder(None)), DECODER) == read


def test_only_a_send_tells_what_it_is_answered_by() -> None:
    document = TaskDocument.of(TASK)
    sent = write_answer(Operation.SEND_MESSAGE, document, Encoder(None))
    assert isinstance(sent, wire.StreamResponse)
    assert sent.task == write_answer(Operation.GET_TASK, document, Encoder(None))
