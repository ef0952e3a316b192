"""Errors of the RxJS profile: the numbers of 0.3, and what is meant in ``data.reason``.

The profile's own table gives -32001 to -32004 other meanings than 0.3, and contradicts the examples
beside it. Three of its numbers are sent all the same, where nothing else can be meant: in a stream,
when a task has failed because a client tool did not answer, or has failed; and for a context that
the task is not in. A task that is not there has the number of the example, -32001.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from dragoman.dialects.legacy.errors import ERRORS_0_3
from dragoman.errors import (
    A2AError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    PermissionDeniedError,
    spelling_of,
)
from dragoman.model.base import is_object
from dragoman.model.client_tools import CLIENT_TOOLS, FAILURE, INPUT_TIMEOUT, TOOL_FAILED
from dragoman.model.messages import text_of
from dragoman.model.tasks import TaskState

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.events import StreamResponse

__all__ = ("FORBIDDEN_CODE", "error_object", "http_error", "last_error")

_encode: Final = msgspec.json.Encoder().encode

FORBIDDEN_CODE: Final = -32603

_MESSAGES: Final = {
    -32700: "Parse error",
    -32600: "Invalid Request",
    -32601: "Method not found",
    -32602: "Invalid params",
    -32603: "Internal error",
}
_SPOKEN: Final = (InvalidParamsError, InvalidRequestError, JSONParseError)
"""Errors whose reason is a sentence."""

_CONTEXT: Final = "message.contextId"
_PREFIX: Final = "Invalid parameters: "
_LAST: Final = {
    INPUT_TIMEOUT: (-32001, "Input timeout"),
    TOOL_FAILED: (-32002, "Tool execution failed"),
}


def error_object(problem: A2AError) -> JsonObject:
    """Return the ``error`` member of a JSON-RPC response."""
    if isinstance(problem, PermissionDeniedError):
        return {"code": FORBIDDEN_CODE, "message": _forbidden(problem)}
    code = ERRORS_0_3.code(problem)
    data: JsonObject = {**problem.metadata}
    if any(violation.field == _CONTEXT for violation in problem.violations):
        data |= {"reason": "context-not-found", "fieldViolations": problem.violations}
        return {"code": -32003, "message": "Context not found", "data": data}
    if isinstance(problem, _SPOKEN):
        data["reason"] = problem.message.removeprefix(_PREFIX)
    else:
        data["reason"] = spelling_of(problem).reason.lower().replace("_", "-")
    if isinstance(problem, InternalError):
        data["error"] = problem.message
    if problem.violations:
        data["fieldViolations"] = problem.violations
    if problem.retry_after_seconds is not None:
        data["retryAfterSeconds"] = problem.retry_after_seconds
    return {"code": code, "message": _MESSAGES.get(code) or problem.message, "data": data}


def http_error(problem: A2AError) -> tuple[int, bytes]:
    """Return the status and the body of an error on a route."""
    status = spelling_of(problem).http
    told = error_object(problem)
    error = {**told, "code": status, "message": problem.message}
    return status, _encode({"error": error})


def last_error(event: StreamResponse) -> JsonObject | None:
    """Return the error that follows the end of a task, None if none does."""
    status = event.status
    if status is None or status.state is not TaskState.FAILED or status.message is None:
        return None
    entry = (status.message.metadata or {}).get(CLIENT_TOOLS)
    told = entry.get(FAILURE) if is_object(entry) else None
    if not isinstance(told, dict):
        return None
    failure = cast("JsonObject", told)
    found = _LAST.get(str(failure.get("reason")))
    if found is None:
        return None
    data: JsonObject = {"taskId": event.task_id, **failure, "detail": text_of(status.message.parts)}
    return {"code": found[0], "message": found[1], "data": data}


def _forbidden(problem: PermissionDeniedError) -> str:
    text = "Forbidden: Insufficient permissions"
    return f"{text} for skill '{problem.skill_id}'" if problem.skill_id else text
