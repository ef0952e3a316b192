import msgspec
import pytest

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.base import GrpcDialect, GrpcStatus
from dragoman.bindings.grpc.v0_3 import V0_3_GRPC, V0_3_GRPC_RAW, CalledGrpcV0_3, GrpcV0_3
from dragoman.bindings.grpc.well_known import Proto
from dragoman.dialects.base import Reading
from dragoman.dialects.legacy.file_bytes import FileBytes
from dragoman.errors import (
    SPELLINGS,
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    FieldViolation,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    MethodNotFoundError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentInterface
from dragoman.model.documents import EventDocument
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.operations import GetTaskRequest, Operation, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

DIALECT: GrpcDialect = V0_3_GRPC

MESSAGE = Message(message_id="m", role=Role.AGENT, parts=(Part(text="hi"),))


def test_its_service_and_name() -> None:
    assert DIALECT.service == "a2a.v1.A2AService"
    assert DIALECT.name == "0.3-grpc"
    assert (DIALECT.has_final, DIALECT.has_messages) == (True, True)


@pytest.mark.parametrize(
    ("rpc", "operation"),
    [
        ("SendMessage", Operation.SEND_MESSAGE),
        ("SendStreamingMessage", Operation.SEND_STREAMING_MESSAGE),
        ("GetTask", Operation.GET_TASK),
        ("ListTasks", Operation.LIST_TASKS),
        ("CancelTask", Operation.CANCEL_TASK),
        ("TaskSubscription", Operation.SUBSCRIBE_TO_TASK),
        ("CreateTaskPushNotificationConfig", Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG),
        ("GetTaskPushNotificationConfig", Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG),
        ("ListTaskPushNotificationConfig", Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS),
        ("DeleteTaskPushNotificationConfig", Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG),
        ("GetAgentCard", Operation.GET_EXTENDED_AGENT_CARD),
        # 0.2.2 to 0.2.4, and the prose of 0.3.
        ("CreateTaskPushNotification", Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG),
        ("GetTaskPushNotification", Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG),
        ("ListTaskPushNotification", Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS),
        ("DeleteTaskPushNotification", Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG),
        ("ListTask", Operation.LIST_TASKS),
    ],
)
def test_an_rpc_is_an_operation(rpc: str, operation: Operation) -> None:
    assert DIALECT.rpcs[rpc] is operation


def test_a_request_is_answered_in_the_same_form() -> None:
    request = GetTaskRequest(id="t", history_length=2)
    params = DIALECT.encode_request(Operation.GET_TASK, request)
    assert DIALECT.decode_request(Operation.GET_TASK, params) == Reading(request, DIALECT)


def test_an_answer_reads_back() -> None:
    data = DIALECT.encode_result(Operation.SEND_MESSAGE, MESSAGE)
    assert DIALECT.decode_result(Operation.SEND_MESSAGE, data) == MESSAGE


def test_the_extended_card_is_a_card_of_0_3() -> None:
    here = AgentInterface(url="h:443", protocol_binding="GRPC", protocol_version="0.3")
    card = AgentCard(
        name="N",
        description="D",
        supported_interfaces=(here,),
        version="1",
        capabilities=AgentCapabilities(extended_agent_card=True),
        default_input_modes=("text/plain",),
        default_output_modes=("text/plain",),
        skills=(),
    )
    data = DIALECT.encode_result(Operation.GET_EXTENDED_AGENT_CARD, card)
    assert DIALECT.decode_result(Operation.GET_EXTENDED_AGENT_CARD, data) == card


# --- file content -------------------------------------------------------------------------------


def sent_file(content: bytes) -> tuple[SendMessageRequest, bytes]:
    """Return a send with a file, as a peer that knows no base64 text writes it."""
    part = Part(raw=content, media_type="text/plain")
    request = SendMessageRequest(message=Message(message_id="m", role=Role.USER, parts=(part,)))
    return request, V0_3_GRPC_RAW.encode_request(Operation.SEND_MESSAGE, request)


def test_a_peer_of_known_habits_has_a_dialect_of_its_own() -> None:
    assert V0_3_GRPC_RAW.name == "0.3-grpc+raw"
    request, params = sent_file(b"aGVsbG8=")
    reading = V0_3_GRPC_RAW.decode_request(Operation.SEND_MESSAGE, params)
    assert isinstance(reading.request, SendMessageRequest)
    assert reading.request.message == request.message
    assert reading.answer is V0_3_GRPC_RAW


def test_who_sends_raw_content_gets_raw_content() -> None:
    request, params = sent_file(b"hello world")
    reading = DIALECT.decode_request(Operation.SEND_MESSAGE, params)
    assert isinstance(reading.request, SendMessageRequest)
    assert reading.request.message == request.message
    assert reading.answer is V0_3_GRPC_RAW
    data = reading.answer.encode_result(Operation.SEND_MESSAGE, request.message)
    sent: Proto = message_class("a2a.v1.SendMessageResponse").FromString(data)
    assert sent.msg.content[0].file.file_with_bytes == b"hello world"


def test_what_may_be_base64_text_is_answered_with_base64_text() -> None:
    _, params = sent_file(b"aGVsbG8=")
    assert DIALECT.decode_request(Operation.SEND_MESSAGE, params).answer is DIALECT
    pinned = GrpcV0_3("base64text")
    _, params = sent_file(b"hello world")
    assert pinned.decode_request(Operation.SEND_MESSAGE, params).answer is pinned


def test_a_variant_is_known_by_the_origin_of_a_task() -> None:
    assert DIALECT.variant("0.3-grpc+raw") is V0_3_GRPC_RAW
    for origin in ("", "0.3-grpc", "1.0", "0.3-proto+raw"):
        assert DIALECT.variant(origin) is DIALECT


# --- streams ------------------------------------------------------------------------------------


def event_of(response: StreamResponse) -> EventDocument:
    return EventDocument(1, msgspec.json.encode(response))


def status_update(state: TaskState) -> StreamResponse:
    status = TaskStatus(state=state)
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    )


