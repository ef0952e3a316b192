from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.v0_3_answers import MessageEncoder
from dragoman.bindings.grpc.v0_3_requests import decode_request, encode_request
from dragoman.bindings.grpc.well_known import Proto
from dragoman.dialects.v0_3_proto.decode import Decoder
from dragoman.errors import A2AError, FieldViolation, InvalidParamsError, InvalidRequestError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    REQUEST_TYPES,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Operation,
    Request,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part
from dragoman.model.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from tests.support.strategies import BY_TYPE

# By its looks alone short content cannot be told from base64, so whole values need a known peer.
ENCODER, DECODER = MessageEncoder("base64text"), Decoder("base64text")

SEND = Operation.SEND_MESSAGE
CREATE = Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
OPAQUE = "opaque"


def proto(message: str, /, **fields: object) -> Proto:
    kind: Proto = message_class(f"a2a.v1.{message}")
    return kind(**fields)


def read(operation: Operation, message: Proto) -> Request:
    return decode_request(operation, message.SerializeToString(), DECODER)


def refusal(operation: Operation, message: Proto) -> FieldViolation:
    with pytest.raises(InvalidParamsError) as caught:
        read(operation, message)
    (violation,) = caught.value.violations
    return violation


def a_send(**configuration: object) -> Proto:
    send = proto("SendMessageRequest")
    send.request.message_id = "m"
    send.request.role = 1
    send.request.content.add().text = "hi"
    if configuration:
        send.configuration.CopyFrom(proto("SendMessageConfiguration", **configuration))
    return send


# --- reading ------------------------------------------------------------------------------------


def test_a_send_is_read() -> None:
    send = a_send()
    send.request.reference_task_ids.append("t-0")
    send.request.extensions.append("urn:x")
    send.metadata["k"] = 1
    assert read(SEND, send) == SendMessageRequest(
        message=Message(
            message_id="m",
            role=Role.USER,
            parts=(Part(text="hi"),),
            extensions=("urn:x",),
            reference_task_ids=("t-0",),
        ),
        metadata={"k": 1},
    )


def configuration_of(send: Proto) -> SendMessageConfiguration | None:
    request = read(SEND, send)
    assert isinstance(request, SendMessageRequest)
    return request.configuration


def test_without_a_configuration_a_send_waits() -> None:
    assert configuration_of(a_send()) is None


@pytest.mark.parametrize(("blocking", "returns"), [(True, False), (False, True)])
def test_with_a_configuration_a_send_waits_if_it_is_told_to(
    *, blocking: bool, returns: bool
) -> None:
    configuration = configuration_of(a_send(blocking=blocking, history_length=2))
    assert configuration is not None
    assert configuration.return_immediately is returns


@pytest.mark.parametrize(("length", "meant"), [(0, None), (3, 3)])
def test_a_history_length_of_0_asks_for_all(length: int, meant: int | None) -> None:
    configuration = configuration_of(a_send(history_length=length, blocking=True))
    assert configuration == SendMessageConfiguration(history_length=meant)
    get = proto("GetTaskRequest", name="tasks/t", history_length=length)
    assert read(Operation.GET_TASK, get) == GetTaskRequest(id="t", history_length=meant)


def test_a_negative_history_length_is_refused() -> None:
    get = proto("GetTaskRequest", name="tasks/t", history_length=-1)
    assert refusal(Operation.GET_TASK, get).field == "historyLength"


def test_a_webhook_of_a_send_is_read() -> None:
    send = a_send(blocking=True)
    send.configuration.push_notification.url = "https://hook.example"
    send.configuration.push_notification.authentication.schemes.extend(["Custom", "Bearer"])
    send.configuration.push_notification.authentication.credentials = "s"
    configuration = configuration_of(send)
    assert configuration is not None
    assert configuration.task_push_notification_config == TaskPushNotificationConfig(
        url="https://hook.example",
        authentication=AuthenticationInfo(scheme="Bearer", credentials="s"),
    )


def test_a_message_may_lack_its_id_and_role() -> None:
    send = proto("SendMessageRequest")
    send.request.content.add().text = "hi"
    request = read(SEND, send)
    assert isinstance(request, SendMessageRequest)
    assert request.message == Message(message_id="", role=Role.USER, parts=(Part(text="hi"),))


def test_what_a_send_lacks_is_named_as_0_3_calls_it() -> None:
    send = proto("SendMessageRequest")
    assert refusal(SEND, send) == FieldViolation("message", "is required")
    send.request.message_id = "m"
    assert refusal(SEND, send) == FieldViolation("message.content", "must not be empty")
    send.request.content.add().text = "hi"
    send.request.content.add().metadata["k"] = 1
    nothing = "needs exactly one of text, file, data"
    assert refusal(SEND, send) == FieldViolation("message.content[1]", nothing)


HOOK = "tasks/t/pushNotificationConfigs/c"


