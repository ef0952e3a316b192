import pytest

from dragoman import errors
from dragoman.errors import (
    ERROR_DOMAIN,
    SPELLINGS,
    A2AError,
    ConflictError,
    DivergedError,
    FieldViolation,
    InvalidAgentResponseError,
    InvalidParamsError,
    NoAnswerError,
    PermissionDeniedError,
    StreamingNotSupportedError,
    TaskEndedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnknownTenantError,
    VersionNotSupportedError,
    spelling_of,
)

# Section 6 of the reference, v1.0.1 columns.
SECTION_6 = [
    ("TaskNotFoundError", -32001, 404, "NOT_FOUND", 5, "TASK_NOT_FOUND"),
    ("TaskNotCancelableError", -32002, 400, "FAILED_PRECONDITION", 9, "TASK_NOT_CANCELABLE"),
    (
        "PushNotificationNotSupportedError",
        -32003,
        400,
        "FAILED_PRECONDITION",
        9,
        "PUSH_NOTIFICATION_NOT_SUPPORTED",
    ),
    ("UnsupportedOperationError", -32004, 400, "FAILED_PRECONDITION", 9, "UNSUPPORTED_OPERATION"),
    (
        "ContentTypeNotSupportedError",
        -32005,
        400,
        "INVALID_ARGUMENT",
        3,
        "CONTENT_TYPE_NOT_SUPPORTED",
    ),
    ("InvalidAgentResponseError", -32006, 500, "INTERNAL", 13, "INVALID_AGENT_RESPONSE"),
    (
        "ExtendedAgentCardNotConfiguredError",
        -32007,
        400,
        "FAILED_PRECONDITION",
        9,
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED",
    ),
    (
        "ExtensionSupportRequiredError",
        -32008,
        400,
        "FAILED_PRECONDITION",
        9,
        "EXTENSION_SUPPORT_REQUIRED",
    ),
    ("VersionNotSupportedError", -32009, 400, "FAILED_PRECONDITION", 9, "VERSION_NOT_SUPPORTED"),
    ("JSONParseError", -32700, 400, "INVALID_ARGUMENT", 3, "INVALID_REQUEST"),
    ("InvalidRequestError", -32600, 400, "INVALID_ARGUMENT", 3, "INVALID_REQUEST"),
    ("MethodNotFoundError", -32601, 404, "NOT_FOUND", 5, "METHOD_NOT_FOUND"),
    ("InvalidParamsError", -32602, 400, "INVALID_ARGUMENT", 3, "INVALID_PARAMS"),
    ("InternalError", -32603, 500, "INTERNAL", 13, "INTERNAL_ERROR"),
    ("UnavailableError", -32603, 503, "UNAVAILABLE", 14, "UNAVAILABLE"),
    ("UnauthenticatedError", -31401, 401, "UNAUTHENTICATED", 16, "UNAUTHENTICATED"),
    ("PermissionDeniedError", -31403, 403, "PERMISSION_DENIED", 7, "PERMISSION_DENIED"),
    ("RateLimitedError", -31429, 429, "RESOURCE_EXHAUSTED", 8, "RATE_LIMITED"),
]
A2A_ERRORS = SECTION_6[:9]


@pytest.mark.requirement("R-5.4-1", "R-5.1-3", "R-9.5-3")
def test_the_table_is_section_6_of_the_reference() -> None:
    table = {
        (kind.__name__, row.jsonrpc, row.http, row.grpc, row.grpc_code, row.reason)
        for kind, row in SPELLINGS.items()
    }
    more = {name for name, *_ in table - set(SECTION_6)}
    assert table >= set(SECTION_6)
    # General HTTP meanings (section 4.4) that the error table does not list.
    assert more == {
        "MethodNotAllowedError",
        "PayloadTooLargeError",
        "UnsupportedMediaTypeError",
    }


