"""What goes down to 0.1 and up again is what it was, but for the losses named here."""

from collections.abc import Sequence
from typing import cast

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.dialects.tolerant import media_type
from dragoman.dialects.v0_1.codec import V0_1, V0_1_DIALECT
from dragoman.model.base import JsonObject
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    Operation,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus
from tests.strategies import (
    artifact_update_events,
    cancel_task_requests,
    get_task_requests,
    push_configs,
    send_message_requests,
    status_update_events,
    subscribe_to_task_requests,
    task_values,
)

# Names that our own marks use; a sender who uses them too may see them change.
MARKS = {"a2a.v1", "mimeType", "filename"}


def part_left(part: Part) -> Part:
    is_plain_json = part.kind == "data" and part.media_type == "application/json"
    return replace(part, media_type="" if is_plain_json else part.media_type)  # json-media-type


def message_left(message: Message, task_id: str, context_id: str) -> Message:
    return replace(
        message,
        message_id="",  # message-id
        task_id=task_id,  # ids-of-messages
        context_id=context_id,
        parts=tuple(map(part_left, message.parts)),
        extensions=(),  # message-extensions
        reference_task_ids=(),  # reference-task-ids
    )


def status_left(status: TaskStatus, task_id: str, context_id: str) -> TaskStatus:
    is_auth = status.state is TaskState.AUTH_REQUIRED
    return replace(
        status,
        state=TaskState.INPUT_REQUIRED if is_auth else status.state,  # auth-required
        message=status.message and message_left(status.message, task_id, context_id),
    )


def artifact_left(artifact: Artifact, index: int) -> Artifact:
    return replace(
        artifact,
        artifact_id=f"idx-{index}",  # artifact-id
        parts=tuple(map(part_left, artifact.parts)),
        extensions=(),  # artifact-extensions
    )


def task_left(task: Task) -> Task:
    return replace(
        task,
        status=status_left(task.status, task.id, task.context_id),
        artifacts=tuple(artifact_left(item, index) for index, item in enumerate(task.artifacts)),
        history=tuple(message_left(item, task.id, task.context_id) for item in task.history),
    )


def config_left(config: TaskPushNotificationConfig, task_id: str) -> TaskPushNotificationConfig:
    return replace(config, tenant="", id="", task_id=task_id)  # tenant, push-config-id


def request_left(request: SendMessageRequest) -> SendMessageRequest:
    asked = request.configuration or SendMessageConfiguration()
    config = asked.task_push_notification_config
    return replace(
        request,
        tenant="",  # tenant
        # The name of the task is the alias of the reading.
        message=message_left(request.message, "", request.message.context_id),
        configuration=replace(
            asked,
            accepted_output_modes=tuple(map(media_type, asked.accepted_output_modes)),
            task_push_notification_config=config and config_left(config, ""),
            history_length=asked.history_length or 0,  # history-length-unset
            return_immediately=False,  # return-immediately
        ),
    )


def plain(value: object) -> object:
    """Return the JSON of a value without empty metadata and without the names of our marks."""
    return _clean(msgspec.to_builtins(value))


def _clean(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_clean(item) for item in cast("Sequence[object]", value)]
    if not isinstance(value, dict):
        return value
    cleaned = {name: _clean(item) for name, item in cast("JsonObject", value).items()}
    metadata = cleaned.pop("metadata", None)
    if isinstance(metadata, dict):  # empty-metadata, marked-metadata
        own = cast("JsonObject", metadata)
        metadata = {name: item for name, item in own.items() if name not in MARKS}
    return {**cleaned, "metadata": metadata} if metadata else cleaned


@given(task_values, st.sampled_from((V0_1(), V0_1(has_kind=True))))
def test_tasks(task: Task, dialect: V0_1) -> None:
    wire = dialect.encode_result(Operation.GET_TASK, TaskDocument.of(task))
    read = V0_1_DIALECT.decode_result(Operation.GET_TASK, wire)
    assert plain(read) == plain(task_left(task))


@given(status_update_events)
def test_status_events(update: TaskStatusUpdateEvent) -> None:
    event = EventDocument(1, msgspec.json.encode(StreamResponse(status_update=update)))
    (frame,) = V0_1_DIALECT.frame_writer().write(event)
    expected = replace(
        update,
        context_id=update.task_id,  # context-of-events
        status=status_left(update.status, update.task_id, update.task_id),
    )
    assert plain(V0_1_DIALECT.decode_event(frame).status_update) == plain(expected)


@given(artifact_update_events)
def test_artifact_events(update: TaskArtifactUpdateEvent) -> None:
    event = EventDocument(1, msgspec.json.encode(StreamResponse(artifact_update=update)))
    (frame,) = V0_1_DIALECT.frame_writer().write(event)
    expected = replace(
        update, context_id=update.task_id, artifact=artifact_left(update.artifact, 0)
    )
    assert plain(V0_1_DIALECT.decode_event(frame).artifact_update) == plain(expected)


@given(send_message_requests)
def test_sends(request: SendMessageRequest) -> None:
    wire = V0_1_DIALECT.encode_request(Operation.SEND_MESSAGE, request)
    reading = V0_1_DIALECT.decode_request(Operation.SEND_MESSAGE, wire)
    assert plain(reading.request) == plain(request_left(request))
    assert reading.alias == request.message.task_id


@given(get_task_requests)
def test_gets(request: GetTaskRequest) -> None:
    wire = V0_1_DIALECT.encode_request(Operation.GET_TASK, request)
    assert V0_1_DIALECT.decode_request(Operation.GET_TASK, wire).request == replace(
        request, tenant="", history_length=request.history_length or 0
    )


@given(cancel_task_requests)
def test_cancels(request: CancelTaskRequest) -> None:
    wire = V0_1_DIALECT.encode_request(Operation.CANCEL_TASK, request)
    found = V0_1_DIALECT.decode_request(Operation.CANCEL_TASK, wire).request
    assert found == replace(request, tenant="")


@given(subscribe_to_task_requests)
def test_subscriptions(request: SubscribeToTaskRequest) -> None:
    wire = V0_1_DIALECT.encode_request(Operation.SUBSCRIBE_TO_TASK, request)
    found = V0_1_DIALECT.decode_request(Operation.SUBSCRIBE_TO_TASK, wire).request
    assert found == replace(request, tenant="")


@given(push_configs)
def test_webhooks(config: TaskPushNotificationConfig) -> None:
    operation = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
    expected = config_left(config, config.task_id)
    wire = V0_1_DIALECT.encode_request(operation, config)
    assert V0_1_DIALECT.decode_request(operation, wire).request == expected
    answer = V0_1_DIALECT.encode_result(operation, config)
    assert V0_1_DIALECT.decode_result(operation, answer) == expected