@pytest.mark.parametrize("state", TaskState)
def test_a_stream_ends_with_a_status_that_says_so(state: TaskState) -> None:
    writer = DIALECT.frame_writer()
    (frame,) = writer.write(event_of(status_update(state)))
    sent: Proto = message_class("a2a.v1.StreamResponse").FromString(frame)
    stops = state.is_terminal or state.is_interrupted
    assert sent.status_update.final is stops
    assert writer.has_ended is stops
    assert DIALECT.decode_event(frame) == status_update(state)


def test_a_stream_that_shows_a_finished_task_ends() -> None:
    writer = DIALECT.frame_writer()
    task = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.COMPLETED))
    first, last = writer.write(event_of(StreamResponse(task=task)))
    assert DIALECT.decode_event(first) == StreamResponse(task=task)
    assert DIALECT.decode_event(last) == status_update(TaskState.COMPLETED)
    assert writer.has_ended


def test_a_direct_answer_ends_the_stream() -> None:
    writer = DIALECT.frame_writer()
    assert len(writer.write(event_of(StreamResponse(message=MESSAGE)))) == 1
    assert writer.has_ended


def test_an_artifact_does_not_end_the_stream() -> None:
    writer = DIALECT.frame_writer()
    update = TaskArtifactUpdateEvent(
        task_id="t",
        context_id="c",
        artifact=Artifact(artifact_id="a", parts=(Part(text="x"),)),
        append=True,
        last_chunk=True,
    )
    (frame,) = writer.write(event_of(StreamResponse(artifact_update=update)))
    assert DIALECT.decode_event(frame) == StreamResponse(artifact_update=update)
    assert not writer.has_ended


def test_an_event_is_written_once_for_all_readers() -> None:
    event = event_of(StreamResponse(message=MESSAGE))
    first = DIALECT.frame_writer().write(event)
    assert DIALECT.frame_writer().write(event) is first