@pytest.mark.requirement("R-3.3.2-17")
def test_every_error_a_peer_can_see_is_in_the_table_and_has_a_message() -> None:
    public = [getattr(errors, name) for name in errors.__all__]
    kinds = {kind for kind in public if isinstance(kind, type) and issubclass(kind, A2AError)}
    # Only 0.1 tells the first two from what they are kinds of, and no version the third. The last
    # is for our own log.
    kinds -= {StreamingNotSupportedError, TaskEndedError, DivergedError, UnknownTenantError}
    assert kinds - {A2AError} == set(SPELLINGS)
    messages = {kind.standard_message for kind in kinds}
    assert len(messages) == len(kinds)


@pytest.mark.requirement("R-11.6-7")
def test_the_reason_of_an_a2a_error_is_its_name_in_upper_snake_case() -> None:
    for name, *_, reason in A2A_ERRORS:
        words = "".join(f"_{c}" if c.isupper() else c for c in name.removesuffix("Error"))
        assert reason == words.removeprefix("_").upper()


@pytest.mark.requirement("R-9.5-4")
def test_a2a_errors_stay_in_their_range() -> None:
    assert all(-32099 <= code <= -32001 for _, code, *_ in A2A_ERRORS)


@pytest.mark.requirement("R-11.6-8")
def test_the_domain_is_that_of_the_protocol() -> None:
    assert ERROR_DOMAIN == "a2a-protocol.org"


def test_errors_carry_values_and_build_their_own_message() -> None:
    assert TaskNotFoundError("t-9").metadata == {"taskId": "t-9"}
    canceled = TaskNotCancelableError("t-9", "TASK_STATE_COMPLETED")
    assert canceled.metadata == {"taskId": "t-9", "state": "TASK_STATE_COMPLETED"}
    assert str(canceled) == "Task cannot be canceled: it is in TASK_STATE_COMPLETED"
    assert UnavailableError().retry_after_seconds == 1.0
    version = VersionNotSupportedError("2.0", ("1.0", "0.3"))
    assert version.metadata == {"requestedVersion": "2.0", "supportedVersions": "1.0,0.3"}


def test_a_call_out_of_place_is_an_invalid_response_of_the_agent() -> None:
    diverged = DivergedError("step 'pay'", "now")
    assert spelling_of(diverged) == SPELLINGS[InvalidAgentResponseError]
    assert "step 'pay' was recorded here" in str(diverged)


def test_who_waits_in_vain_may_catch_a_timeout() -> None:
    assert issubclass(NoAnswerError, TimeoutError)
    assert not issubclass(NoAnswerError, A2AError)


def test_a_lost_append_names_its_task() -> None:
    assert ConflictError("t-9").task_id == "t-9"


def test_one_wrong_field_makes_an_invalid_params_error() -> None:
    wrong = InvalidParamsError.of("id", "is required")
    assert str(wrong) == "Invalid parameters: id is required"
    assert wrong.violations == (FieldViolation("id", "is required"),)
    assert (
        str(InvalidParamsError.of("", "expected object")) == "Invalid parameters: expected object"
    )


# --- who may do what ----------------------------------------------------------------------------


@pytest.mark.requirement("R-3.3.2-4", "R-3.3.2-5")
def test_challenges_are_told_where_there_are_no_headers() -> None:
    error = UnauthenticatedError(challenges=('Bearer realm="a2a"', "Basic"))
    assert error.challenges == ('Bearer realm="a2a"', "Basic")
    assert error.metadata == {"wwwAuthenticate": 'Bearer realm="a2a", Basic'}
    assert UnauthenticatedError("No").metadata == {}


@pytest.mark.requirement("R-3.3.2-7")
def test_missing_scopes_are_named_in_one_order() -> None:
    error = PermissionDeniedError.for_want_of({"write", "read"})
    assert error.message == "Permission denied: this needs the scope read, write"
    assert error.metadata == {"missingScopes": "read write"}


def test_a_tenant_is_unknown_in_one_way() -> None:
    error = UnknownTenantError()
    assert spelling_of(error) == SPELLINGS[InvalidParamsError]
    assert error.violations == (FieldViolation("tenant", "is not a tenant served here"),)
