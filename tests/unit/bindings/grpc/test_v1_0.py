from contextlib import suppress
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.base import GrpcDialect, GrpcStatus
from dragoman.bindings.grpc.v1_0 import V1_0_GRPC
from dragoman.bindings.grpc.well_known import Proto
from dragoman.dialects.base import Result
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import (
    A2AError,
    FieldViolation,
    InvalidParamsError,
    InvalidRequestError,
    TaskNotFoundError,
)
from dragoman.model.cards import AgentCard
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    REQUEST_TYPES,
    Empty,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    Operation,
    Request,
    SendMessageRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task
from tests.support.losses import left
from tests.support.strategies import (
    BY_TYPE,
    agent_cards,
    list_push_configs_responses,
    message_values,
    push_configs,
    stream_responses,
    task_values,
)

DIALECT: GrpcDialect = V1_0_GRPC
FORM: Final = "1.0-grpc"

SEND = Operation.SEND_MESSAGE


def proto(name: str) -> Proto:
    return message_class(f"lf.a2a.v1.{name}")()


def refusal(operation: Operation, message: Proto) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        DIALECT.decode_request(operation, message.SerializeToString())
    (violation,) = caught.value.violations
    return violation


@pytest.mark.requirement("R-10.1-2")
def test_it_has_no_variants() -> None:
    assert DIALECT.variant("0.3-grpc+raw") is DIALECT


def test_its_service_is_that_of_the_protocol() -> None:
    assert DIALECT.service == "lf.a2a.v1.A2AService"
    assert DIALECT.name == V1_0_DIALECT.name
    assert (DIALECT.has_final, DIALECT.has_messages) == (False, True)


# --- requests -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-10.1-3", "R-5.1-1")
@pytest.mark.parametrize("operation", Operation)
@given(data=st.data())
def test_every_request_reads_back(operation: Operation, data: st.DataObject) -> None:
    request = data.draw(BY_TYPE[REQUEST_TYPES[operation]])
    assert isinstance(request, Request)
    reading = DIALECT.decode_request(operation, DIALECT.encode_request(operation, request))
    assert reading.request == left(request, FORM)
    assert reading.answer is DIALECT
    assert reading.alias == ""


def test_a_request_is_read_from_what_a_peer_writes() -> None:
    request = proto("SendMessageRequest")
    request.tenant = "x"
    request.message.message_id = "m-1"
    request.message.role = 1
    request.message.parts.add().text = ""
    request.message.parts.add().data.null_value = 0
    request.message.parts.add(raw=b"\x00\xff", filename="f", media_type="x/y")
    request.configuration.history_length = 0
    request.configuration.accepted_output_modes.append("text/plain")
    request.metadata["k"] = 2
    read = DIALECT.decode_request(SEND, request.SerializeToString()).request
    assert isinstance(read, SendMessageRequest)
    assert read.tenant == "x"
    assert read.message == Message(
        message_id="m-1",
        role=Role.USER,
        parts=(
            Part(text=""),
            Part(data=None),
            Part(raw=b"\x00\xff", filename="f", media_type="x/y"),
        ),
    )
    assert read.configuration is not None
    assert read.configuration.history_length == 0
    assert read.metadata == {"k": 2}


def test_what_a_request_lacks_is_named_as_in_json() -> None:
    request = proto("SendMessageRequest")
    assert refusal(SEND, request) == FieldViolation("message", "is required")
    request.message.role = 2
    assert refusal(SEND, request) == FieldViolation("message.messageId", "is required")
    request.message.message_id = "m"
    assert refusal(SEND, request) == FieldViolation("message.parts", "is required")
    request.message.parts.add().text = "hi"
    request.message.parts.add().filename = "f"
    nothing = "needs exactly one of text, raw, url, data"
    assert refusal(SEND, request) == FieldViolation("message.parts[1]", nothing)