@pytest.mark.parametrize(
    ("operation", "message", "request_"),
    [
        (
            Operation.CANCEL_TASK,
            proto("CancelTaskRequest", name="tasks/t"),
            CancelTaskRequest(id="t"),
        ),
        (
            Operation.SUBSCRIBE_TO_TASK,
            proto("TaskSubscriptionRequest", name="tasks/t"),
            SubscribeToTaskRequest(id="t"),
        ),
        (
            Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
            proto("GetTaskPushNotificationConfigRequest", name=HOOK),
            GetTaskPushNotificationConfigRequest(task_id="t", id="c"),
        ),
        # 0.2.2 to 0.2.4.
        (
            Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
            proto("GetTaskPushNotificationConfigRequest", name="tasks/t/pushNotifications/c"),
            GetTaskPushNotificationConfigRequest(task_id="t", id="c"),
        ),
        (
            Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
            proto("DeleteTaskPushNotificationConfigRequest", name=HOOK),
            DeleteTaskPushNotificationConfigRequest(task_id="t", id="c"),
        ),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            proto("ListTaskPushNotificationConfigRequest", parent="tasks/t", page_size=3),
            ListTaskPushNotificationConfigsRequest(task_id="t", page_size=3),
        ),
        (
            Operation.LIST_TASKS,
            proto("ListTasksRequest", context_id="c", status=5, page_size=9),
            ListTasksRequest(context_id="c", status=TaskState.CANCELED, page_size=9),
        ),
        (
            Operation.GET_EXTENDED_AGENT_CARD,
            proto("GetAgentCardRequest"),
            GetExtendedAgentCardRequest(),
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Operation) else "",
)
def test_a_request_is_read_by_its_resource_name(
    operation: Operation, message: Proto, request_: Request
) -> None:
    assert read(operation, message) == request_


def test_the_creation_of_a_webhook_is_read() -> None:
    create = proto("CreateTaskPushNotificationConfigRequest", parent="tasks/t", config_id="c")
    create.config.push_notification_config.url = "https://hook.example"
    assert read(CREATE, create) == TaskPushNotificationConfig(
        task_id="t", id="c", url="https://hook.example"
    )


@pytest.mark.parametrize(
    ("operation", "name", "field"),
    [
        (Operation.GET_TASK, "GetTaskRequest", "name"),
        (Operation.CANCEL_TASK, "CancelTaskRequest", "name"),
        (Operation.SUBSCRIBE_TO_TASK, "TaskSubscriptionRequest", "name"),
        (CREATE, "CreateTaskPushNotificationConfigRequest", "parent"),
        (
            Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
            "GetTaskPushNotificationConfigRequest",
            "name",
        ),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            "ListTaskPushNotificationConfigRequest",
            "parent",
        ),
        (
            Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
            "DeleteTaskPushNotificationConfigRequest",
            "name",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Operation) else "",
)
@pytest.mark.parametrize("text", ["", "t", "tasks/", "task/t"])
def test_a_name_of_another_form_is_refused_by_its_field(
    operation: Operation, name: str, field: str, text: str
) -> None:
    violation = refusal(operation, proto(name, **{field: text}))
    assert violation.field == field
    assert violation.description.startswith("must be tasks/{id}")


def test_bytes_that_are_no_message_are_an_invalid_request() -> None:
    with pytest.raises(InvalidRequestError):
        decode_request(SEND, b"\xff", DECODER)


@pytest.mark.parametrize("operation", Operation)
@given(data=st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(operation: Operation, data: bytes) -> None:
    with suppress(A2AError):
        decode_request(operation, data, DECODER)


@pytest.mark.parametrize("operation", Operation)
@given(data=st.data())
def test_a_damaged_request_is_read_or_refused(operation: Operation, data: st.DataObject) -> None:
    request = data.draw(BY_TYPE[REQUEST_TYPES[operation]])
    assert isinstance(request, Request)
    wire = bytearray(encode_request(operation, request, ENCODER) or b"x")
    wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.integers(0, 255))
    with suppress(A2AError):
        decode_request(operation, bytes(wire), DECODER)


# --- writing ------------------------------------------------------------------------------------


def test_what_a_send_means_is_always_said() -> None:
    # 5.10: peers do not agree on what an absent configuration means.
    message = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))
    send = encode_request(SEND, SendMessageRequest(message=message), ENCODER)
    sent: Proto = message_class("a2a.v1.SendMessageRequest").FromString(send)
    assert sent.configuration.blocking
    assert sent.request.content[0].text == "hi"


def test_a_webhook_is_created_under_its_name() -> None:
    config = TaskPushNotificationConfig(task_id="t", id="c", url="https://h", token=OPAQUE)
    wire = encode_request(CREATE, config, ENCODER)
    sent: Proto = message_class("a2a.v1.CreateTaskPushNotificationConfigRequest").FromString(wire)
    assert (sent.parent, sent.config_id, sent.config.name) == ("tasks/t", "c", HOOK)
    assert sent.config.push_notification_config.token == OPAQUE
