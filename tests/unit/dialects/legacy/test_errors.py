import msgspec
import pytest

from dragoman.dialects.legacy.errors import (
    ERRORS_0_1,
    ERRORS_0_3,
    ErrorTable,
    error_object,
    grpc_error,
    http_error,
)
from dragoman.errors import (
    SPELLINGS,
    A2AError,
    ContentTypeNotSupportedError,
    ExtendedAgentCardNotConfiguredError,
    ExtensionSupportRequiredError,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    MethodNotAllowedError,
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
    UnsupportedMediaTypeError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)

PROBLEMS: list[A2AError] = [
    TaskNotFoundError("t"),
    TaskNotCancelableError("t", "s"),
    PushNotificationNotSupportedError(),
    UnsupportedOperationError(),
    StreamingNotSupportedError(),
    TaskEndedError("t", "s", "now"),
    ContentTypeNotSupportedError(),
    InvalidAgentResponseError(),
    ExtendedAgentCardNotConfiguredError(),
    ExtensionSupportRequiredError(),
    VersionNotSupportedError("9", ("1.0",)),
    JSONParseError(),
    InvalidRequestError(),
    MethodNotFoundError(),
    MethodNotAllowedError(("GET",)),
    InvalidParamsError.of("f", "d"),
    PayloadTooLargeError(),
    UnsupportedMediaTypeError(),
    InternalError(),
    UnavailableError(),
    UnauthenticatedError(),
    PermissionDeniedError(),
    RateLimitedError(),
]
# 0.x reference, 2.6, 3.6 and 5.13: code and message in 0.1, code and message in 0.2 and 0.3.
CODES: dict[type[A2AError], tuple[int, str, int, str]] = {
    TaskNotFoundError: (-32001, "Task not found", -32001, "Task not found"),
    TaskNotCancelableError: (
        *(-32002, "Task cannot be canceled"),
        *(-32002, "Task cannot be canceled"),
    ),
    PushNotificationNotSupportedError: (
        *(-32003, "Push Notification is not supported"),
        *(-32003, "Push Notification is not supported"),
    ),
    UnsupportedOperationError: (
        *(-32004, "This operation is not supported"),
        *(-32004, "This operation is not supported"),
    ),
    StreamingNotSupportedError: (
        *(-32006, "Streaming is not supported"),
        *(-32004, "This operation is not supported"),
    ),
    TaskEndedError: (
        *(-32009, "Invalid task state for operation"),
        *(-32004, "This operation is not supported"),
    ),
    ContentTypeNotSupportedError: (
        *(-32005, "Incompatible content types"),
        *(-32005, "Incompatible content types"),
    ),
    InvalidAgentResponseError: (-32603, "Internal error", -32006, "Invalid agent response"),
    ExtendedAgentCardNotConfiguredError: (
        *(-32601, "Method not found"),
        *(-32007, "Authenticated Extended Card is not configured"),
    ),
    ExtensionSupportRequiredError: (
        *(-32600, "Request payload validation error"),
        *(-32008, "Extension support required"),
    ),
    VersionNotSupportedError: (
        *(-32600, "Request payload validation error"),
        *(-32009, "Protocol version not supported"),
    ),
    JSONParseError: (-32700, "Invalid JSON payload", -32700, "Invalid JSON payload"),
    InvalidRequestError: (
        *(-32600, "Request payload validation error"),
        *(-32600, "Request payload validation error"),
    ),
    MethodNotFoundError: (-32601, "Method not found", -32601, "Method not found"),
    MethodNotAllowedError: (-32601, "Method not found", -32601, "Method not found"),
    InvalidParamsError: (-32602, "Invalid parameters", -32602, "Invalid parameters"),
    PayloadTooLargeError: (
        *(-32600, "Request payload validation error"),
        *(-32600, "Request payload validation error"),
    ),
    UnsupportedMediaTypeError: (
        *(-32600, "Request payload validation error"),
        *(-32600, "Request payload validation error"),
    ),
    InternalError: (-32603, "Internal error", -32603, "Internal error"),
    UnavailableError: (
        *(-32011, "A required resource is unavailable"),
        *(-32603, "Internal error"),
    ),
    UnauthenticatedError: (-32007, "Authentication required", -31401, "Authentication required"),
    PermissionDeniedError: (-32008, "Authorization failed", -31403, "Permission denied"),
    RateLimitedError: (-32010, "Rate limit exceeded", -31429, "Rate limit exceeded"),
}
# 0.x reference, 4.4 and 4.5: HTTP status, gRPC status and name on the routes of 0.3.
STATUSES: dict[type[A2AError], tuple[int, int, str]] = {
    TaskNotFoundError: (404, 5, "TaskNotFoundError"),
    TaskNotCancelableError: (409, 9, "TaskNotCancelableError"),
    PushNotificationNotSupportedError: (501, 12, "PushNotificationNotSupportedError"),
    UnsupportedOperationError: (501, 12, "UnsupportedOperationError"),
    StreamingNotSupportedError: (501, 12, "UnsupportedOperationError"),
    TaskEndedError: (501, 12, "UnsupportedOperationError"),
    ContentTypeNotSupportedError: (415, 12, "ContentTypeNotSupportedError"),
    InvalidAgentResponseError: (502, 13, "InvalidAgentResponseError"),
    ExtendedAgentCardNotConfiguredError: (
        *(404, 2),
        "AuthenticatedExtendedCardNotConfiguredError",
    ),
    ExtensionSupportRequiredError: (400, 9, "ExtensionSupportRequiredError"),
    VersionNotSupportedError: (400, 9, "VersionNotSupportedError"),
    JSONParseError: (400, 13, "JSONParseError"),
    InvalidRequestError: (400, 3, "InvalidRequestError"),
    MethodNotFoundError: (404, 5, "MethodNotFoundError"),
    MethodNotAllowedError: (405, 12, "MethodNotFoundError"),
    InvalidParamsError: (422, 3, "InvalidParamsError"),
    PayloadTooLargeError: (413, 11, "InvalidRequestError"),
    UnsupportedMediaTypeError: (415, 3, "InvalidRequestError"),
    InternalError: (500, 13, "InternalError"),
    UnavailableError: (503, 14, "InternalError"),
    UnauthenticatedError: (401, 16, "UnauthenticatedError"),
    PermissionDeniedError: (403, 7, "PermissionDeniedError"),
    RateLimitedError: (429, 8, "RateLimitedError"),
}