# --- errors -------------------------------------------------------------------------------------


def example(kind: type[A2AError]) -> A2AError:
    error = kind.__new__(kind)
    A2AError.__init__(
        error, "what happened", metadata={"k": "v"}, violations=(FieldViolation("a", "is wrong"),)
    )
    return error


@pytest.mark.parametrize(
    ("kind", "code", "name"),
    [
        (JSONParseError, 13, "JSONParseError"),
        (InvalidRequestError, 3, "InvalidRequestError"),
        (InvalidParamsError, 3, "InvalidParamsError"),
        (MethodNotFoundError, 5, "MethodNotFoundError"),
        (TaskNotFoundError, 5, "TaskNotFoundError"),
        (InternalError, 13, "InternalError"),
        (InvalidAgentResponseError, 13, "InvalidAgentResponseError"),
        (TaskNotCancelableError, 9, "TaskNotCancelableError"),
        (PushNotificationNotSupportedError, 12, "PushNotificationNotSupportedError"),
        (UnsupportedOperationError, 12, "UnsupportedOperationError"),
        (ContentTypeNotSupportedError, 12, "ContentTypeNotSupportedError"),
        (
            ExtendedAgentCardNotConfiguredError,
            2,
            "AuthenticatedExtendedCardNotConfiguredError",
        ),
    ],
)
def test_an_error_is_named_in_its_text(kind: type[A2AError], code: int, name: str) -> None:
    status = DIALECT.encode_status(example(kind))
    assert isinstance(status, GrpcStatus)
    assert status[:2] == (code, f"{name}: what happened")
    trailer: Proto = message_class("google.rpc.Status").FromString(status.trailer)
    assert (trailer.code, trailer.message) == status[:2]
    read = DIALECT.decode_status(code, status.details, None)
    assert type(read) is kind
    assert read.message == "what happened"


@pytest.mark.parametrize("kind", SPELLINGS, ids=lambda kind: kind.__name__)
def test_every_error_reads_back_with_its_details(kind: type[A2AError]) -> None:
    read = DIALECT.decode_status(*DIALECT.encode_status(example(kind)))
    # JSONParseError and InvalidRequestError share a reason; the name tells them apart.
    assert type(read) is kind
    assert read.message == "what happened"
    assert read.metadata == {"k": "v"}
    assert read.violations == (FieldViolation("a", "is wrong"),)


def test_without_a_name_the_status_tells() -> None:
    error = DIALECT.decode_status(14, "no connection: refused", None)
    assert isinstance(error, UnavailableError)
    assert error.message == "no connection: refused"
    assert isinstance(DIALECT.decode_status(5, "gone", b"\xff"), TaskNotFoundError)


@pytest.mark.parametrize(
    ("likely", "peer", "habits"),
    [
        (None, V0_3_GRPC, [V0_3_GRPC, V0_3_GRPC]),
        (None, V0_3_GRPC_RAW, [V0_3_GRPC, V0_3_GRPC_RAW]),
        ("raw", V0_3_GRPC_RAW, [V0_3_GRPC_RAW, V0_3_GRPC_RAW]),
        ("raw", V0_3_GRPC, [V0_3_GRPC_RAW, V0_3_GRPC]),
    ],
)
def test_an_agent_gets_file_content_as_it_gives_it(
    likely: FileBytes | None, peer: GrpcV0_3, habits: list[GrpcV0_3]
) -> None:
    file = Part(raw=bytes(range(256)), media_type="x/y")
    message = Message(message_id="m", role=Role.AGENT, parts=(file,))
    request = SendMessageRequest(message=message)
    called = CalledGrpcV0_3(likely)
    for habit in habits:
        sent = called.encode_request(Operation.SEND_MESSAGE, request)
        assert sent == habit.encode_request(Operation.SEND_MESSAGE, request)
        answer = peer.encode_result(Operation.SEND_MESSAGE, message)
        assert called.decode_result(Operation.SEND_MESSAGE, answer) == message
