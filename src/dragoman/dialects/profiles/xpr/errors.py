"""Errors as the XPR network writes them.

Who may not call hears -32000, whether it is for its signature, for want of trust or for its rate:
the words tell which. Errors ride on HTTP 200. ``legacy_error_readers`` reads them by the same
table.
"""

from __future__ import annotations

import math
from typing import Final

from msgspec.structs import replace

from dragoman.dialects.legacy.errors import ErrorTable
from dragoman.errors import (
    A2AError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
)
from dragoman.model.base import JsonObject

__all__ = ("ERRORS_XPR", "error_object")

_NOT_LET_IN: Final = -32000
_UNSIGNED: Final = (
    "Authentication required: X-XPR-Account, X-XPR-Timestamp, and X-XPR-Signature headers are "
    "required"
)

_TABLE: Final = ErrorTable.of(
    {
        UnauthenticatedError: _NOT_LET_IN,
        PermissionDeniedError: _NOT_LET_IN,
        RateLimitedError: _NOT_LET_IN,
        # The chain is away, or too much is going on; -32603 is for agents that fail.
        UnavailableError: _NOT_LET_IN,
    },
    {},
)
# Of the several that share a code, the one that trying again does not help with.
ERRORS_XPR: Final = replace(_TABLE, kinds={**_TABLE.kinds, _NOT_LET_IN: UnauthenticatedError})


def error_object(problem: A2AError) -> JsonObject:
    """Return the ``error`` member of a JSON-RPC response."""
    error: JsonObject = {"code": ERRORS_XPR.code(problem), "message": _message(problem)}
    if problem.retry_after_seconds is not None:
        error["data"] = {"retryAfter": math.ceil(problem.retry_after_seconds)}
    return error


def _message(problem: A2AError) -> str:
    match problem:
        case TaskNotFoundError():
            return f"Task not found: {problem.metadata['taskId']}"
        case TaskNotCancelableError():
            state = problem.metadata["state"].removeprefix("TASK_STATE_").lower()
            return f"Task already {state}"
        case UnauthenticatedError() if problem.message == problem.standard_message:
            return _UNSIGNED
        case _:
            return problem.message