def name(problem: A2AError) -> str:
    return type(problem).__name__


def test_every_error_is_shown() -> None:
    shown = {type(problem) for problem in PROBLEMS}
    assert shown == CODES.keys() == STATUSES.keys()
    assert shown >= SPELLINGS.keys()


@pytest.mark.parametrize("problem", PROBLEMS, ids=name)
def test_code_and_message_are_those_of_the_version(problem: A2AError) -> None:
    old, old_message, code, message = CODES[type(problem)]
    first, second = error_object(problem, ERRORS_0_1), error_object(problem, ERRORS_0_3)
    assert (first["code"], first["message"]) == (old, old_message)
    assert (second["code"], second["message"]) == (code, message)


@pytest.mark.parametrize("table", [ERRORS_0_1, ERRORS_0_3])
@pytest.mark.parametrize("problem", PROBLEMS, ids=name)
def test_the_message_is_a_constant_of_the_code(problem: A2AError, table: ErrorTable) -> None:
    other = type(problem).__new__(type(problem))
    A2AError.__init__(other, "something else")
    error = error_object(other, table)
    assert error["message"] == table.message(table.code(problem))
    data = error["data"]
    assert isinstance(data, dict)
    assert data["detail"] == "something else"


def test_an_error_without_a_row_is_an_internal_one() -> None:
    assert error_object(A2AError("odd"), ERRORS_0_1)["code"] == -32603


def test_what_is_specific_goes_into_data() -> None:
    problem = InvalidParamsError(
        "No.", metadata={"k": "v"}, violations=InvalidParamsError.of("f", "d").violations
    )
    assert msgspec.to_builtins(error_object(problem, ERRORS_0_1)["data"]) == {
        "reason": "INVALID_PARAMS",
        "k": "v",
        "detail": "No.",
        "fieldViolations": ({"field": "f", "description": "d"},),
    }
    assert error_object(UnavailableError(retry_after_seconds=2.5), ERRORS_0_1)["data"] == {
        "reason": "UNAVAILABLE",
        "detail": "Service unavailable",
        "retryAfterSeconds": 2.5,
    }


def test_data_is_left_out_where_there_is_nothing_to_say() -> None:
    assert error_object(MethodNotFoundError(), ERRORS_0_3) == {
        "code": -32601,
        "message": "Method not found",
    }


@pytest.mark.parametrize("problem", PROBLEMS, ids=name)
def test_http_has_a_status_and_a_body_for_all_readers(problem: A2AError) -> None:
    status, body = http_error(problem)
    expected, _, called = STATUSES[type(problem)]
    found = msgspec.json.decode(body)
    assert status == expected
    assert found["code"] == CODES[type(problem)][2]
    assert found["type"] == called
    assert found["error"] == f"io.a2a.spec.{called}"


@pytest.mark.parametrize("problem", PROBLEMS, ids=name)
def test_grpc_has_a_status_and_a_text(problem: A2AError) -> None:
    _, status, called = STATUSES[type(problem)]
    assert grpc_error(problem) == (status, f"{called}: {problem.message}")
