from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.dialects.v0_1.methods import CALLS
from dragoman.errors import FieldViolation, InvalidParamsError, JSONParseError, TaskNotFoundError
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Empty, ListTaskPushNotificationConfigsResponse, Operation
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus
from tests.support.strategies import json_values


def wire(data: object) -> bytes:
    return data.encode() if isinstance(data, str) else msgspec.json.encode(data)


def read_task(data: object) -> Task:
    task = V0_1_DIALECT.decode_result(Operation.GET_TASK, wire(data))
    assert isinstance(task, Task)
    return task


def read_event(data: object) -> StreamResponse:
    return V0_1_DIALECT.decode_event(wire(data))


def refusal(data: str) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        read_task(data)
    (violation,) = caught.value.violations
    return violation


# --- tasks --------------------------------------------------------------------------------------


def test_the_sample_answer() -> None:
    assert read_task(
        '{"id":"t-9","sessionId":"s-1","status":{"state":"completed",'
        '"timestamp":"2025-05-01T10:00:00.000Z"},'
        '"artifacts":[{"index":0,"parts":[{"type":"text","text":"ok"}]}]}'
    ) == Task(
        id="t-9",
        context_id="s-1",
        status=TaskStatus(state=TaskState.COMPLETED, timestamp="2025-05-01T10:00:00.000Z"),
        artifacts=(Artifact(artifact_id="idx-0", parts=(Part(text="ok"),)),),
    )


def test_messages_belong_to_the_task_they_are_in() -> None:
    task = read_task(
        '{"id":"t","sessionId":"s","status":{"state":"input-required","message":{"role":"agent",'
        '"parts":[{"text":"which?"}]}},"history":[{"role":"user","parts":[{"type":"text",'
        '"text":"hi"}],"metadata":{"k":1}}]}'
    )
    assert task.status.message == Message(
        message_id="", task_id="t", context_id="s", role=Role.AGENT, parts=(Part(text="which?"),)
    )
    assert task.history == (
        Message(
            message_id="",
            task_id="t",
            context_id="s",
            role=Role.USER,
            parts=(Part(text="hi"),),
            metadata={"k": 1},
        ),
    )


def test_nulls_are_absent() -> None:
    assert read_task(
        '{"id":"t","sessionId":null,"status":{"state":"working","message":null,"timestamp":null},'
        '"artifacts":null,"history":null,"metadata":null}'
    ) == Task(id="t", status=TaskStatus(state=TaskState.WORKING))


@pytest.mark.parametrize(
    ("text", "timestamp"),
    [
        # The Python reference server writes local time without an offset.
        ("2025-05-01T10:00:00.123456", "2025-05-01T10:00:00.123Z"),
        ("2025-05-01T12:00:00+02:00", "2025-05-01T10:00:00.000Z"),
        ("yesterday", None),
    ],
)
def test_times(text: str, timestamp: str | None) -> None:
    task = read_task({"id": "t", "status": {"state": "working", "timestamp": text}})
    assert task.status.timestamp == timestamp


def test_artifacts_of_one_index_are_told_apart() -> None:
    parts = [{"type": "text", "text": "x"}]
    artifacts = [
        {"parts": parts},
        {"index": 0, "parts": parts},
        {"index": 2, "parts": parts},
        {"index": 0, "parts": parts},
    ]
    task = read_task({"id": "t", "status": {"state": "working"}, "artifacts": artifacts})
    assert [artifact.artifact_id for artifact in task.artifacts] == [
        "idx-0",
        "idx-0-1",
        "idx-2",
        "idx-0-2",
    ]


@pytest.mark.parametrize(
    ("state", "metadata", "read", "left"),
    [
        ("failed", {"a2a.state": "rejected"}, TaskState.REJECTED, None),
        ("failed", {"a2a.state": "rejected", "k": 1}, TaskState.REJECTED, {"k": 1}),
        ("failed", {"k": 1}, TaskState.FAILED, {"k": 1}),
        ("failed", {"a2a.state": 5}, TaskState.FAILED, {"a2a.state": 5}),
        # The mark says nothing about any other state.
        ("working", {"a2a.state": "rejected"}, TaskState.WORKING, {"a2a.state": "rejected"}),
    ],
)
def test_a_marked_failure_is_a_rejection(
    state: str, metadata: dict[str, object], read: TaskState, left: dict[str, object] | None
) -> None:
    task = read_task({"id": "t", "status": {"state": state}, "metadata": metadata})
    assert (task.status.state, task.metadata) == (read, left)


@pytest.mark.parametrize(
    ("data", "field", "description"),
    [
        ("null", "", "expected object, got null"),
        ('{"status":{"state":"working"}}', "id", "is required"),
        ('{"id":"t"}', "status", "is required"),
        ('{"id":"t","status":{}}', "status.state", "is required"),
        ('{"id":"t","status":{"state":""}}', "status.state", "must not be empty"),
        (
            '{"id":"t","status":{"state":"working"},"artifacts":[{"index":-1,"parts":[]}]}',
            "artifacts[0].index",
            "must be between 0 and 2147483647",
        ),
    ],
)
def test_what_is_no_task_is_refused_by_path(data: str, field: str, description: str) -> None:
    assert refusal(data) == FieldViolation(field, description)


