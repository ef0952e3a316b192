"""decode(encode(x)) == x, but for the losses that are listed."""

from typing import Final, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
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
    ListTaskPushNotificationConfigsResponse,
    Operation,
    Request,
    SendMessageRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task
from tests.losses import left
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
FORM: Final = "0.3"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(task=task_values)
def test_tasks_read_back(form: V0_3, task: Task) -> None:
    wire = form.encode_result(Operation.GET_TASK, TaskDocument.of(task))
    assert form.decode_result(Operation.GET_TASK, wire) == left(task, FORM)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(message=message_values)
def test_messages_read_back(form: V0_3, message: Message) -> None:
    wire = form.encode_result(Operation.SEND_MESSAGE, message)
    assert form.decode_result(Operation.SEND_MESSAGE, wire) == left(message, FORM)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
@given(event=stream_responses)
def test_events_read_back(form: V0_3, event: StreamResponse) -> None:
    first, *rest = form.frame_writer().write(EventDocument(1, msgspec.json.encode(event)))
    assert form.decode_event(first) == left(event, FORM)
    for last in rest:
        assert event.task is not None
        read = form.decode_event(last).status_update
        assert read is not None
        assert read.status == left(event.task.status, FORM)


@pytest.mark.parametrize("operation", Operation)
@given(data=st.data())
def test_requests_read_back(operation: Operation, data: st.DataObject) -> None:
    request = cast("Request", data.draw(BY_TYPE[REQUEST_TYPES[operation]]))
    wire = V0_3_DIALECT.encode_request(operation, request)
    assert V0_3_DIALECT.decode_request(operation, wire).request == left(request, FORM)


@given(send_message_requests)
def test_the_tolerant_reader_agrees_with_the_typed_one(request_: SendMessageRequest) -> None:
    wire = V0_3_DIALECT.encode_request(Operation.SEND_MESSAGE, request_)
    # A proto name anywhere sends it the slow way.
    assert decode_send(wire[:-1] + b',"x":{"task_id":""}}') == decode_send(wire)


@given(push_configs)
def test_webhooks_read_back(config: TaskPushNotificationConfig) -> None:
    operation = Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
    wire = V0_3_DIALECT.encode_result(operation, config)
    assert V0_3_DIALECT.decode_result(operation, wire) == left(config, FORM)


@given(list_push_configs_responses)
def test_lists_of_webhooks_read_back(found: ListTaskPushNotificationConfigsResponse) -> None:
    operation = Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS
    wire = V0_3_DIALECT.encode_result(operation, found)
    assert V0_3_DIALECT.decode_result(operation, wire) == left(found, FORM)


@given(agent_cards, names, names)
def test_cards_read_back(card: AgentCard, url: str, binding: str) -> None:
    # A card has to have an address in 0.3.
    only = AgentInterface(url=url, protocol_binding=binding, protocol_version="0.3")
    card = replace(card, supported_interfaces=(only,))
    assert decode_card(encode_card(card)) == left(card, FORM)
