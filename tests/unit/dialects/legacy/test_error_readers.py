import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.legacy.error_readers import (
    read_error_object,
    read_grpc_error,
    read_http_error,
)
from dragoman.dialects.legacy.errors import (
    ERRORS_0_1,
    ERRORS_0_3,
    ErrorTable,
    error_object,
    grpc_error,
    http_error,
)
from dragoman.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    ExtensionSupportRequiredError,
    FieldViolation,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    MethodNotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    PushNotificationNotSupportedError,
    RateLimitedError,
    StreamingNotSupportedError,
    TaskEndedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)
from tests.support.strategies import json_objects, json_values, texts


def facts(problem: A2AError) -> tuple[object, ...]:
    return (
        problem.message,
        problem.metadata,
        problem.violations,
        problem.retry_after_seconds,
    )


# --- JSON-RPC -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "in_0_1", "in_0_3"),
    [
        (-32700, JSONParseError, JSONParseError),
        (-32600, InvalidRequestError, InvalidRequestError),
        (-32601, MethodNotFoundError, MethodNotFoundError),
        (-32602, InvalidParamsError, InvalidParamsError),
        (-32603, InternalError, InternalError),
        (-32001, TaskNotFoundError, TaskNotFoundError),
        (-32002, TaskNotCancelableError, TaskNotCancelableError),
        (-32003, PushNotificationNotSupportedError, PushNotificationNotSupportedError),
        (-32004, UnsupportedOperationError, UnsupportedOperationError),
        (-32005, ContentTypeNotSupportedError, ContentTypeNotSupportedError),
        # The same numbers, other meanings.
        (-32006, StreamingNotSupportedError, InvalidAgentResponseError),
        (-32007, UnauthenticatedError, ExtendedAgentCardNotConfiguredError),
        (-32008, PermissionDeniedError, ExtensionSupportRequiredError),
        (-32009, TaskEndedError, VersionNotSupportedError),
        (-32010, RateLimitedError, InternalError),
        (-32011, UnavailableError, InternalError),
        (-32050, InternalError, InternalError),
    ],
)
def test_a_code_is_read_by_the_table_of_its_version(
    code: int, in_0_1: type[A2AError], in_0_3: type[A2AError]
) -> None:
    error: dict[str, object] = {"code": code, "message": "m"}
    first, second = read_error_object(error, ERRORS_0_1), read_error_object(error, ERRORS_0_3)
    assert (type(first), type(second)) == (in_0_1, in_0_3)
    assert first.message == second.message == "m"


def test_an_unknown_code_is_kept() -> None:
    problem = read_error_object({"code": -32050, "message": "m"}, ERRORS_0_3)
    assert problem.metadata == {"code": "-32050"}


@pytest.mark.parametrize("table", [ERRORS_0_1, ERRORS_0_3])
@pytest.mark.parametrize(
    "problem",
    [
        TaskNotFoundError("t"),
        TaskNotCancelableError("t", "s"),
        TaskEndedError("t", "s", "now"),
        VersionNotSupportedError("9", ("1.0",)),
        InvalidParamsError.of("f", "d"),
        UnavailableError(retry_after_seconds=2.5),
        PayloadTooLargeError("too large"),
        InvalidAgentResponseError("odd"),
        ExtensionSupportRequiredError("no", metadata={"uri": "u"}),
    ],
)
def test_our_own_errors_read_back(problem: A2AError, table: ErrorTable) -> None:
    wire = msgspec.json.encode(error_object(problem, table))
    read = read_error_object(msgspec.json.decode(wire), table)
    assert isinstance(problem, type(read))
    assert facts(read) == facts(problem)


@pytest.mark.parametrize(
    ("data", "metadata"),
    [
        (None, {}),
        ("text", {"raw": "text"}),
        (5, {"raw": "5"}),
        ({"taskId": "t", "n": 5}, {"taskId": "t", "n": "5"}),
        ([{"@type": "x", "reason": "y", "metadata": {"k": "v"}}, 5], {"k": "v"}),
    ],
)
def test_data_is_read_in_every_form(data: object, metadata: dict[str, str]) -> None:
    problem = read_error_object({"code": -32001, "message": "m", "data": data}, ERRORS_0_3)
    assert type(problem) is TaskNotFoundError
    assert problem.metadata == metadata


# --- HTTP+JSON ----------------------------------------------------------------------------------

REASON = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "TASK_NOT_CANCELABLE"}
BAD = {"@type": "t", "fieldViolations": [{"field": "f", "description": "d"}, 5]}