# --- webhooks -----------------------------------------------------------------------------------

HOOK = '{"id":"t","pushNotificationConfig":{"url":"u"}}'
CONFIG = TaskPushNotificationConfig(task_id="t", url="u")


@pytest.mark.parametrize(
    "operation",
    [
        Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
    ],
)
def test_a_webhook_is_read(operation: Operation) -> None:
    assert V0_1_DIALECT.decode_result(operation, HOOK.encode()) == CONFIG


@pytest.mark.parametrize(
    ("data", "configs"),
    [
        (HOOK, (CONFIG,)),
        ('{"id":"t","pushNotificationConfig":null}', ()),
        ('{"id":"t","pushNotificationConfig":{}}', ()),
        ("null", ()),
    ],
)
def test_the_webhooks_of_a_task_are_one_or_none(
    data: str, configs: tuple[TaskPushNotificationConfig, ...]
) -> None:
    assert V0_1_DIALECT.decode_result(
        Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, data.encode()
    ) == ListTaskPushNotificationConfigsResponse(configs=configs)


@pytest.mark.parametrize("data", [b"null", b'{"id":"t","pushNotificationConfig":null}'])
def test_a_task_without_a_webhook_has_none_to_show(data: bytes) -> None:
    with pytest.raises(TaskNotFoundError):
        V0_1_DIALECT.decode_result(Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, data)


def test_a_cleared_webhook_leaves_nothing() -> None:
    operation = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG
    assert V0_1_DIALECT.decode_result(operation, b"null") == Empty()


# --- events -------------------------------------------------------------------------------------


def test_a_status_event() -> None:
    assert read_event(
        '{"id":"t","status":{"state":"completed"},"final":true,"metadata":{"k":1}}'
    ) == StreamResponse(
        status_update=TaskStatusUpdateEvent(
            task_id="t",
            context_id="t",
            status=TaskStatus(state=TaskState.COMPLETED),
            metadata={"k": 1},
        )
    )


def test_an_artifact_event() -> None:
    assert read_event(
        '{"id":"t","artifact":{"index":3,"name":"n","append":true,"lastChunk":true,'
        '"parts":[{"type":"text","text":"k"}]},"final":false,"metadata":{"k":1}}'
    ) == StreamResponse(
        artifact_update=TaskArtifactUpdateEvent(
            task_id="t",
            context_id="t",
            artifact=Artifact(artifact_id="idx-3", name="n", parts=(Part(text="k"),)),
            append=True,
            last_chunk=True,
            metadata={"k": 1},
        )
    )


@pytest.mark.parametrize("chunk", [{}, {"append": None, "lastChunk": None}, {"append": False}])
def test_an_artifact_event_replaces_unless_it_appends(chunk: dict[str, object]) -> None:
    event = read_event({"id": "t", "artifact": {**chunk, "parts": [{"text": "k"}]}})
    assert event.artifact_update is not None
    assert event.artifact_update.artifact.artifact_id == "idx-0"
    assert not event.artifact_update.append
    assert not event.artifact_update.last_chunk


def test_a_whole_task_in_a_stream_is_a_task() -> None:
    event = read_event('{"id":"t","sessionId":"s","status":{"state":"working"}}')
    assert event.task == Task(id="t", context_id="s", status=TaskStatus(state=TaskState.WORKING))


@pytest.mark.parametrize(
    "data", ["{}", '{"id":"t"}', '{"status":{"state":"working"}}', '{"artifact":{"parts":[]}}']
)
def test_what_is_no_event_is_refused(data: str) -> None:
    with pytest.raises(InvalidParamsError):
        read_event(data)


# --- anything -----------------------------------------------------------------------------------

_names = st.sampled_from(
    (
        *("id", "sessionId", "status", "state", "message", "timestamp", "artifacts", "artifact"),
        *("history", "metadata", "index", "name", "append", "lastChunk", "parts", "text", "role"),
        *("pushNotificationConfig", "url", "authentication", "schemes", "type", "a2a.state"),
    )
)
_leaves = json_values | st.sampled_from(("t", "working", "failed", "rejected", "text", 0))
_answers = st.recursive(
    _leaves,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_names, inner, max_size=5)
        | st.fixed_dictionaries({"id": st.just("t"), "status": inner}, optional={"metadata": inner})
        | st.fixed_dictionaries({"id": st.just("t"), "artifact": inner})
    ),
    max_leaves=12,
)


@given(st.sampled_from(tuple(CALLS)), _answers)
def test_any_answer_raises_a2a_errors_only(operation: Operation, answer: object) -> None:
    data = msgspec.json.encode(answer)
    # A task without a webhook is told as 1.0 tells it.
    with suppress(JSONParseError, InvalidParamsError, TaskNotFoundError):
        V0_1_DIALECT.decode_result(operation, data)
    with suppress(JSONParseError, InvalidParamsError):
        V0_1_DIALECT.decode_event(data)


@given(st.binary(max_size=40))
def test_any_bytes_raise_a2a_errors_only(data: bytes) -> None:
    with suppress(JSONParseError, InvalidParamsError):
        V0_1_DIALECT.decode_event(data)
