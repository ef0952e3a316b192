"""Requests."""

import json

import msgspec
import pytest

from dragoman.dialects.v0_3_proto.decode import Decoder
from dragoman.dialects.v0_3_proto.encode import Encoder
from dragoman.dialects.v0_3_proto.requests import FORMS, read_request, write_request
from dragoman.errors import InvalidParamsError
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
from dragoman.model.tasks import TaskState

MESSAGE = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),))
WIRE_MESSAGE = {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hi"}]}
WEBHOOK = TaskPushNotificationConfig(url="u")


def read(operation: Operation, body: bytes) -> Request:
    return read_request(operation, FORMS[operation].decode(body), Decoder(None))


def sent(configuration: bytes) -> SendMessageRequest:
    message = json.dumps(WIRE_MESSAGE).encode()
    body = b'{"message":%b,"configuration":%b}' % (message, configuration)
    request = read(Operation.SEND_MESSAGE, body)
    assert isinstance(request, SendMessageRequest)
    return request


def written(request: Request) -> object:
    return json.loads(msgspec.json.encode(write_request(request, Encoder(None))))


# --- sends ------------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", [Operation.SEND_MESSAGE, Operation.SEND_STREAMING_MESSAGE])
@pytest.mark.parametrize("name", ["message", "request"])
def test_a_send_is_read(operation: Operation, name: str) -> None:
    body = json.dumps({name: WIRE_MESSAGE, "metadata": {"n": 1.0}}).encode()
    request = SendMessageRequest(message=MESSAGE, metadata={"n": 1})
    assert read(operation, body) == request


def test_a_send_without_a_message_is_refused() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        read(Operation.SEND_MESSAGE, b"{}")
    assert caught.value.violations[0].field == "message"


@pytest.mark.parametrize(
    ("configuration", "is_immediate"),
    [
        (b"{}", True),
        (b'{"historyLength":1}', True),
        (b'{"blocking":null}', True),
        (b'{"blocking":false}', True),
        (b'{"blocking":true}', False),
    ],
)
def test_a_configuration_waits_only_if_it_says_so(
    configuration: bytes,
    *,
    is_immediate: bool,
) -> None:
    found = sent(configuration).configuration
    assert found is not None
    assert found.return_immediately is is_immediate


def test_a_send_without_configuration_waits() -> None:
    assert sent(b"null").configuration is None
    assert SendMessageConfiguration().return_immediately is False


@pytest.mark.parametrize(
    ("value", "length"),
    [(b"null", None), (b"0", None), (b'"0"', None), (b"3", 3), (b'"3"', 3), (b"3.0", 3)],
)
def test_no_limit_of_the_history_is_the_same_as_none_said(value: bytes, length: int | None) -> None:
    found = sent(b'{"historyLength":%b}' % value).configuration
    assert found is not None
    assert found.history_length == length
    for name in ("historyLength", "history_length"):
        body = b'{"id":"t","%b":%b}' % (name.encode(), value)
        assert read(Operation.GET_TASK, body) == GetTaskRequest(id="t", history_length=length)


def test_a_negative_history_length_is_refused() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        sent(b'{"historyLength":-1}')
    assert caught.value.violations[0].field == "configuration.historyLength"


@pytest.mark.parametrize(
    "configuration",
    [
        b'{"acceptedOutputModes":["text","a/b"],"pushNotification":{"url":"u"},"blocking":true}',
        b'{"accepted_output_modes":["text","a/b"],"push_notification":{"url":"u"},"blocking":true}',
        b'{"acceptedOutputModes":["text","a/b"],"pushNotificationConfig":{"url":"u"},'
        b'"blocking":true}',
    ],
)
def test_a_configuration_is_read_by_all_names(configuration: bytes) -> None:
    assert sent(configuration).configuration == SendMessageConfiguration(
        accepted_output_modes=("text/plain", "a/b"), task_push_notification_config=WEBHOOK
    )


@pytest.mark.parametrize(
    ("configuration", "members"),
    [
        (None, {"blocking": True}),
        (SendMessageConfiguration(), {"blocking": True}),
        (SendMessageConfiguration(return_immediately=True), {"blocking": False}),
        # 0 would ask for all
        (SendMessageConfiguration(history_length=0), {"blocking": True}),
        (SendMessageConfiguration(history_length=3), {"blocking": True, "historyLength": 3}),
        (
            SendMessageConfiguration(
                accepted_output_modes=("a/b",), task_push_notification_config=WEBHOOK
            ),
            {
                "acceptedOutputModes": ["a/b"],
                "pushNotification": {"url": "u"},
                "blocking": True,
            },
        ),
    ],
)
def test_a_send_always_says_whether_to_wait(
    configuration: SendMessageConfiguration | None, members: object
) -> None:
    request = SendMessageRequest(message=MESSAGE, configuration=configuration)
    assert written(request) == {"message": WIRE_MESSAGE, "configuration": members}


# --- the others -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "body", "request_"),
    [
        (Operation.GET_TASK, b'{"name":"tasks/t"}', GetTaskRequest(id="t")),
        # the id of the path rules
        (Operation.GET_TASK, b'{"id":"t","name":"tasks/x"}', GetTaskRequest(id="t")),
        (Operation.CANCEL_TASK, b'{"name":"tasks/t"}', CancelTaskRequest(id="t")),
        (
            Operation.CANCEL_TASK,
            b'{"id":"t","metadata":{"k":1}}',
            CancelTaskRequest(id="t", metadata={"k": 1}),
        ),
        (Operation.SUBSCRIBE_TO_TASK, b'{"id":"t"}', SubscribeToTaskRequest(id="t")),
        (Operation.SUBSCRIBE_TO_TASK, b'{"name":"tasks/t"}', SubscribeToTaskRequest(id="t")),
        (
            Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
            b'{"name":"tasks/t/pushNotificationConfigs/c"}',
            GetTaskPushNotificationConfigRequest(task_id="t", id="c"),
        ),
        (
            Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
            b'{"taskId":"t","id":"c"}',
            DeleteTaskPushNotificationConfigRequest(task_id="t", id="c"),
        ),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            b'{"parent":"tasks/t","page_size":"3","pageToken":"p"}',
            ListTaskPushNotificationConfigsRequest(task_id="t", page_size=3, page_token="p"),  # noqa: S106 - no secret
        ),
        (
            Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
            b'{"taskId":"t","url":"u"}',
            TaskPushNotificationConfig(task_id="t", url="u"),
        ),
        (Operation.LIST_TASKS, b"{}", ListTasksRequest()),
        (
            Operation.LIST_TASKS,
            b'{"contextId":"c","status":"TASK_STATE_CANCELLED","pageSize":5,"pageToken":"p",'
            b'"historyLength":2,"lastUpdatedTime":"2025-08-01T10:00:00Z","includeArtifacts":true}',
            ListTasksRequest(
                context_id="c",
                status=TaskState.CANCELED,
                page_size=5,
                page_token="p",  # noqa: S106 - no secret
                history_length=2,
                status_timestamp_after="2025-08-01T10:00:00.000Z",
                include_artifacts=True,
            ),
        ),
        (Operation.LIST_TASKS, b'{"status":0}', ListTasksRequest()),
        (Operation.LIST_TASKS, b'{"status":"TASK_STATE_UNSPECIFIED"}', ListTasksRequest()),
        (Operation.GET_EXTENDED_AGENT_CARD, b"{}", GetExtendedAgentCardRequest()),
    ],
)
def test_a_request_is_read(operation: Operation, body: bytes, request_: Request) -> None:
    assert read(operation, body) == request_


