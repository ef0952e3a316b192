"""Failures of the command line: what they are called, and the exit code each means.

A failure that the protocol has a name for keeps it. The names ``A2ACLI_ERR_*`` are a closed list
for what lies outside the protocol; a name of our own has another prefix. What the agent decided
about a task is never a failure.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from dragoman.auth.outgoing.errors import CredentialsError, MissingCredentialsError
from dragoman.client.errors import (
    CardInvalidError,
    CardNotFoundError,
    CatalogError,
    ClientError,
    CutError,
    ProtocolError,
    TimedOutError,
    UnreachableError,
)
from dragoman.errors import (
    SPELLINGS,
    A2AError,
    DragomanError,
    InvalidRequestError,
    MethodNotAllowedError,
    MethodNotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitedError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedMediaTypeError,
    UsageError,
    VersionNotSupportedError,
    spelling_of,
)

__all__ = (
    "AUTH_FAILED",
    "CARD_INVALID",
    "CARD_NOT_FOUND",
    "CREDENTIALS_MISSING",
    "EXIT_CODES",
    "FAILURE",
    "INTERNAL",
    "INTERRUPTED",
    "TIMEOUT",
    "UNREACHABLE",
    "USAGE",
    "CliError",
    "Failure",
    "failure_of",
    "in_words",
)

USAGE: Final = "A2ACLI_ERR_USAGE"
CARD_NOT_FOUND: Final = "A2ACLI_ERR_CARD_NOT_FOUND"
CARD_INVALID: Final = "A2ACLI_ERR_CARD_INVALID"
UNREACHABLE: Final = "A2ACLI_ERR_UNREACHABLE"
CREDENTIALS_MISSING: Final = "A2ACLI_ERR_CREDENTIALS_MISSING"
AUTH_FAILED: Final = "A2ACLI_ERR_AUTH_FAILED"
TIMEOUT: Final = "A2ACLI_ERR_TIMEOUT"
INTERNAL: Final = "A2ACLI_ERR_INTERNAL"
INTERRUPTED: Final = "DRAGOMAN_ERR_INTERRUPTED"

FAILURE: Final = 1
"""The exit code of what has none of its own: every error that the protocol names."""

EXIT_CODES: Final = {
    USAGE: 2,
    CARD_NOT_FOUND: 3,
    CARD_INVALID: FAILURE,
    UNREACHABLE: 3,
    CREDENTIALS_MISSING: 4,
    AUTH_FAILED: 4,
    TIMEOUT: 5,
    INTERNAL: FAILURE,
    INTERRUPTED: 130,
}

# Errors of ours that the protocol has no name for, by the nearest name it has.
_NAMED_AS: Final[dict[type[A2AError], str]] = {
    MethodNotAllowedError: MethodNotFoundError.__name__,
    PayloadTooLargeError: InvalidRequestError.__name__,
    UnsupportedMediaTypeError: InvalidRequestError.__name__,
    # No answer of A2A at all: the service in front of the agent, or the agent, is too busy.
    UnavailableError: INTERNAL,
    RateLimitedError: INTERNAL,
    PermissionDeniedError: AUTH_FAILED,
    UnauthenticatedError: AUTH_FAILED,
}

_LOCAL: Final[tuple[tuple[type[DragomanError], str], ...]] = (
    (UsageError, USAGE),
    (MissingCredentialsError, CREDENTIALS_MISSING),
    (CredentialsError, AUTH_FAILED),
    (CardNotFoundError, CARD_NOT_FOUND),
    (CatalogError, CARD_NOT_FOUND),
    (CardInvalidError, CARD_INVALID),
    (UnreachableError, UNREACHABLE),
    (CutError, UNREACHABLE),
    (TimedOutError, TIMEOUT),
    (ProtocolError, "InvalidAgentResponseError"),
    (ClientError, INTERNAL),
)


class Failure(Struct, frozen=True):
    """Why a command has no result.

    Attributes:
        hint: what to do next, a command where there is one.
        a2a_code: what the binding calls it: a JSON-RPC code, an HTTP status, a status of gRPC.
    """

    code: str
    message: str
    hint: str | None = None
    a2a_code: int | str | None = None

    @property
    def exit_code(self) -> int:
        """Return what the process ends with."""
        return EXIT_CODES.get(self.code, FAILURE)

    def document(self) -> bytes:
        """Write the error object, the only shape that the command line owns."""
        error = {
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
            "a2aCode": self.a2a_code,
        }
        return msgspec.json.encode({"error": error})


class CliError(DragomanError):
    """A failure that is known for what it is where it happens."""

    def __init__(self, failure: Failure) -> None:
        """Keep what is to be told."""
        super().__init__(failure.message)
        self.failure = failure


def failure_of(
    problem: Exception, *, binding: str | None = None, has_credentials: bool = False
) -> Failure:
    """Class a failure.

    Args:
        binding: how the agent was asked, None if it was not.
        has_credentials: something was shown to the agent, so it is that which it refuses.
    """
    match problem:
        case CliError():
            return problem.failure
        case UnauthenticatedError() if not has_credentials:
            return Failure(CREDENTIALS_MISSING, str(problem), None, _a2a_code(problem, binding))
        case A2AError():
            code = _protocol_name(problem)
            return Failure(code, str(problem), _hint_of(problem), _a2a_code(problem, binding))
        case DragomanError():
            code = next((code for kind, code in _LOCAL if isinstance(problem, kind)), INTERNAL)
            is_of_catalog = isinstance(problem, CatalogError)
            hint = "see what there is with catalog list" if is_of_catalog else None
            return Failure(code, str(problem), hint)
        case _:
            told = (
                f"{type(problem).__name__}: {problem}" if str(problem) else type(problem).__name__
            )
            return Failure(INTERNAL, told, "add --debug to see where this happened")


def in_words(seconds: float) -> str:
    """Return a time as it stands in a sentence."""
    return "1 second" if seconds == 1 else f"{seconds:g} seconds"


def _protocol_name(problem: A2AError) -> str:
    kind = next((each for each in type(problem).__mro__ if each in SPELLINGS), type(problem))
    return _NAMED_AS.get(kind, kind.__name__)


def _a2a_code(problem: A2AError, binding: str | None) -> int | str | None:
    spelling = spelling_of(problem)
    match binding:
        case "JSONRPC":
            return spelling.jsonrpc
        case "HTTP+JSON":
            return spelling.http
        case "GRPC":
            return spelling.grpc
        case _:
            return None


def _hint_of(problem: A2AError) -> str:
    if isinstance(problem, VersionNotSupportedError):
        return "speak another version with --a2a-version, or any with --legacy"
    if problem.retry_after_seconds is not None:
        return f"try again in {in_words(problem.retry_after_seconds)}"
    return "add --debug to see what was exchanged"