@pytest.mark.parametrize(
    ("status", "body", "kind", "message"),
    [
        # The Python SDK: a message and a status.
        (404, {"message": "gone"}, TaskNotFoundError, "gone"),
        (422, {"message": "bad"}, InvalidParamsError, "bad"),
        (409, {"message": "m"}, TaskNotCancelableError, "m"),
        (415, {"message": "m"}, ContentTypeNotSupportedError, "m"),
        (501, {"message": "m"}, UnsupportedOperationError, "m"),
        (502, {"message": "m"}, InvalidAgentResponseError, "m"),
        (500, {"message": "unknown exception"}, InternalError, "unknown exception"),
        # The Java SDK: a class name.
        (
            404,
            {"error": "io.a2a.spec.MethodNotFoundError", "message": "m"},
            MethodNotFoundError,
            "m",
        ),
        # The JavaScript SDK: a code.
        (400, {"code": -32003, "message": "m"}, PushNotificationNotSupportedError, "m"),
        # .NET: a problem document, or a string.
        (400, {"type": "about:blank", "title": "T", "detail": "D"}, InvalidRequestError, "D"),
        (400, {"title": "T", "status": 400}, InvalidRequestError, "T"),
        (404, "no such task", TaskNotFoundError, "no such task"),
        # google.rpc.Status.
        (
            400,
            {"error": {"code": 400, "message": "m", "details": [REASON]}},
            TaskNotCancelableError,
            "m",
        ),
        # A code of HTTP in the body.
        (500, {"error": {"code": 500, "message": "m"}}, InternalError, "m"),
        (400, {"error": {"code": -32001, "message": "m"}}, TaskNotFoundError, "m"),
        (400, {"type": "TaskNotFoundError"}, TaskNotFoundError, "Task not found"),
        (401, None, UnauthenticatedError, "Authentication required"),
        (403, [], PermissionDeniedError, "Permission denied"),
        (429, {}, RateLimitedError, "Rate limit exceeded"),
        (503, {}, UnavailableError, "Service unavailable"),
        (418, {}, InternalError, "Internal error"),
    ],
)
def test_every_form_of_the_field_is_read(
    status: int, body: object, kind: type[A2AError], message: str
) -> None:
    problem = read_http_error(status, msgspec.json.encode(body))
    assert type(problem) is kind
    assert problem.message == message


def test_typed_details_are_read() -> None:
    retry = {"@type": "r", "retryDelay": "1.5s"}
    body = {"error": {"code": 400, "message": "m", "details": [REASON, BAD, retry]}}
    problem = read_http_error(400, msgspec.json.encode(body))
    assert problem.violations == (FieldViolation("f", "d"), FieldViolation("", ""))
    assert problem.retry_after_seconds == 1.5
    body["error"]["details"] = [{"retryDelay": "soon"}]
    assert read_http_error(400, msgspec.json.encode(body)).retry_after_seconds is None


def test_a_body_that_is_not_json_leaves_the_status() -> None:
    assert type(read_http_error(404, b"<html>")) is TaskNotFoundError
    assert type(read_http_error(500, b"\xff")) is InternalError


@pytest.mark.parametrize(
    "problem",
    [TaskNotFoundError("t"), InvalidParamsError.of("f", "d"), UnavailableError("later")],
)
def test_our_own_bodies_read_back(problem: A2AError) -> None:
    read = read_http_error(*http_error(problem))
    assert type(read) is type(problem)
    assert facts(read) == facts(problem)


# --- gRPC ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "details", "kind", "message"),
    [
        (
            2,
            "AuthenticatedExtendedCardNotConfiguredError: m",
            ExtendedAgentCardNotConfiguredError,
            "m",
        ),
        (12, "TaskNotCancelableError: m: n", TaskNotCancelableError, "m: n"),
        (5, "gone", TaskNotFoundError, "gone"),
        (12, "what: m", UnsupportedOperationError, "what: m"),
        (3, "", InvalidParamsError, "Invalid parameters"),
        (13, "m", InternalError, "m"),
    ],
)
def test_a_status_is_read_by_its_name_first(
    code: int, details: str, kind: type[A2AError], message: str
) -> None:
    problem = read_grpc_error(code, details)
    assert type(problem) is kind
    assert problem.message == message


def test_our_own_statuses_read_back() -> None:
    read = read_grpc_error(*grpc_error(InvalidParamsError("No.")))
    assert type(read) is InvalidParamsError
    assert read.message == "No."


# --- anything -----------------------------------------------------------------------------------


@given(json_objects, json_values, st.integers(100, 599))
def test_whatever_comes_an_error_comes_of_it(
    error: dict[str, object], data: object, status: int
) -> None:
    for table in (ERRORS_0_1, ERRORS_0_3):
        for value in (error, {**error, "code": data, "message": data, "data": data}):
            assert isinstance(read_error_object(value, table), A2AError)
    for body in (data, error, {"error": data}, {"error": {"details": data}}, {"data": data}):
        assert isinstance(read_http_error(status, msgspec.json.encode(body)), A2AError)


@given(st.integers(), texts)
def test_whatever_status_comes_an_error_comes_of_it(code: int, details: str) -> None:
    assert isinstance(read_grpc_error(code, details), A2AError)
