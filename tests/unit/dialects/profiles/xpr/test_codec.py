import inspect

import msgspec
import pytest
from hypothesis import given

from dragoman.dialects.base import RpcDialect
from dragoman.dialects.profiles.xpr.codec import XPR_DIALECT, Xpr, heard_from
from dragoman.errors import RateLimitedError, UnauthenticatedError, UnsupportedOperationError
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.operations import Empty, Operation, SendMessageRequest
from dragoman.model.tasks import Task, TaskState, TaskStatus
from tests.support.strategies import json_objects

SEND = b'{"id":"t-9","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}'
TASK = TaskDocument.of(Task(id="server-id", status=TaskStatus(state=TaskState.WORKING)))


def test_the_dialect_has_all_of_the_port() -> None:
    port = {name for name, _ in inspect.getmembers(RpcDialect) if not name.startswith("_")}
    assert port <= set(dir(XPR_DIALECT))
    assert XPR_DIALECT.name == "xpr"


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        (Operation.SEND_MESSAGE, SEND),
        (Operation.GET_TASK, b'{"id":"t-9"}'),
        (Operation.CANCEL_TASK, b'{"id":"t-9"}'),
    ],
)
def test_the_answer_shows_the_id_that_the_client_knows(operation: Operation, params: bytes) -> None:
    reading = XPR_DIALECT.decode_request(operation, params)
    written = msgspec.json.decode(reading.answer.encode_result(operation, TASK))
    assert written == {"id": "t-9", "status": {"state": "working"}}
    assert reading.begins_anew is (operation is Operation.SEND_MESSAGE)


def test_an_answer_names_the_owner() -> None:
    answer = Xpr("t-9").owned_by("alice")
    written = msgspec.json.decode(answer.encode_result(Operation.GET_TASK, TASK))
    assert (written["id"], written["owner"]) == ("t-9", "alice")


def test_nothing_streams_and_nothing_else_is_answered() -> None:
    with pytest.raises(UnsupportedOperationError):
        XPR_DIALECT.frame_writer()
    with pytest.raises(UnsupportedOperationError):
        XPR_DIALECT.decode_event(b"{}")
    with pytest.raises(TypeError):
        XPR_DIALECT.encode_result(Operation.GET_TASK, Empty())


def test_a_webhook_that_another_form_has_registered_is_told_the_task() -> None:
    told = XPR_DIALECT.encode_notification(EventDocument(1, b"{}"), TASK)
    assert msgspec.json.decode(told)["id"] == "server-id"


def test_errors_are_read_as_they_are_written() -> None:
    written = XPR_DIALECT.encode_error(RateLimitedError("too often", retry_after_seconds=7))
    assert msgspec.json.decode(written) == {
        "code": -32000,
        "message": "too often",
        "data": {"retryAfter": 7},
    }
    read = XPR_DIALECT.decode_error({"code": -32000, "message": "KYC level 0 below minimum 1"})
    assert isinstance(read, UnauthenticatedError)
    assert str(read) == "KYC level 0 below minimum 1"


@given(json_objects)
def test_whatever_comes_an_error_comes_of_it(error: dict[str, object]) -> None:
    assert str(XPR_DIALECT.decode_error(error))


@pytest.mark.parametrize(
    ("account", "expected"),
    [
        ("alice", {"k": 1, "xpr:callerAccount": "alice"}),
        ("", {"k": 1, "xpr:claimedAccount": "bob"}),
    ],
)
def test_who_calls_is_not_for_the_request_to_say(account: str, expected: dict[str, object]) -> None:
    params = {
        **msgspec.json.decode(SEND),
        "xpr:callerAccount": "bob",
        "metadata": {"k": 1, "xpr:callerAccount": "eve", "xpr:claimedAccount": "eve"},
    }
    read = XPR_DIALECT.decode_request(Operation.SEND_MESSAGE, msgspec.json.encode(params))
    assert isinstance(read.request, SendMessageRequest)
    request = heard_from(read.request, account)
    assert request.metadata == expected
    assert request.message.metadata == {"k": 1}


def test_what_says_nothing_of_who_calls_is_left_as_it_is() -> None:
    read = XPR_DIALECT.decode_request(Operation.SEND_MESSAGE, SEND).request
    assert isinstance(read, SendMessageRequest)
    assert heard_from(read, "") == read
