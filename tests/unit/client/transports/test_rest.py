import json

import pytest

from dragoman.bindings.sse import SseEvent
from dragoman.client.errors import ProtocolError
from dragoman.client.transports.base import HttpRequest
from dragoman.client.transports.rest import RestFraming
from dragoman.dialects.negotiation import Version
from dragoman.dialects.v0_3.codec import V0_3_REST_DIALECT
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT
from dragoman.dialects.v0_3_proto.routes import ROUTES as ROUTES_0_3
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.dialects.v1_0.routes import ROUTES
from dragoman.errors import (
    InvalidParamsError,
    MethodNotFoundError,
    TaskNotFoundError,
    UnavailableError,
)
from dragoman.model.operations import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    Empty,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Operation,
    Request,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import TaskState
from tests.support.client.fakes import send

URL = "http://agent.test/base"
NEW = RestFraming(V1_0_DIALECT, URL, Version(1, 0), ROUTES)
PROTO = RestFraming(V0_3_PROTO_DIALECT, f"{URL}/v1", Version(0, 3), ROUTES_0_3)
SCHEMA = RestFraming(V0_3_REST_DIALECT, f"{URL}/v1", Version(0, 3), ROUTES_0_3)

PUSH = TaskPushNotificationConfig(task_id="t/1", id="p", url="https://hook.test")
TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
GOOD = HttpRequest("GET", URL, names_task=True)


@pytest.mark.requirement("R-11.5-1", "R-11.5-3", "R-11.5-6")
@pytest.mark.parametrize(
    ("operation", "request_", "verb", "place"),
    [
        (Operation.SEND_MESSAGE, send(), "POST", "/message:send"),
        (Operation.SEND_STREAMING_MESSAGE, send(), "POST", "/message:stream"),
        (Operation.GET_TASK, GetTaskRequest(id="t"), "GET", "/tasks/t"),
        (
            Operation.GET_TASK,
            GetTaskRequest(id="a/b:c", history_length=0),
            "GET",
            "/tasks/a%2Fb%3Ac?historyLength=0",
        ),
        (
            Operation.LIST_TASKS,
            ListTasksRequest(
                context_id="c d",
                status=TaskState.WORKING,
                page_size=5,
                include_artifacts=True,
                status_timestamp_after="2026-01-01T00:00:00+01:00",
            ),
            "GET",
            "/tasks?contextId=c%20d&status=TASK_STATE_WORKING&pageSize=5"
            "&statusTimestampAfter=2026-01-01T00%3A00%3A00%2B01%3A00&includeArtifacts=true",
        ),
        (Operation.CANCEL_TASK, CancelTaskRequest(id="t"), "POST", "/tasks/t:cancel"),
        (
            Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
            PUSH,
            "POST",
            "/tasks/t%2F1/pushNotificationConfigs",
        ),
        (
            Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
            GetTaskPushNotificationConfigRequest(task_id="t", id="p"),
            "GET",
            "/tasks/t/pushNotificationConfigs/p",
        ),
        (
            Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
            ListTaskPushNotificationConfigsRequest(task_id="t", page_size=3),
            "GET",
            "/tasks/t/pushNotificationConfigs?pageSize=3",
        ),
        (
            Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
            DeleteTaskPushNotificationConfigRequest(task_id="t", id="p"),
            "DELETE",
            "/tasks/t/pushNotificationConfigs/p",
        ),
        (
            Operation.GET_EXTENDED_AGENT_CARD,
            GetExtendedAgentCardRequest(),
            "GET",
            "/extendedAgentCard",
        ),
    ],
)
def test_each_operation_has_its_route(
    operation: Operation, request_: Request, verb: str, place: str
) -> None:
    (sent,) = NEW.requests(operation, request_)
    assert (sent.verb, sent.url) == (verb, URL + place)
    assert bool(sent.body) is (verb == "POST")


def test_following_a_task_has_two_verbs() -> None:
    sent = NEW.requests(Operation.SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="t"))
    assert [(each.verb, each.url) for each in sent] == [
        ("POST", f"{URL}/tasks/t:subscribe"),
        ("GET", f"{URL}/tasks/t:subscribe"),
    ]
    assert sent[0].body == b"{}"


@pytest.mark.requirement("R-4.4.6-3")
def test_the_tenant_is_in_the_path_and_in_a_body() -> None:
    request = SendMessageRequest(tenant="a b", message=send().message)
    (sent,) = NEW.requests(Operation.SEND_MESSAGE, request)
    assert sent.url == f"{URL}/a%20b/message:send"
    assert json.loads(sent.body)["tenant"] == "a b"
    (read,) = NEW.requests(Operation.GET_TASK, GetTaskRequest(id="t", tenant="acme"))
    assert read.url == f"{URL}/acme/tasks/t"


