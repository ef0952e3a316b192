import msgspec
import pytest

from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.errors import UnsupportedOperationError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
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
from dragoman.model.push import TaskPushNotificationConfig

HELLO = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))


def written(operation: Operation, request: Request) -> object:
    return msgspec.json.decode(V0_1_DIALECT.encode_request(operation, request))


def test_the_sample_send() -> None:
    message = msgspec.structs.replace(HELLO, task_id="t-9", context_id="s-1")
    request = SendMessageRequest(message=message)
    assert V0_1_DIALECT.encode_request(Operation.SEND_MESSAGE, request) == (
        b'{"id":"t-9","sessionId":"s-1",'
        b'"message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}'
    )


def test_a_send_without_a_task_id_is_left_without_one() -> None:
    assert written(Operation.SEND_STREAMING_MESSAGE, SendMessageRequest(message=HELLO)) == {
        "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]}
    }


def test_the_options_of_a_send() -> None:
    request = SendMessageRequest(
        message=msgspec.structs.replace(HELLO, task_id="t"),
        configuration=SendMessageConfiguration(
            accepted_output_modes=("text/plain",),
            task_push_notification_config=TaskPushNotificationConfig(id="p", url="u"),
            history_length=3,
            return_immediately=True,
        ),
        metadata={"k": 1},
    )
    assert written(Operation.SEND_MESSAGE, request) == {
        "id": "t",
        "message": {"role": "user", "parts": [{"type": "text", "text": "hi"}]},
        "pushNotification": {"url": "u"},
        "historyLength": 3,
        "acceptedOutputModes": ["text/plain"],
        "metadata": {"k": 1},
    }


@pytest.mark.parametrize("length", [None, 0])
def test_no_history_is_asked_for_by_saying_nothing(length: int | None) -> None:
    configuration = SendMessageConfiguration(history_length=length)
    send = SendMessageRequest(message=HELLO, configuration=configuration)
    assert b"historyLength" not in V0_1_DIALECT.encode_request(Operation.SEND_MESSAGE, send)
    get = GetTaskRequest(id="t", history_length=length)
    assert written(Operation.GET_TASK, get) == {"id": "t"}


@pytest.mark.parametrize(
    ("operation", "request_", "params"),
    [
        (
            Operation.GET_TASK,
            GetTaskRequest(tenant="acme", id="t", history_length=2),
            {"id": "t", "historyLength": 2},
        ),
        (Operation.CANCEL_TASK, CancelTaskRequest(id="t"), {"id": "t"}),
        (
            Operation.CANCEL_TASK,
            CancelTaskRequest(id="t", metadata={"why": 1}),
            {"id": "t", "metadata": {"why": 1}},
        ),
        (Operation.SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="t"), {"id": "t"}),
        (
            Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
            TaskPushNotificationConfig(id="p", task_id="t", url="u"),
            {"id": "t", "pushNotificationConfig": {"url": "u"}},
        ),
        (
            Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
            GetTaskPushNotificationConfigRequest(task_id="t", id="p"),
            {"id": "t"},
        ),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            ListTaskPushNotificationConfigsRequest(task_id="t", page_size=5),
            {"id": "t"},
        ),
        (
            Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
            DeleteTaskPushNotificationConfigRequest(task_id="t", id="p"),
            {"id": "t", "pushNotificationConfig": None},
        ),
    ],
)
def test_the_other_requests(operation: Operation, request_: Request, params: object) -> None:
    assert written(operation, request_) == params


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        (Operation.LIST_TASKS, ListTasksRequest()),
        (Operation.GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest()),
    ],
)
def test_what_0_1_does_not_have_cannot_be_asked(operation: Operation, request_: Request) -> None:
    with pytest.raises(UnsupportedOperationError):
        V0_1_DIALECT.encode_request(operation, request_)