@pytest.mark.parametrize(
    ("operation", "body", "field"),
    [
        (Operation.GET_TASK, b"{}", "id"),
        (Operation.GET_TASK, b'{"name":"t"}', "id"),
        (Operation.GET_TASK, b'{"id":"t","historyLength":"x"}', "historyLength"),
        (Operation.CANCEL_TASK, b'{"id":""}', "id"),
        (Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, b'{"id":"c"}', "taskId"),
        (Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG, b'{"taskId":"t"}', "id"),
        (Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS, b"{}", "taskId"),
        (Operation.LIST_TASKS, b'{"pageSize":101}', "pageSize"),
        (Operation.LIST_TASKS, b'{"status":"DREAMING"}', "status"),
        (Operation.LIST_TASKS, b'{"lastUpdatedTime":"x"}', "lastUpdatedTime"),
    ],
)
def test_what_is_wrong_with_a_request_is_named(
    operation: Operation, body: bytes, field: str
) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        read(operation, body)
    assert caught.value.violations[0].field == field


@pytest.mark.parametrize(
    ("request_", "members"),
    [
        (GetTaskRequest(id="t"), {"id": "t"}),
        (GetTaskRequest(id="t", history_length=0), {"id": "t"}),
        (GetTaskRequest(id="t", history_length=3), {"id": "t", "historyLength": 3}),
        (CancelTaskRequest(id="t", metadata={"k": 1}), {"id": "t"}),
        (SubscribeToTaskRequest(id="t"), {"id": "t"}),
        (GetTaskPushNotificationConfigRequest(task_id="t", id="c"), {"taskId": "t", "id": "c"}),
        (DeleteTaskPushNotificationConfigRequest(task_id="t", id="c"), {"taskId": "t", "id": "c"}),
        (
            ListTaskPushNotificationConfigsRequest(task_id="t", page_size=3),
            {"taskId": "t", "pageSize": 3},
        ),
        (GetExtendedAgentCardRequest(), {}),
        (
            ListTasksRequest(
                context_id="c",
                status=TaskState.CANCELED,
                page_size=5,
                history_length=0,
                status_timestamp_after="2025-08-01T10:00:00.000Z",
                include_artifacts=False,
            ),
            {
                "contextId": "c",
                "status": "TASK_STATE_CANCELLED",
                "pageSize": 5,
                "lastUpdatedTime": "2025-08-01T10:00:00.000Z",
            },
        ),
    ],
)
def test_a_request_is_written_with_the_ids_of_its_path(request_: Request, members: object) -> None:
    assert written(request_) == members