def test_what_is_in_the_path_is_not_in_the_body() -> None:
    (sent,) = NEW.requests(Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG, PUSH)
    assert json.loads(sent.body) == {"id": "p", "url": "https://hook.test"}
    # 0.x reference, 4.5: strict peers of 0.3 refuse what they do not know.
    (old,) = PROTO.requests(Operation.CANCEL_TASK, CancelTaskRequest(id="t"))
    assert old.body == b"{}"


def test_the_routes_of_0_3_take_either_shape() -> None:
    (proto,) = PROTO.requests(Operation.SEND_MESSAGE, send())
    (schema,) = SCHEMA.requests(Operation.SEND_MESSAGE, send())
    assert proto.url == schema.url == f"{URL}/v1/message:send"
    assert proto.content_type == "application/json"
    assert json.loads(proto.body)["message"]["role"] == "ROLE_USER"
    assert json.loads(schema.body)["message"]["kind"] == "message"


@pytest.mark.parametrize("framing", [PROTO, SCHEMA])
def test_the_ids_of_a_webhook_are_in_the_path(framing: RestFraming) -> None:
    request = DeleteTaskPushNotificationConfigRequest(task_id="t", id="p")
    (sent,) = framing.requests(Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, request)
    assert sent.url == f"{URL}/v1/tasks/t/pushNotificationConfigs/p"


def test_any_2xx_is_a_success() -> None:
    body = json.dumps(TASK).encode()
    assert getattr(NEW.read_answer(GOOD, Operation.GET_TASK, 202, body), "id") == "t"  # noqa: B009 - an answer may be anything
    operation = Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG
    assert NEW.read_answer(GOOD, operation, 204, b"") == Empty()


@pytest.mark.parametrize(
    ("framing", "status", "body", "kind"),
    [
        (
            NEW,
            400,
            {
                "error": {
                    "code": 400,
                    "details": [
                        {
                            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                            "reason": "INVALID_PARAMS",
                        }
                    ],
                }
            },
            InvalidParamsError,
        ),
        (PROTO, 422, {"message": "odd"}, InvalidParamsError),
        (PROTO, 404, {"code": -32001, "message": "gone"}, TaskNotFoundError),
    ],
)
def test_an_error_is_read(
    framing: RestFraming, status: int, body: object, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        framing.read_answer(GOOD, Operation.GET_TASK, status, json.dumps(body).encode())


def test_a_bare_404_is_about_the_route_where_no_task_is_named() -> None:
    (sent,) = PROTO.requests(Operation.SEND_MESSAGE, send())
    with pytest.raises(MethodNotFoundError):
        PROTO.read_answer(sent, Operation.SEND_MESSAGE, 404, b'{"detail": "Not Found"}')
    (sent,) = PROTO.requests(Operation.SEND_MESSAGE, send(task_id="t"))
    with pytest.raises(TaskNotFoundError):
        PROTO.read_answer(sent, Operation.SEND_MESSAGE, 404, b'{"detail": "Not Found"}')


def test_what_is_no_answer_is_told_by_its_status() -> None:
    with pytest.raises(UnavailableError):
        NEW.read_answer(GOOD, Operation.GET_TASK, 502, b"<html>")
    with pytest.raises(MethodNotFoundError):
        NEW.read_answer(GOOD, Operation.GET_TASK, 404, b"")
    with pytest.raises(ProtocolError):
        NEW.read_answer(GOOD, Operation.GET_TASK, 302, b"{}")
    with pytest.raises(ProtocolError):
        NEW.read_answer(GOOD, Operation.GET_TASK, 200, b"<html>")


def test_an_event_is_read() -> None:
    event = NEW.read_event(SseEvent(json.dumps({"task": TASK}).encode()))
    assert event.task is not None
    assert NEW.read_lone_event(GOOD, 200, json.dumps({"task": TASK}).encode()).task is not None


@pytest.mark.parametrize(
    "event",
    [
        SseEvent(b'{"error": "io.a2a.spec.TaskNotFoundError", "message": "gone"}'),
        SseEvent(b'{"code": -32001, "message": "gone"}'),
        SseEvent(b'{"code": -32001, "message": "gone"}', event="error"),
    ],
)
def test_an_error_within_a_stream_is_known_by_its_name_or_its_shape(event: SseEvent) -> None:
    with pytest.raises(TaskNotFoundError):
        PROTO.read_event(event)


@pytest.mark.parametrize("data", [b"<html>", b'{"odd": 1}', b"[1]"])
def test_what_is_no_event_is_a_protocol_error(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        NEW.read_event(SseEvent(data))
