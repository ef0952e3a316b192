"""The errors of 0.1, and those of 0.2 and 0.3, as they are written (0.x reference, 5.13).

A table holds what a version family says differently from 1.0. The message is a constant of the
code, because the schemas of 0.1 want it so; what is specific to one occurrence goes into ``data``,
an object. -32006 to -32009 mean other things in 0.1 than later, so a code is never read without the
table of its version (``dragoman.dialects.legacy.error_readers``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

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
    MethodNotFoundError,
    PermissionDeniedError,
    PushNotificationNotSupportedError,
    RateLimitedError,
    StreamingNotSupportedError,
    TaskEndedError,
    TaskNotCancelableError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
    VersionNotSupportedError,
    spelling_of,
)
from dragoman.model.base import JsonObject

__all__ = (
    "ERRORS_0_1",
    "ERRORS_0_3",
    "NAMES",
    "ErrorTable",
    "error_object",
    "grpc_error",
    "http_error",
)

_encode: Final = msgspec.json.Encoder().encode

Kind = type[A2AError]

# A code that several errors share is read as one of these.
_OWNERS: Final = (
    JSONParseError,
    InvalidRequestError,
    MethodNotFoundError,
    InvalidParamsError,
    InternalError,
)


class ErrorTable(Struct, frozen=True):
    """What a version family says.

    Attributes:
        codes: the errors whose code is not that of 1.0.
        messages: the codes whose message is not the standard message of their error.
        kinds: the error that a code is read as.
    """

    codes: Mapping[Kind, int]
    messages: Mapping[int, str]
    kinds: Mapping[int, Kind]

    @classmethod
    def of(cls, codes: Mapping[Kind, int], messages: Mapping[int, str]) -> ErrorTable:
        """Make a table; the reverse direction is derived."""
        kinds: dict[int, Kind] = {}
        for kind in (*_OWNERS, *SPELLINGS, *codes):
            code = codes[kind] if kind in codes else SPELLINGS[kind].jsonrpc
            kinds.setdefault(code, kind)
        return cls(codes, messages, kinds)

    def code(self, problem: A2AError) -> int:
        """Return the JSON-RPC code of an error."""
        # An error without a row, here or in 1.0, is written as its base.
        rows = (kind for kind in type(problem).__mro__ if kind in self.codes or kind in SPELLINGS)
        kind = next(rows, InternalError)
        return self.codes[kind] if kind in self.codes else SPELLINGS[kind].jsonrpc

    def message(self, code: int) -> str:
        """Return the constant message of a code."""
        return self.messages.get(code) or self.kinds[code].standard_message


# 0.x reference, 2.6 and the last column of 5.13.
ERRORS_0_1: Final = ErrorTable.of(
    {
        StreamingNotSupportedError: -32006,
        TaskEndedError: -32009,
        InvalidAgentResponseError: -32603,
        ExtendedAgentCardNotConfiguredError: -32601,
        ExtensionSupportRequiredError: -32600,
        VersionNotSupportedError: -32600,
        UnauthenticatedError: -32007,
        PermissionDeniedError: -32008,
        RateLimitedError: -32010,
        UnavailableError: -32011,
    },
    {
        -32006: "Streaming is not supported",
        -32008: "Authorization failed",
        -32009: "Invalid task state for operation",
        -32011: "A required resource is unavailable",
    },
)

# 0.x reference, 3.6: the codes are those of 1.0.
ERRORS_0_3: Final = ErrorTable.of({}, {-32007: "Authenticated Extended Card is not configured"})


class _Statuses(NamedTuple):
    http: int
    grpc: int


# 0.x reference, 4.4 and 4.5: what the Python SDK of 0.3 answers; the rest answers as in 1.0.
# One status of gRPC differs: the JavaScript SDK knows a task that cannot be canceled by 9 alone,
# and Python clients tell errors by their text.
_STATUSES: Final[Mapping[Kind, _Statuses]] = {
    JSONParseError: _Statuses(400, 13),
    InvalidParamsError: _Statuses(422, 3),
    TaskNotCancelableError: _Statuses(409, 9),
    PushNotificationNotSupportedError: _Statuses(501, 12),
    UnsupportedOperationError: _Statuses(501, 12),
    ContentTypeNotSupportedError: _Statuses(415, 12),
    InvalidAgentResponseError: _Statuses(502, 13),
    ExtendedAgentCardNotConfiguredError: _Statuses(404, 2),
}

NAMES: Final[Mapping[Kind, str]] = {
    **{kind: kind.__name__ for kind in SPELLINGS},
    ExtendedAgentCardNotConfiguredError: "AuthenticatedExtendedCardNotConfiguredError",
}
"""What the SDKs of 0.3 call an error."""

_JAVA_PACKAGE: Final = "io.a2a.spec."


def error_object(problem: A2AError, table: ErrorTable) -> JsonObject:
    """Return the ``error`` member of a JSON-RPC response."""
    code = table.code(problem)
    message = table.message(code)
    error: JsonObject = {"code": code, "message": message}
    data: JsonObject = {**problem.metadata}
    if problem.message != message:
        data["detail"] = problem.message
    if problem.violations:
        data["fieldViolations"] = problem.violations
    if problem.retry_after_seconds is not None:
        data["retryAfterSeconds"] = problem.retry_after_seconds
    if data:
        error["data"] = {"reason": spelling_of(problem).reason, **data}
    return error


def http_error(problem: A2AError) -> tuple[int, bytes]:
    """Return the status and the body of an error on a REST route of 0.3.

    The one body serves the readers of all SDKs: one looks at ``code``, one at ``type``, one at a
    class name of Java in ``error``, and all show ``message``.
    """
    name = _name_of(problem)
    body = {**error_object(problem, ERRORS_0_3), "type": name, "error": _JAVA_PACKAGE + name}
    return _statuses_of(problem).http, _encode(body)


def grpc_error(problem: A2AError) -> tuple[int, str]:
    """Return the status number and the details text of an error on the gRPC service of 0.3."""
    return _statuses_of(problem).grpc, f"{_name_of(problem)}: {problem.message}"


def _name_of(problem: A2AError) -> str:
    # Peers know the errors that have a code of their own.
    return NAMES[ERRORS_0_3.kinds[ERRORS_0_3.code(problem)]]


def _statuses_of(problem: A2AError) -> _Statuses:
    for kind, statuses in _STATUSES.items():
        if isinstance(problem, kind):
            return statuses
    spelling = spelling_of(problem)
    return _Statuses(spelling.http, spelling.grpc_code)
