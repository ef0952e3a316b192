import json

import pytest

from dragoman.bindings.sse import SseEvent
from dragoman.client.errors import ProtocolError
from dragoman.client.transports.base import HttpRequest
from dragoman.client.transports.jsonrpc import RpcFraming, with_task_named
from dragoman.dialects.base import RpcDialect
from dragoman.dialects.negotiation import Version
from dragoman.dialects.v0_1.codec import V0_1_DIALECT
from dragoman.dialects.v0_3.codec import V0_3_DIALECT
from dragoman.dialects.v1_0.codec import V1_0_DIALECT
from dragoman.errors import (
    InvalidAgentResponseError,
    MethodNotFoundError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.model.operations import (
    GetExtendedAgentCardRequest,
    GetTaskRequest,
    ListTasksRequest,
    Operation,
    SendMessageRequest,
)
from dragoman.model.tasks import Task
from tests.support.client.fakes import send

URL = "http://agent.test/rpc"
TASK = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}


def framing(version: str = "1.0") -> RpcFraming:
    dialects: dict[str, RpcDialect] = {
        "1.0": V1_0_DIALECT,
        "0.3": V0_3_DIALECT,
        "0.2": V0_3_DIALECT,
        "0.1": V0_1_DIALECT,
    }
    major, minor = version.split(".")
    return RpcFraming(dialects[version], URL, Version(int(major), int(minor)))


def answer(**members: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, **members}).encode()


def read(framing: RpcFraming, body: bytes, status: int = 200) -> object:
    (sent,) = framing.requests(Operation.GET_TASK, GetTaskRequest(id="t"))
    return framing.read_answer(sent, Operation.GET_TASK, status, body)


@pytest.mark.requirement("R-9.3-1", "R-A.2-1")
def test_a_request_is_an_envelope_around_the_params() -> None:
    wire = framing()
    (first,) = wire.requests(Operation.GET_TASK, GetTaskRequest(id="t"))
    (second,) = wire.requests(Operation.GET_TASK, GetTaskRequest(id="t"))
    assert (first.verb, first.url, first.content_type) == ("POST", URL, "application/json")
    assert json.loads(first.body) == {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "GetTask",
        "params": {"id": "t"},
    }
    assert json.loads(second.body)["id"] == 2


@pytest.mark.parametrize(
    ("version", "method"), [("0.3", "message/send"), ("0.2", "message/send"), ("0.1", "tasks/send")]
)
def test_methods_have_the_names_of_the_version(version: str, method: str) -> None:
    (sent,) = framing(version).requests(Operation.SEND_MESSAGE, send())
    assert json.loads(sent.body)["method"] == method


def test_what_a_version_does_not_have_is_refused_here() -> None:
    with pytest.raises(UnsupportedOperationError, match=r"A2A 0\.1 has no ListTasks"):
        framing("0.1").requests(Operation.LIST_TASKS, ListTasksRequest())


def test_in_0_1_the_client_names_the_task() -> None:
    (sent,) = framing("0.1").requests(Operation.SEND_MESSAGE, send(message_id="m-7"))
    assert json.loads(sent.body)["params"]["id"] == "m-7"


def test_a_task_that_is_named_stays_so() -> None:
    request = send(task_id="t")
    assert with_task_named(request) is request
    other = GetTaskRequest(id="t")
    assert with_task_named(other) is other
    named = with_task_named(send(message_id="m-7"))
    assert isinstance(named, SendMessageRequest)
    assert named.message.task_id == "m-7"


def test_an_answer_is_read() -> None:
    found = read(framing(), answer(result=TASK))
    assert isinstance(found, Task)
    assert found.id == "t"


@pytest.mark.parametrize("status", [200, 404, 500])
def test_an_error_is_raised_whatever_the_status(status: int) -> None:
    with pytest.raises(TaskNotFoundError, match="gone"):
        read(framing(), answer(error={"code": -32001, "message": "gone"}), status)


def test_what_an_agent_says_of_its_own_answer_is_no_protocol_error() -> None:
    with pytest.raises(InvalidAgentResponseError):
        read(framing(), answer(error={"code": -32006, "message": "broken"}))


def test_what_is_no_response_is_told_by_its_status() -> None:
    with pytest.raises(MethodNotFoundError):
        read(framing(), b"<html>", 404)
    with pytest.raises(UnavailableError):
        read(framing(), b"<html>", 502)
    with pytest.raises(ProtocolError, match="not a JSON-RPC"):
        read(framing(), b"<html>")


def test_a_result_that_is_none_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="id is required"):
        read(framing("0.3"), answer(result={"kind": "task"}))


def test_an_event_is_read() -> None:
    event = framing().read_event(SseEvent(answer(result={"task": TASK})))
    assert event.task is not None
    with pytest.raises(TaskNotFoundError):
        framing().read_event(SseEvent(answer(error={"code": -32001, "message": ""})))
    with pytest.raises(ProtocolError):
        framing().read_event(SseEvent(answer(result={"nothing": 1})))


def test_what_comes_in_place_of_a_stream_is_read() -> None:
    wire = framing()
    sent = HttpRequest("POST", URL)
    assert wire.read_lone_event(sent, 200, answer(result={"task": TASK})).task is not None
    with pytest.raises(TaskNotFoundError):
        wire.read_lone_event(sent, 200, answer(error={"code": -32001, "message": ""}))


def test_0_2_has_the_extended_card_at_a_url_of_its_own() -> None:
    wire, operation = framing("0.2"), Operation.GET_EXTENDED_AGENT_CARD
    sent, other = wire.requests(operation, GetExtendedAgentCardRequest())
    # 3.2: without the last segment of the URL, or, for some, below it.
    beside = "http://agent.test/agent/authenticatedExtendedCard"
    assert (sent.verb, sent.url) == ("GET", beside)
    assert (other.verb, other.url) == ("GET", f"{URL}/agent/authenticatedExtendedCard")
    card = wire.read_answer(sent, operation, 200, b'{"name": "A", "url": "http://a.test"}')
    assert getattr(card, "name") == "A"  # noqa: B009 - an answer may be anything
    with pytest.raises(MethodNotFoundError):
        wire.read_answer(sent, operation, 404, b"")


def test_marks_stand_beside_what_the_dialect_writes_unless_it_says_the_same() -> None:
    marked = RpcFraming(V1_0_DIALECT, URL, Version(1, 0), {"x:for": "bob", "id": "u"})
    (get,) = marked.requests(Operation.GET_TASK, GetTaskRequest(id="t"))
    assert json.loads(get.body)["params"] == {"x:for": "bob", "id": "t"}
    (bare,) = marked.requests(Operation.GET_EXTENDED_AGENT_CARD, GetExtendedAgentCardRequest())
    assert json.loads(bare.body)["params"] == {"x:for": "bob", "id": "u"}
