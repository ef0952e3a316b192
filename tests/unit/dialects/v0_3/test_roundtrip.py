"""decode(encode(x)) == x, but for the losses that are named here."""

from typing import cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.dialects.v0_3.card import decode_card, encode_card
from dragoman.dialects.v0_3.codec import V0_3, V0_3_DIALECT, V0_3_TYPE_DIALECT
from dragoman.dialects.v0_3.send import decode_send
from dragoman.model.cards import AgentCard, AgentInterface
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.operations import (
    REQUEST_TYPES,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    Operation,
    Request,
    SendMessageConfiguration,
    SendMessageRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.security import OAuthFlows, SecurityScheme
from dragoman.model.tasks import Artifact, Task, TaskStatus
from tests.strategies import (
    BY_TYPE,
    agent_cards,
    list_push_configs_responses,
    message_values,
    names,
    push_configs,
    send_message_requests,
    stream_responses,
    task_values,
)

FORMS = [V0_3_DIALECT, V0_3_TYPE_DIALECT]


# --- what is lost -------------------------------------------------------------------------------


def kept_part(part: Part) -> Part:
    # data-json-media-type: what data is taken for anyway.
    if part.data is not UNSET and part.media_type == "application/json":
        part = replace(part, media_type="")
    described = part.kind in ("text", "data") and bool(part.media_type or part.filename)
    wrapped = part.data is not UNSET and not isinstance(part.data, dict)
    # empty-part-metadata: where a mark was put into it and taken out again.
    return replace(part, metadata=part.metadata or None) if described or wrapped else part


def kept_message(message: Message) -> Message:
    return replace(message, parts=tuple(kept_part(part) for part in message.parts))


def kept_status(status: TaskStatus) -> TaskStatus:
    return replace(status, message=status.message and kept_message(status.message))


def kept_artifact(artifact: Artifact) -> Artifact:
    return replace(artifact, parts=tuple(kept_part(part) for part in artifact.parts))


def kept_task(task: Task) -> Task:
    return replace(
        task,
        # empty-context-id: it is required here.
        context_id=task.context_id or task.id,
        status=kept_status(task.status),
        artifacts=tuple(kept_artifact(artifact) for artifact in task.artifacts),
        history=tuple(kept_message(message) for message in task.history),
    )


def kept_config(config: TaskPushNotificationConfig) -> TaskPushNotificationConfig:
    return replace(config, tenant="")


def kept_configuration(found: SendMessageConfiguration | None) -> SendMessageConfiguration:
    # absent-configuration: whether to wait is always said.
    found = found or SendMessageConfiguration()
    push = found.task_push_notification_config
    return replace(
        found,
        # history-length-zero: it would mean something else.
        history_length=found.history_length or None,
        # push-config-task-id: implied by the send.
        task_push_notification_config=push and replace(kept_config(push), task_id=""),
    )


def kept_request(request: Request) -> Request:
    request = replace(request, tenant="")  # tenant
    if isinstance(request, SendMessageRequest):
        return replace(
            request,
            message=kept_message(request.message),
            configuration=kept_configuration(request.configuration),
        )
    if isinstance(request, ListTaskPushNotificationConfigsRequest):
        return replace(request, page_size=0, page_token="")  # push-config-paging
    if isinstance(request, GetTaskRequest | ListTasksRequest):
        return replace(request, history_length=request.history_length or None)
    return request


def kept_event(event: StreamResponse) -> StreamResponse:
    status, artifact = event.status_update, event.artifact_update
    return StreamResponse(
        task=event.task and kept_task(event.task),
        message=event.message and kept_message(event.message),
        status_update=status and replace(status, status=kept_status(status.status)),
        artifact_update=artifact and replace(artifact, artifact=kept_artifact(artifact.artifact)),
    )


# --- what is kept -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(task=task_values)
def test_tasks_read_back(form: V0_3, task: Task) -> None:
    wire = form.encode_result(Operation.GET_TASK, TaskDocument.of(task))
    assert form.decode_result(Operation.GET_TASK, wire) == kept_task(task)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(message=message_values)
def test_messages_read_back(form: V0_3, message: Message) -> None:
    wire = form.encode_result(Operation.SEND_MESSAGE, message)
    assert form.decode_result(Operation.SEND_MESSAGE, wire) == kept_message(message)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(event=stream_responses)
def test_events_read_back(form: V0_3, event: StreamResponse) -> None:
    first, *rest = form.frame_writer().write(EventDocument(1, msgspec.json.encode(event)))
    assert form.decode_event(first) == kept_event(event)
    for last in rest:
        assert event.task is not None
        read = form.decode_event(last).status_update
        assert read is not None
        assert read.status == kept_status(event.task.status)


@pytest.mark.parametrize("operation", Operation)
@given(data=st.data())
def test_requests_read_back(operation: Operation, data: st.DataObject) -> None:
    request = cast("Request", data.draw(BY_TYPE[REQUEST_TYPES[operation]]))
    wire = V0_3_DIALECT.encode_request(operation, request)
    assert V0_3_DIALECT.decode_request(operation, wire).request == kept_request(request)


@given(send_message_requests)
def test_the_tolerant_reader_agrees_with_the_typed_one(request_: SendMessageRequest) -> None:
    wire = V0_3_DIALECT.encode_request(Operation.SEND_MESSAGE, request_)
    # A proto name anywhere sends it the slow way.
    assert decode_send(wire[:-1] + b',"x":{"task_id":""}}') == decode_send(wire)


@given(push_configs)
def test_webhooks_read_back(config: TaskPushNotificationConfig) -> None:
    operation = Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
    wire = V0_3_DIALECT.encode_result(operation, config)
    assert V0_3_DIALECT.decode_result(operation, wire) == kept_config(config)


@given(list_push_configs_responses)
def test_lists_of_webhooks_read_back(found: ListTaskPushNotificationConfigsResponse) -> None:
    operation = Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS
    wire = V0_3_DIALECT.encode_result(operation, found)
    kept = tuple(kept_config(config) for config in found.configs)
    expected = ListTaskPushNotificationConfigsResponse(configs=kept)
    assert V0_3_DIALECT.decode_result(operation, wire) == expected


def kept_scheme(scheme: SecurityScheme) -> SecurityScheme:
    found = scheme.oauth2_security_scheme
    if found is None or found.flows.authorization_code is None:
        return scheme
    # oauth-pkce-required.
    code = replace(found.flows.authorization_code, pkce_required=False)
    flows = OAuthFlows(authorization_code=code)
    return SecurityScheme(oauth2_security_scheme=replace(found, flows=flows))


def has_device_code(scheme: SecurityScheme) -> bool:
    found = scheme.oauth2_security_scheme
    return found is not None and found.flows.device_code is not None


@given(agent_cards, names, names)
def test_cards_read_back(card: AgentCard, url: str, binding: str) -> None:
    # card-interfaces: only those of 0.3 without a tenant.
    only = AgentInterface(url=url, protocol_binding=binding, protocol_version="0.3")
    # oauth-device-code: it has no place.
    schemes = {
        name: scheme
        for name, scheme in card.security_schemes.items()
        if not has_device_code(scheme)
    }
    card = replace(card, supported_interfaces=(only,), security_schemes=schemes)
    kept = {name: kept_scheme(scheme) for name, scheme in schemes.items()}
    # card-signatures: they are made over another form.
    expected = replace(card, signatures=(), security_schemes=kept)
    assert decode_card(encode_card(card)) == expected
