import pytest

from dragoman.auth.outgoing.errors import MissingCredentialsError, TokenRefusedError
from dragoman.cli.errors import EXIT_CODES, CliError, Failure, failure_of
from dragoman.client.errors import (
    CardInvalidError,
    CardNotFoundError,
    CutError,
    NoInterfaceError,
    ProtocolError,
    TimedOutError,
    UnreachableError,
)
from dragoman.errors import (
    SPELLINGS,
    A2AError,
    InternalError,
    MethodNotAllowedError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitedError,
    StreamingNotSupportedError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UsageError,
    VersionNotSupportedError,
)

NAMES = {
    "TaskNotFoundError",
    "TaskNotCancelableError",
    "PushNotificationNotSupportedError",
    "UnsupportedOperationError",
    "ContentTypeNotSupportedError",
    "InvalidAgentResponseError",
    "ExtendedAgentCardNotConfiguredError",
    "ExtensionSupportRequiredError",
    "VersionNotSupportedError",
    "JSONParseError",
    "InvalidRequestError",
    "MethodNotFoundError",
    "InvalidParamsError",
    "InternalError",
}


@pytest.mark.parametrize("kind", SPELLINGS, ids=lambda kind: kind.__name__)
def test_an_error_has_a_name_of_the_protocol_or_one_of_ours(kind: type[A2AError]) -> None:
    problem = kind.__new__(kind)
    A2AError.__init__(problem, "No.")
    failure = failure_of(problem, binding="JSONRPC", has_credentials=True)
    assert failure.code in NAMES or failure.code in EXIT_CODES
    assert failure.message == "No."
    assert failure.a2a_code == SPELLINGS[kind].jsonrpc


@pytest.mark.parametrize(
    ("problem", "code", "exit_code"),
    [
        (UsageError("x"), "A2ACLI_ERR_USAGE", 2),
        (CardNotFoundError((("a", "b"),)), "A2ACLI_ERR_CARD_NOT_FOUND", 3),
        (CardInvalidError("a", "b"), "A2ACLI_ERR_CARD_INVALID", 1),
        (UnreachableError("a", "b"), "A2ACLI_ERR_UNREACHABLE", 3),
        (CutError("a", "b"), "A2ACLI_ERR_UNREACHABLE", 3),
        (TimedOutError("a"), "A2ACLI_ERR_TIMEOUT", 5),
        (ProtocolError("a", "b"), "InvalidAgentResponseError", 1),
        (NoInterfaceError(("a",)), "A2ACLI_ERR_INTERNAL", 1),
        (MissingCredentialsError(("a",)), "A2ACLI_ERR_CREDENTIALS_MISSING", 4),
        (TokenRefusedError("a", "b"), "A2ACLI_ERR_AUTH_FAILED", 4),
        (UnauthenticatedError(), "A2ACLI_ERR_CREDENTIALS_MISSING", 4),
        (PermissionDeniedError(), "A2ACLI_ERR_AUTH_FAILED", 4),
        (RateLimitedError(), "A2ACLI_ERR_INTERNAL", 1),
        (UnavailableError(), "A2ACLI_ERR_INTERNAL", 1),
        (StreamingNotSupportedError(), "UnsupportedOperationError", 1),
        (MethodNotAllowedError(("GET",)), "MethodNotFoundError", 1),
        (PayloadTooLargeError(), "InvalidRequestError", 1),
        (InternalError(), "InternalError", 1),
        (ValueError("x"), "A2ACLI_ERR_INTERNAL", 1),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_failure_is_classed(problem: Exception, code: str, exit_code: int) -> None:
    failure = failure_of(problem)
    assert (failure.code, failure.exit_code) == (code, exit_code)


def test_refused_credentials_are_another_failure_than_missing_ones() -> None:
    failure = failure_of(UnauthenticatedError(), has_credentials=True)
    assert failure.code == "A2ACLI_ERR_AUTH_FAILED"


@pytest.mark.parametrize(
    ("binding", "code"),
    [("JSONRPC", -32001), ("HTTP+JSON", 404), ("GRPC", "NOT_FOUND"), (None, None)],
)
def test_the_code_is_the_binding_s(binding: str | None, code: object) -> None:
    assert failure_of(TaskNotFoundError("t"), binding=binding).a2a_code == code


def test_a_failure_says_what_to_do_next() -> None:
    assert "--debug" in (failure_of(TaskNotFoundError("t")).hint or "")
    assert "--legacy" in (failure_of(VersionNotSupportedError("1.0", ("0.3",))).hint or "")
    assert failure_of(UnavailableError(retry_after_seconds=7)).hint == "try again in 7 seconds"
    assert failure_of(UnavailableError(retry_after_seconds=1.0)).hint == "try again in 1 second"
    assert "--debug" in (failure_of(KeyError("x")).hint or "")


def test_what_is_known_for_what_it_is_stays_so() -> None:
    failure = Failure("A2ACLI_ERR_TIMEOUT", "late")
    assert failure_of(CliError(failure)) is failure


def test_an_error_without_a_text_is_named() -> None:
    assert failure_of(KeyError()).message == "KeyError"
