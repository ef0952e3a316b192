import inspect

import msgspec
import pytest
from hypothesis import given

from dragoman.dialects.base import RpcDialect
from dragoman.dialects.v0_1.codec import V0_1, V0_1_DIALECT
from dragoman.errors import (
    A2AError,
    ExtendedAgentCardNotConfiguredError,
    ExtensionSupportRequiredError,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    PermissionDeniedError,
    RateLimitedError,
    StreamingNotSupportedError,
    TaskEndedError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.operations import Empty, Operation
from dragoman.model.tasks import Task, TaskState, TaskStatus
from tests.support.strategies import json_objects

SEND = b'{"id":"t-9","message":{"role":"user","parts":[{"type":"text","text":"hi"}]}}'
TASK = TaskDocument.of(Task(id="server-id", status=TaskStatus(state=TaskState.WORKING)))


def test_the_dialect_has_all_of_the_port() -> None:
    port = {name for name, _ in inspect.getmembers(RpcDialect) if not name.startswith("_")}
    assert port <= set(dir(V0_1_DIALECT))


def test_the_dialect_is_called_by_its_version_whatever_the_task_is_called() -> None:
    assert V0_1_DIALECT.name == V0_1("t-9").name == "0.1"
    assert V0_1("t-9", has_kind=True).name == "0.1+kind"


def test_a_stream_says_when_it_ends_and_every_send_makes_a_task() -> None:
    assert V0_1_DIALECT.has_final
    assert not V0_1_DIALECT.has_messages


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        (Operation.SEND_MESSAGE, SEND),
        (Operation.SEND_STREAMING_MESSAGE, SEND),
        (Operation.GET_TASK, b'{"id":"t-9"}'),
        (Operation.CANCEL_TASK, b'{"id":"t-9"}'),
    ],
)
def test_the_answer_shows_the_id_that_the_client_knows(operation: Operation, params: bytes) -> None:
    answer = V0_1_DIALECT.decode_request(operation, params).answer
    assert msgspec.json.decode(answer.encode_result(operation, TASK))["id"] == "t-9"


def test_a_send_without_an_id_is_answered_with_ours() -> None:
    params = SEND.replace(b'"id":"t-9",', b"")
    answer = V0_1_DIALECT.decode_request(Operation.SEND_MESSAGE, params).answer
    assert msgspec.json.decode(answer.encode_result(Operation.SEND_MESSAGE, TASK))["id"] == (
        "server-id"
    )


def test_habits_last_beyond_the_send() -> None:
    answer = V0_1(has_kind=True).decode_request(Operation.GET_TASK, b'{"id":"t-9"}').answer
    assert answer.name == "0.1+kind"


def test_what_no_method_asks_for_is_not_written() -> None:
    with pytest.raises(TypeError):
        V0_1_DIALECT.encode_result(Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG, Empty())


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "code", "message"),
    [
        (TaskNotFoundError("t"), -32001, "Task not found"),
        (UnsupportedOperationError(), -32004, "This operation is not supported"),
        (StreamingNotSupportedError(), -32006, "Streaming is not supported"),
        (UnauthenticatedError(), -32007, "Authentication required"),
        (PermissionDeniedError(), -32008, "Authorization failed"),
        (TaskEndedError("t", "completed", "."), -32009, "Invalid task state for operation"),
        (RateLimitedError(), -32010, "Rate limit exceeded"),
        (UnavailableError(), -32011, "A required resource is unavailable"),
        # What later versions call -32006 to -32009 goes by codes that 0.1 knows.
        (InvalidAgentResponseError(), -32603, "Internal error"),
        (ExtendedAgentCardNotConfiguredError(), -32601, "Method not found"),
        (ExtensionSupportRequiredError(), -32600, "Request payload validation error"),
        (VersionNotSupportedError("3.0", ("1.0",)), -32600, "Request payload validation error"),
    ],
)
def test_errors_have_the_codes_and_messages_of_0_1(
    problem: A2AError, code: int, message: str
) -> None:
    error = msgspec.json.decode(V0_1_DIALECT.encode_error(problem))
    assert (error["code"], error["message"]) == (code, message)


def test_details_of_an_error_are_data() -> None:
    error = msgspec.json.decode(
        V0_1_DIALECT.encode_error(InvalidParamsError.of("id", "is required"))
    )
    assert error["message"] == "Invalid parameters"
    assert error["data"]["fieldViolations"] == [{"field": "id", "description": "is required"}]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-32001, TaskNotFoundError),
        (-32006, UnsupportedOperationError),
        (-32007, UnauthenticatedError),
        (-32008, PermissionDeniedError),
        (-32009, UnsupportedOperationError),
        (-32010, RateLimitedError),
        (-32011, UnavailableError),
        (-32603, InternalError),
        (-1, InternalError),
    ],
)
def test_codes_are_read_as_0_1_means_them(code: int, kind: type[A2AError]) -> None:
    error = V0_1_DIALECT.decode_error({"code": code, "message": "no"})
    assert isinstance(error, kind)
    assert error.message == "no"


@given(json_objects)
def test_an_error_comes_of_anything(found: dict[str, object]) -> None:
    assert isinstance(V0_1_DIALECT.decode_error(found), A2AError)


def test_a_webhook_is_told_the_task_under_the_id_of_its_client() -> None:
    event = EventDocument(2, b'{"statusUpdate":{}}')
    assert msgspec.json.decode(V0_1("mine").encode_notification(event, TASK)) == {
        "id": "mine",
        "taskId": "mine",
        "eventType": "taskUpdate",
        "status": {"state": "working"},
    }
