"""model -> wire -> model is the same value in every form of 0.x, but for the listed losses.

The JSON of 1.0 loses nothing, and 1.0 over gRPC has its round trips beside its other tests.
"""

from typing import Final, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman.dialects.base import Dialect
from dragoman.dialects.v0_1.codec import V0_1
from dragoman.dialects.v0_1.methods import METHODS
from dragoman.dialects.v0_3.codec import V0_3_TYPE_DIALECT
from dragoman.model.cards import AgentCard, AgentInterface
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.operations import (
    REQUEST_TYPES,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    Operation,
    Request,
    SendMessageRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task
from tests.support.dialects.carrying import DIALECTS, OLD, card_back
from tests.support.losses import Form, left
from tests.support.strategies import (
    BY_TYPE,
    agent_cards,
    list_push_configs_responses,
    message_values,
    push_configs,
    send_message_requests,
    stream_responses,
    task_values,
)

SEND: Final = Operation.SEND_MESSAGE
LIST: Final = Operation.LIST_TASKS
LIST_HOOKS: Final = Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS

SPEAKERS: Final[list[tuple[Dialect, Form]]] = [
    *((DIALECTS[form], form) for form in OLD),
    # For peers that mix versions: they get one discriminator beside the other.
    (V0_1(has_kind=True), "0.1"),
    (V0_3_TYPE_DIALECT, "0.3"),
]
"""Each form as its dialects speak it."""

in_all_forms: Final = pytest.mark.parametrize(
    ("dialect", "form"), SPEAKERS, ids=[dialect.name for dialect, _ in SPEAKERS]
)
# 0.1 has no lists, and no answers without a task.
since_0_2: Final = pytest.mark.parametrize("form", OLD[1:])

REQUESTS: Final = [
    (form, operation)
    for form in OLD
    for operation in Operation
    if form != "0.1" or operation in METHODS.values()
]


@pytest.mark.parametrize(("form", "operation"), REQUESTS)
@given(data=st.data())
def test_requests_read_back(form: Form, operation: Operation, data: st.DataObject) -> None:
    request = cast("Request", data.draw(BY_TYPE[REQUEST_TYPES[operation]]))
    written = DIALECTS[form].encode_request(operation, request)
    assert DIALECTS[form].decode_request(operation, written).request == left(request, form)


@given(send_message_requests)
def test_the_task_of_a_send_in_0_1_is_its_alias(request: SendMessageRequest) -> None:
    written = DIALECTS["0.1"].encode_request(SEND, request)
    assert DIALECTS["0.1"].decode_request(SEND, written).alias == request.message.task_id


@in_all_forms
@given(task=task_values)
def test_tasks_read_back(dialect: Dialect, form: Form, task: Task) -> None:
    document, expected = TaskDocument.of(task), left(task, form)
    for operation in (SEND, Operation.GET_TASK, Operation.CANCEL_TASK):
        if form == "0.1" and operation is Operation.CANCEL_TASK:
            expected = replace(expected, history=())  # canceled-history
        written = dialect.encode_result(operation, document)
        assert dialect.decode_result(operation, written) == expected


@since_0_2
@given(message=message_values)
def test_direct_answers_read_back(form: Form, message: Message) -> None:
    written = DIALECTS[form].encode_result(SEND, message)
    assert DIALECTS[form].decode_result(SEND, written) == left(message, form)


@in_all_forms
@given(event=stream_responses)
def test_events_read_back(dialect: Dialect, form: Form, event: StreamResponse) -> None:
    frames = dialect.frame_writer().write(EventDocument(1, msgspec.json.encode(event)))
    if form == "0.1" and (event.task or event.message):
        return  # task-on-stream, direct-message: there is no such event
    read = dialect.decode_event(frames[0])
    assert read == left(event, form)
    for last in frames[1:]:  # A task that has stopped is followed by its status.
        update = dialect.decode_event(last).status_update
        assert update is not None
        assert read.task is not None
        assert update.status == read.task.status


@pytest.mark.parametrize("form", OLD)
@given(config=push_configs)
def test_webhooks_read_back(form: Form, config: TaskPushNotificationConfig) -> None:
    operation = Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
    written = DIALECTS[form].encode_result(operation, config)
    assert DIALECTS[form].decode_result(operation, written) == left(config, form)


@since_0_2
@given(found=list_push_configs_responses)
def test_lists_of_webhooks_read_back(
    form: Form, found: ListTaskPushNotificationConfigsResponse
) -> None:
    written = DIALECTS[form].encode_result(LIST_HOOKS, found)
    assert DIALECTS[form].decode_result(LIST_HOOKS, written) == left(found, form)


@since_0_2
@given(tasks=st.lists(task_values, max_size=2).map(tuple))
def test_pages_read_back(form: Form, tasks: tuple[Task, ...]) -> None:
    found = ListTasksResponse(tasks=tasks, next_page_token="", page_size=50, total_size=7)
    documents = tuple(map(TaskDocument.of, tasks))
    page = TaskPage(tasks=documents, next_page_token="", page_size=50, total_size=7)
    written = DIALECTS[form].encode_result(LIST, page)
    assert DIALECTS[form].decode_result(LIST, written) == left(found, form)


@pytest.mark.parametrize("form", OLD)
@given(card=agent_cards)
def test_cards_read_back(form: Form, card: AgentCard) -> None:
    # A card without an address is none.
    ours = AgentInterface(url="u", protocol_binding="JSONRPC", protocol_version=form[:3])
    card = replace(card, supported_interfaces=(ours,))
    if form == "0.1":
        # security-details and its like: what becomes of them is no matter of one member.
        card = replace(card, security_schemes={}, security_requirements=())
    assert card_back(form, card) == left(card, form)
