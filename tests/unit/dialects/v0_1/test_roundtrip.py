"""What goes down to 0.1 and up again is what it was, but for the losses that are listed."""

from typing import Final

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.dialects.v0_1.card import decode_card, encode_card
from dragoman.dialects.v0_1.codec import V0_1, V0_1_DIALECT
from dragoman.model.cards import AgentCard, AgentInterface
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    Operation,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task
from tests.losses import left
from tests.strategies import (
    agent_cards,
    artifact_update_events,
    cancel_task_requests,
    get_task_requests,
    push_configs,
    send_message_requests,
    status_update_events,
    subscribe_to_task_requests,
    task_values,
)

FORM: Final = "0.1"


@given(task_values, st.sampled_from((V0_1(), V0_1(has_kind=True))))
def test_tasks(task: Task, dialect: V0_1) -> None:
    wire = dialect.encode_result(Operation.GET_TASK, TaskDocument.of(task))
    read = V0_1_DIALECT.decode_result(Operation.GET_TASK, wire)
    assert read == left(task, FORM)


@given(status_update_events)
def test_status_events(update: TaskStatusUpdateEvent) -> None:
    event = EventDocument(1, msgspec.json.encode(StreamResponse(status_update=update)))
    (frame,) = V0_1_DIALECT.frame_writer().write(event)
    assert V0_1_DIALECT.decode_event(frame).status_update == left(update, FORM)


@given(artifact_update_events)
def test_artifact_events(update: TaskArtifactUpdateEvent) -> None:
    event = EventDocument(1, msgspec.json.encode(StreamResponse(artifact_update=update)))
    (frame,) = V0_1_DIALECT.frame_writer().write(event)
    assert V0_1_DIALECT.decode_event(frame).artifact_update == left(update, FORM)


@given(send_message_requests)
def test_sends(request: SendMessageRequest) -> None:
    wire = V0_1_DIALECT.encode_request(Operation.SEND_MESSAGE, request)
    reading = V0_1_DIALECT.decode_request(Operation.SEND_MESSAGE, wire)
    assert reading.request == left(request, FORM)
    assert reading.alias == request.message.task_id


@given(get_task_requests)
def test_gets(request: GetTaskRequest) -> None:
    wire = V0_1_DIALECT.encode_request(Operation.GET_TASK, request)
    found = V0_1_DIALECT.decode_request(Operation.GET_TASK, wire).request
    assert found == left(request, FORM)


@given(cancel_task_requests)
def test_cancels(request: CancelTaskRequest) -> None:
    wire = V0_1_DIALECT.encode_request(Operation.CANCEL_TASK, request)
    found = V0_1_DIALECT.decode_request(Operation.CANCEL_TASK, wire).request
    assert found == left(request, FORM)


@given(subscribe_to_task_requests)
def test_subscriptions(request: SubscribeToTaskRequest) -> None:
    wire = V0_1_DIALECT.encode_request(Operation.SUBSCRIBE_TO_TASK, request)
    found = V0_1_DIALECT.decode_request(Operation.SUBSCRIBE_TO_TASK, wire).request
    assert found == left(request, FORM)


@given(push_configs)
def test_webhooks(config: TaskPushNotificationConfig) -> None:
    operation = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
    expected = left(config, FORM)
    wire = V0_1_DIALECT.encode_request(operation, config)
    assert V0_1_DIALECT.decode_request(operation, wire).request == expected
    answer = V0_1_DIALECT.encode_result(operation, config)
    assert V0_1_DIALECT.decode_result(operation, answer) == expected


@given(agent_cards)
def test_cards(card: AgentCard) -> None:
    # A card has to have an address in 0.1. What becomes of its security is no matter of one member.
    ours = AgentInterface(url="u", protocol_binding="JSONRPC", protocol_version="0.1")
    card = replace(
        card, supported_interfaces=(ours,), security_schemes={}, security_requirements=()
    )
    assert decode_card(encode_card(card)) == left(card, FORM)
