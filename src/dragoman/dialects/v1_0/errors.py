"""Errors in 1.0: their objects on JSON-RPC and HTTP+JSON and the typed details both share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeGuard

import msgspec

from dragoman.dialects.violations import DECODER_ERRORS
from dragoman.errors import (
    ERROR_DOMAIN,
    SPELLINGS,
    A2AError,
    ContentTypeNotSupportedError,
    FieldViolation,
    InternalError,
    InvalidAgentResponseError,
    InvalidRequestError,
    MethodNotAllowedError,
    MethodNotFoundError,
    PayloadTooLargeError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotCancelableError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
    spelling_of,
)
from dragoman.model.base import is_array

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = (
    "decode_details",
    "decode_error",
    "decode_http_error",
    "details",
    "encode_error",
    "encode_http_error",
)

_TYPE: Final = "type.googleapis.com/google.rpc."
ERROR_INFO: Final = _TYPE + "ErrorInfo"
BAD_REQUEST: Final = _TYPE + "BadRequest"
RETRY_INFO: Final = _TYPE + "RetryInfo"


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode


def encode_error(problem: A2AError) -> bytes:
    """Write the ``error`` member of a JSON-RPC response (R-9.5-1, R-9.5-2)."""
    value = {
        "code": spelling_of(problem).jsonrpc,
        "message": problem.message,
        "data": details(problem),
    }
    return _encode(value)


def encode_http_error(problem: A2AError) -> tuple[int, bytes]:
    """Write an error for HTTP: the status and the body (R-11.6-1, R-11.6-2)."""
    spelling = spelling_of(problem)
    value = {
        "code": spelling.http,
        "status": spelling.grpc,
        "message": problem.message,
        "details": details(problem),
    }
    return spelling.http, _encode({"error": value})


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


def decode_error(error: Mapping[str, object]) -> A2AError:
    """Read the ``error`` member of a JSON-RPC response."""
    code = error.get("code")
    return decode_details(
        _text(error.get("message")),
        error.get("data"),
        code=code if isinstance(code, int) else None,
    )


def decode_http_error(status: int, body: bytes) -> A2AError:
    """Read an error of HTTP; a body that is none leaves the status to tell."""
    try:
        value = _decode(body)
    except DECODER_ERRORS:
        value = None
    error = value.get("error") if _is_object(value) else None
    found = error if _is_object(error) else {}
    return decode_details(_text(found.get("message")), found.get("details"), status=status)


def decode_details(
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
    by_reason = [kind for kind, spelling in SPELLINGS.items() if spelling.reason == reason]
    by_code = [kind for kind, spelling in SPELLINGS.items() if spelling.jsonrpc == code]
    # Two errors may share a reason, or a code; together they are distinct.
    for kind in by_reason:
        if kind in by_code:
            return kind
    if by_reason:
        return by_reason[-1]
    if by_code:
        return by_code[0]
    return _BY_STATUS.get(status or 0, InternalError)


def _text(found: object) -> str:
    return found if isinstance(found, str) else ""


def _detail(found: object, kind: str) -> dict[str, Any]:
    if is_array(found):
        for item in found:
            if _is_object(item) and item.get("@type") == kind:
                return item
    return {}


def _violations(found: object) -> list[FieldViolation]:
    items = found if is_array(found) else []
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