def test_an_unset_or_unknown_enum_is_refused() -> None:
    request = proto("SendMessageRequest")
    request.message.message_id = "m"
    request.message.parts.add().text = "hi"
    assert refusal(SEND, request) == FieldViolation("message.role", "is required")
    request.message.role = 7
    unknown = "is not one of the known values"
    assert refusal(SEND, request) == FieldViolation("message.role", unknown)


def test_a_state_that_no_task_can_be_in_is_not_looked_for() -> None:
    request = proto("ListTasksRequest")
    request.status = 9
    assert "known values" in refusal(Operation.LIST_TASKS, request).description
    request.status = 0
    assert DIALECT.decode_request(Operation.LIST_TASKS, request.SerializeToString())


@pytest.mark.parametrize(
    ("number", "name"),
    [(0, "TASK_STATE_UNSPECIFIED"), (9, "TASK_STATE_9"), (2, "TASK_STATE_WORKING")],
)
def test_a_task_may_be_in_a_state_that_we_do_not_know(number: int, name: str) -> None:
    message = proto("Task")
    message.id = "t"
    message.status.timestamp.seconds = 1
    message.status.state = number
    task = DIALECT.decode_result(Operation.GET_TASK, message.SerializeToString())
    assert isinstance(task, Task)
    assert task.status.state.value == name


@pytest.mark.parametrize("number", [0, 9])
def test_an_unknown_role_in_an_answer_is_that_of_who_answers(number: int) -> None:
    frame = proto("StreamResponse")
    frame.message.message_id = "m"
    frame.message.role = number
    frame.message.parts.add().text = "hi"
    message = DIALECT.decode_event(frame.SerializeToString()).message
    assert message is not None
    assert message.role is Role.AGENT


def test_a_negative_history_length_is_refused() -> None:
    request = proto("GetTaskRequest")
    request.id = "t"
    request.history_length = -1
    assert refusal(Operation.GET_TASK, request) == FieldViolation(
        "historyLength", "must be at least 0"
    )


def test_a_time_that_is_none_is_refused() -> None:
    request = proto("ListTasksRequest")
    request.status_timestamp_after.nanos = -1
    assert refusal(Operation.LIST_TASKS, request).field == "statusTimestampAfter"


def test_a_webhook_needs_its_task() -> None:
    request = proto("TaskPushNotificationConfig")
    request.url = "https://hook.example"
    operation = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
    assert refusal(operation, request) == FieldViolation("taskId", "is required")


def test_bytes_that_are_no_message_are_an_invalid_request() -> None:
    with pytest.raises(InvalidRequestError):
        DIALECT.decode_request(SEND, b"\xff")


@pytest.mark.parametrize("operation", Operation)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(operation: Operation, data: bytes) -> None:
    with suppress(A2AError):
        DIALECT.decode_request(operation, data)


@pytest.mark.parametrize("operation", Operation)
@given(data=st.data())
def test_a_damaged_request_is_read_or_refused(operation: Operation, data: st.DataObject) -> None:
    request = data.draw(BY_TYPE[REQUEST_TYPES[operation]])
    assert isinstance(request, Request)
    wire = bytearray(DIALECT.encode_request(operation, request) or b"x")
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    with suppress(A2AError):
        DIALECT.decode_request(operation, bytes(wire))


# --- answers ------------------------------------------------------------------------------------


def answered(operation: Operation, result: Result) -> object:
    return DIALECT.decode_result(operation, DIALECT.encode_result(operation, result))


@pytest.mark.parametrize("operation", [SEND, Operation.GET_TASK, Operation.CANCEL_TASK])
@given(task=task_values)
def test_tasks_read_back(operation: Operation, task: Task) -> None:
    assert answered(operation, TaskDocument.of(task)) == left(task, FORM)


def test_a_task_of_a_send_is_wrapped_and_others_are_not() -> None:
    document = TaskDocument(b'{"id":"t","status":{"state":"TASK_STATE_WORKING"}}', b"[]", b"[]")
    sent: Proto = message_class("lf.a2a.v1.SendMessageResponse")
    assert sent.FromString(DIALECT.encode_result(SEND, document)).task.id == "t"
    got: Proto = message_class("lf.a2a.v1.Task")
    assert got.FromString(DIALECT.encode_result(Operation.GET_TASK, document)).id == "t"


