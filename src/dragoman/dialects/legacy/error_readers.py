"""Reading the errors of 0.x, in every form that a peer may give them (0.x reference, 4.5, 5.13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from dragoman.dialects.legacy.errors import ERRORS_0_3, NAMES
from dragoman.dialects.violations import DECODER_ERRORS
from dragoman.errors import (
    SPELLINGS,
    A2AError,
    ContentTypeNotSupportedError,
    FieldViolation,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotAllowedError,
    MethodNotFoundError,
    PermissionDeniedError,
    RateLimitedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnauthenticatedError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.model.base import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.legacy.errors import ErrorTable, Kind
    from dragoman.model.base import JsonObject

__all__ = ("read_error_object", "read_grpc_error", "read_http_error")

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder().decode

# Where a peer gives nothing but a status.
_BY_HTTP_STATUS: Final[Mapping[int, Kind]] = {
    400: InvalidRequestError,
    401: UnauthenticatedError,
    403: PermissionDeniedError,
    404: TaskNotFoundError,
    405: MethodNotFoundError,
    409: TaskNotCancelableError,
    413: InvalidRequestError,
    415: ContentTypeNotSupportedError,
    422: InvalidParamsError,
    429: RateLimitedError,
    501: UnsupportedOperationError,
    502: InvalidAgentResponseError,
    503: UnavailableError,
}
_BY_GRPC_STATUS: Final[Mapping[int, Kind]] = {
    3: InvalidParamsError,
    5: TaskNotFoundError,
    7: PermissionDeniedError,
    8: RateLimitedError,
    9: UnsupportedOperationError,
    12: UnsupportedOperationError,
    14: UnavailableError,
    16: UnauthenticatedError,
}
_BY_NAME: Final = {name: kind for kind, name in NAMES.items()}
# Of two errors with one reason the first in the table; 405 is a matter of HTTP, not of the peer's.
_BY_REASON: Final = {
    spelling.reason: kind
    for kind, spelling in reversed(SPELLINGS.items())
    if kind is not MethodNotAllowedError
}


# The RxJS agent has two tables, which contradict each other: what it says is what it means.
_BY_TEXT: Final[Mapping[str, Kind]] = {
    "task not found": TaskNotFoundError,
    "context not found": InvalidParamsError,
    "input timeout": InternalError,
    "tool execution failed": InternalError,
}
_FORBIDDEN: Final = "forbidden:"


def read_error_object(error: Mapping[str, object], table: ErrorTable) -> A2AError:
    """Read the ``error`` member of a JSON-RPC response; whatever it is, an error comes of it."""
    facts = _Facts.of(error.get("data"))
    code = error.get("code")
    kind = table.kinds.get(code) if isinstance(code, int) else None
    message = error.get("message")
    spoken = _kind_of_text(message)
    if (kind is None or spoken is InternalError) and code is not None:
        # 5.13: the number of an unknown code is kept.
        facts.metadata.setdefault("code", _text(code))
    return facts.error(spoken or kind, message)


def read_http_error(status: int, body: bytes) -> A2AError:
    """Read an error of a REST route; whatever the body is, an error comes of it.

    Every form of section 4.5 is taken: by the reason in google's details, else the code, else the
    name in ``error`` or ``type``, else the status.
    """
    try:
        found = _decode(body)
    except DECODER_ERRORS:
        found = None
    outer = _members(found)
    inner = _members(outer.get("error")) or outer
    facts = _Facts.of(inner.get("details") or inner.get("data"))
    kind = (
        _kind_of_code(inner.get("code"))
        or _kind_of_name(outer.get("error"))
        or _kind_of_name(outer.get("type"))
        or _BY_HTTP_STATUS.get(status)
    )
    # A problem document (RFC 9457) says it in detail or title, .NET answers a bare string.
    message = inner.get("message") or inner.get("detail") or inner.get("title") or found
    return facts.error(kind, message)


def read_grpc_error(code: int, details: str) -> A2AError:
    """Read a status of the gRPC service of 0.3: by the name in its details, else its number."""
    name, separator, message = details.partition(": ")
    kind = _kind_of_name(name) if separator else None
    if kind is None:
        kind, message = _BY_GRPC_STATUS.get(code), details
    return _Facts.of(None).error(kind, message)


def _kind_of_text(message: object) -> Kind | None:
    text = message.lower() if isinstance(message, str) else ""
    return PermissionDeniedError if text.startswith(_FORBIDDEN) else _BY_TEXT.get(text)


def _kind_of_code(code: object) -> Kind | None:
    return ERRORS_0_3.kinds.get(code) if isinstance(code, int) else None


def _kind_of_name(name: object) -> Kind | None:
    return _BY_NAME.get(name.rpartition(".")[2]) if isinstance(name, str) else None


class _Facts(NamedTuple):
    """What an error says beside its code and its message."""

    reason: object
    detail: object
    metadata: dict[str, str]
    violations: tuple[FieldViolation, ...]
    retry_after_seconds: float | None

    @classmethod
    def of(cls, data: object) -> _Facts:
        """Read ``data`` or ``details``: our object, the list of 1.0, or anything else."""
        if is_array(data):
            return cls._of_details(data)
        if not is_object(data):
            return cls(None, None, {} if data is None else {"raw": _text(data)}, (), None)
        rest = dict(data)
        reason, detail = rest.pop("reason", None), rest.pop("detail", None)
        if isinstance(reason, str) and " " in reason:
            # A sentence is no name of an error.
            detail = detail or reason
        violations = _violations(rest.pop("fieldViolations", None))
        seconds = rest.pop("retryAfterSeconds", None)
        retry = float(seconds) if isinstance(seconds, int | float) else None
        return cls(reason, detail, _texts(rest), violations, retry)

    @classmethod
    def _of_details(cls, details: list[object]) -> _Facts:
        found = [_members(item) for item in details]
        merged: JsonObject = {}
        for item in reversed(found):
            merged |= item
        return cls(
            merged.get("reason"),
            None,
            _texts(_members(merged.get("metadata"))),
            _violations(merged.get("fieldViolations")),
            _seconds(merged.get("retryDelay")),
        )

    def error(self, kind: Kind | None, message: object) -> A2AError:
        """Make the error: of the reason's kind, unless the given kind has that reason itself."""
        by_reason = _BY_REASON.get(self.reason) if isinstance(self.reason, str) else None
        if kind is None or (by_reason is not None and _reason_of(kind) != self.reason):
            kind = by_reason or kind or InternalError
        error = kind.__new__(kind)
        # The subclasses take the values they are raised for; a peer has sent the finished message.
        text = self.detail or message
        A2AError.__init__(
            error,
            text if isinstance(text, str) else None,
            metadata=self.metadata,
            violations=self.violations,
            retry_after_seconds=self.retry_after_seconds,
        )
        return error


def _reason_of(kind: Kind) -> str:
    return next(SPELLINGS[base].reason for base in kind.__mro__ if base in SPELLINGS)


def _violations(found: object) -> tuple[FieldViolation, ...]:
    items = found if is_array(found) else []
    members = [_members(item) for item in items]
    return tuple(
        FieldViolation(_text(item.get("field", "")), _text(item.get("description", "")))
        for item in members
    )


def _seconds(found: object) -> float | None:
    """Read a google.protobuf.Duration."""
    try:
        return float(found.removesuffix("s")) if isinstance(found, str) else None
    except ValueError:
        return None


def _members(found: object) -> JsonObject:
    return found if is_object(found) else {}


def _texts(found: JsonObject) -> dict[str, str]:
    return {name: _text(value) for name, value in found.items()}


def _text(value: object) -> str:
    return value if isinstance(value, str) else _encode(value).decode()
