"""Errors on the wire: the typed details that JSON-RPC and HTTP+JSON share, written and read."""

from __future__ import annotations

from typing import Any, Final, TypeGuard, cast

import msgspec

from dragoman.errors import (
    ERROR_DOMAIN,
    SPELLINGS,
    A2AError,
    ContentTypeNotSupportedError,
    FieldViolation,
    InternalError,
    InvalidAgentResponseError,
    InvalidRequestError,
    MethodNotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitedError,
    Spelling,
    TaskNotCancelableError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
)

__all__ = ("MethodNotAllowedError", "decode_error", "details", "spelling_of")

_TYPE: Final = "type.googleapis.com/google.rpc."
ERROR_INFO: Final = _TYPE + "ErrorInfo"
BAD_REQUEST: Final = _TYPE + "BadRequest"
RETRY_INFO: Final = _TYPE + "RetryInfo"


class MethodNotAllowedError(A2AError):
    """The route exists, but not for this HTTP method. Only HTTP can say so."""

    standard_message = "Method not allowed"

    def __init__(self, allow: tuple[str, ...], message: str | None = None) -> None:
        """Name the methods that the route does take; they belong in the Allow header too."""
        super().__init__(message, metadata={"allow": ", ".join(allow)})
        self.allow = allow


# HTTP 405 has no gRPC counterpart of its own; UNIMPLEMENTED is what gRPC says to an unknown method.
_SPELLINGS: Final[dict[type[A2AError], Spelling]] = {
    **SPELLINGS,
    MethodNotAllowedError: Spelling(-32601, 405, "UNIMPLEMENTED", 12, "METHOD_NOT_ALLOWED"),
}


def spelling_of(error: A2AError) -> Spelling:
    """Return how an error is written; a class without a row of its own is written as its base."""
    for kind in type(error).__mro__:
        if kind in _SPELLINGS:
            return _SPELLINGS[kind]
    return _SPELLINGS[InternalError]


def details(error: A2AError) -> list[dict[str, object]]:
    """Return the details of an error; each has an ``@type`` (R-3.3.2-18).

    The first is the ErrorInfo that tells errors apart (R-11.6-6 to R-11.6-8).
    """
    info: dict[str, object] = {
        "@type": ERROR_INFO,
        "reason": spelling_of(error).reason,
        "domain": ERROR_DOMAIN,
    }
    if error.metadata:
        info["metadata"] = error.metadata
    listed = [info]
    if error.violations:
        listed.append({"@type": BAD_REQUEST, "fieldViolations": error.violations})
    if error.retry_after_seconds is not None:
        listed.append({"@type": RETRY_INFO, "retryDelay": _duration(error.retry_after_seconds)})
    return listed


def _duration(seconds: float) -> str:
    """Write a google.protobuf.Duration, to the millisecond."""
    text = f"{seconds:.3f}"
    return text.rstrip("0").rstrip(".") + "s"


# --- reading ------------------------------------------------------------------------------------

# Where peers give neither a reason nor a JSON-RPC code. 409, 415 and 502 are statuses of 1.0.0.
_BY_STATUS: Final[dict[int, type[A2AError]]] = {
    400: InvalidRequestError,
    401: UnauthenticatedError,
    403: PermissionDeniedError,
    404: MethodNotFoundError,
    405: MethodNotAllowedError,
    409: TaskNotCancelableError,
    413: PayloadTooLargeError,
    415: ContentTypeNotSupportedError,
    429: RateLimitedError,
    501: UnsupportedOperationError,
    502: InvalidAgentResponseError,
    503: UnavailableError,
}


def decode_error(
    message: str, found: object, *, code: int | None = None, status: int | None = None
) -> A2AError:
    """Read an error a peer has sent: by its reason, then its JSON-RPC code, then its HTTP status.

    Args:
        found: the ``data`` or ``details`` member, whatever it is; what is not known is skipped.
    """
    info = _detail(found, ERROR_INFO)
    kind = _kind(info.get("reason"), code, status)
    error = kind.__new__(kind)
    # The subclasses take the values they are raised for; a peer has sent the finished message.
    A2AError.__init__(
        error,
        message,
        metadata=_texts(info.get("metadata")),
        violations=tuple(_violations(_detail(found, BAD_REQUEST).get("fieldViolations"))),
        retry_after_seconds=_seconds(_detail(found, RETRY_INFO).get("retryDelay")),
    )
    return error


def _kind(reason: object, code: int | None, status: int | None) -> type[A2AError]:
    by_reason = [kind for kind, spelling in _SPELLINGS.items() if spelling.reason == reason]
    by_code = [kind for kind, spelling in _SPELLINGS.items() if spelling.jsonrpc == code]
    # Two errors may share a reason, or a code; together they are distinct.
    for kind in by_reason:
        if kind in by_code:
            return kind
    if by_reason:
        return by_reason[-1]
    if by_code:
        return by_code[0]
    return _BY_STATUS.get(status or 0, InternalError)


def _detail(found: object, kind: str) -> dict[str, Any]:
    if isinstance(found, list):
        for item in cast("list[object]", found):
            if _is_object(item) and item.get("@type") == kind:
                return item
    return {}


def _violations(found: object) -> list[FieldViolation]:
    items = cast("list[object]", found) if isinstance(found, list) else []
    return [
        FieldViolation(str(item.get("field", "")), str(item.get("description", "")))
        for item in items
        if _is_object(item)
    ]


def _texts(found: object) -> dict[str, str]:
    """Keep metadata readable even where a peer puts lists and objects there (Q-18)."""
    if not _is_object(found):
        return {}
    return {
        key: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for key, value in found.items()
    }


def _seconds(found: object) -> float | None:
    try:
        return float(found.removesuffix("s")) if isinstance(found, str) else None
    except ValueError:
        return None


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)