@given(message_values)
def test_direct_answers_read_back(message: Message) -> None:
    assert answered(SEND, message) == left(message, FORM)


@given(st.lists(task_values, max_size=2))
def test_pages_read_back(tasks: list[Task]) -> None:
    documents = tuple(map(TaskDocument.of, tasks))
    page = TaskPage(tasks=documents, next_page_token="", page_size=50, total_size=len(tasks))
    assert answered(Operation.LIST_TASKS, page) == ListTasksResponse(
        tasks=tuple(left(task, FORM) for task in tasks),
        next_page_token="",
        page_size=50,
        total_size=len(tasks),
    )


@pytest.mark.parametrize(
    "operation",
    [
        Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
        Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
    ],
)
@given(config=push_configs)
def test_webhooks_read_back(operation: Operation, config: TaskPushNotificationConfig) -> None:
    assert answered(operation, config) == config


@given(list_push_configs_responses)
def test_lists_of_webhooks_read_back(
    response: ListTaskPushNotificationConfigsResponse,
) -> None:
    assert answered(Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, response) == response


def test_a_deletion_is_answered_with_an_empty_message() -> None:
    operation = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG
    assert DIALECT.encode_result(operation, Empty()) == b""
    assert DIALECT.decode_result(operation, b"") == Empty()


@given(agent_cards)
def test_cards_read_back(card: AgentCard) -> None:
    assert answered(Operation.GET_EXTENDED_AGENT_CARD, card) == left(card, FORM)


# --- streams ------------------------------------------------------------------------------------


def event_of(response: StreamResponse, seq: int = 1) -> EventDocument:
    return EventDocument(seq, msgspec.json.encode(response))


@given(stream_responses)
def test_events_read_back(response: StreamResponse) -> None:
    writer = DIALECT.frame_writer()
    (frame,) = writer.write(event_of(response))
    assert DIALECT.decode_event(frame) == left(response, FORM)
    assert not writer.has_ended


def test_an_event_is_written_once_for_all_readers() -> None:
    message = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))
    event = event_of(StreamResponse(message=message))
    first, second = DIALECT.frame_writer(), DIALECT.frame_writer()
    assert first.write(event)[0] is second.write(event)[0]
    # The JSON of the same name is something else.
    assert V1_0_DIALECT.frame_writer().write(event) == (event.json,)


def test_a_frame_without_content_is_refused() -> None:
    with pytest.raises(InvalidParamsError):
        DIALECT.decode_event(b"")


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.requirement("R-10.6-1", "R-5.4-1")
def test_an_error_has_the_status_of_the_table() -> None:
    status = DIALECT.encode_status(TaskNotFoundError("t-9"))
    assert status[:2] == (5, "Task not found")
    assert isinstance(status, GrpcStatus)
    read = DIALECT.decode_status(*status)
    assert isinstance(read, TaskNotFoundError)
    assert read.metadata == {"taskId": "t-9"}


def test_the_trailer_repeats_code_and_text() -> None:
    # The SDK looks at the trailer only if it does.
    status = DIALECT.encode_status(InvalidParamsError.of("id", "is required"))
    trailer: Proto = message_class("google.rpc.Status").FromString(status.trailer)
    assert (trailer.code, trailer.message) == status[:2]


# --- sameness with JSON ---------------------------------------------------------------------------


@pytest.mark.parametrize("operation", Operation)
@given(data=st.data())
def test_a_request_means_the_same_in_json(operation: Operation, data: st.DataObject) -> None:
    request = data.draw(BY_TYPE[REQUEST_TYPES[operation]].map(lambda value: left(value, FORM)))
    assert isinstance(request, Request)
    json = V1_0_DIALECT.encode_request(operation, request)
    ours = DIALECT.decode_request(operation, DIALECT.encode_request(operation, request))
    assert ours.request == V1_0_DIALECT.decode_request(operation, json).request
