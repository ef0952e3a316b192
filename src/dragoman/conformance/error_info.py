"""Which error of A2A is meant, where an ErrorInfo says so: over HTTP+JSON and gRPC. Pure."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from dragoman.conformance.answers import ERRORS, Refusal, objects, text_at
from dragoman.errors import ERROR_DOMAIN

__all__ = ("ErrorInfo", "error_info_in", "refusal_of")

_TYPE: Final = "google.rpc.ErrorInfo"

# what 1.0.0 said before 1.0.1 changed it; peers of both are right.
_BEFORE_1_0_1: Final[dict[tuple[str, str], int]] = {
    ("http", "TaskNotCancelableError"): 409,
    ("http", "ContentTypeNotSupportedError"): 415,
    ("http", "InvalidAgentResponseError"): 502,
    ("grpc", "PushNotificationNotSupportedError"): 12,
    ("grpc", "UnsupportedOperationError"): 12,
    ("grpc", "VersionNotSupportedError"): 12,
}


class ErrorInfo(Struct, frozen=True):
    """What a google.rpc.ErrorInfo says."""

    reason: str
    domain: str


def error_info_in(details: object) -> ErrorInfo | None:
    """Return the ErrorInfo among the details of an error, as JSON has them."""
    for item in objects(details):
        if text_at(item, "@type").rpartition("/")[2] == _TYPE:
            return ErrorInfo(text_at(item, "reason"), text_at(item, "domain"))
    return None


def refusal_of(
    info: ErrorInfo | None, code: int, message: str, binding: Literal["http", "grpc"]
) -> Refusal:
    """Return the refusal that was meant.

    R-10.6-2 to R-10.6-4, R-11.6-6 to R-11.6-8: the ErrorInfo names the error, and its code is the
    one that goes with that name. Without one, or with another code, the name is not known.
    """
    if info is not None and info.domain == ERROR_DOMAIN:
        for name, form in ERRORS.items():
            codes = (getattr(form, binding), _BEFORE_1_0_1.get((binding, name)))
            if form.reason == info.reason and code in codes:
                return Refusal(name=name, code=code, message=message)
        message = f"{message} [reason {info.reason}]"
    return Refusal(name="", code=code, message=message)
