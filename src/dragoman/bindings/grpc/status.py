"""Errors as google.rpc.Status, which the trailer ``grpc-status-details-bin`` holds.

The details are those of 1.0's JSON. Peers of 0.3 do not look for them, and are told in words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import Struct

from dragoman.bindings.grpc.forms import MessageForm
from dragoman.dialects.v1_0.errors import decode_details, details
from dragoman.errors import InvalidParamsError, InvalidRequestError

if TYPE_CHECKING:
    from dragoman.errors import A2AError

__all__ = ("decode_error", "encode_trailer", "read_details")

_STATUS: Final = MessageForm("google.rpc.Status")
_DETAILS: Final = {
    f"type.googleapis.com/{name}": MessageForm(name)
    for name in ("google.rpc.ErrorInfo", "google.rpc.BadRequest", "google.rpc.RetryInfo")
}


class _Any(Struct, frozen=True, rename="camel"):
    type_url: str = ""
    value: bytes = b""


class _Status(Struct, frozen=True):
    details: tuple[_Any, ...] = ()


class Meaning(NamedTuple):
    """What stands elsewhere for a status: a JSON-RPC code, else an HTTP status."""

    jsonrpc: int | None = None
    http: int | None = None


# Where a peer gives no reason. UNIMPLEMENTED stands in 1.0.0 for what 1.0.1 and we call
# FAILED_PRECONDITION, and in gRPC itself for an unknown rpc: the peer does not do this.
_MEANINGS: Final = {
    3: Meaning(jsonrpc=-32602),  # INVALID_ARGUMENT
    4: Meaning(http=503),  # DEADLINE_EXCEEDED
    5: Meaning(jsonrpc=-32001),  # NOT_FOUND
    7: Meaning(http=403),  # PERMISSION_DENIED
    8: Meaning(http=429),  # RESOURCE_EXHAUSTED
    9: Meaning(jsonrpc=-32004),  # FAILED_PRECONDITION
    11: Meaning(http=413),  # OUT_OF_RANGE
    12: Meaning(jsonrpc=-32004),  # UNIMPLEMENTED
    14: Meaning(http=503),  # UNAVAILABLE
    16: Meaning(http=401),  # UNAUTHENTICATED
}
_NONE: Final = Meaning()


def encode_trailer(problem: A2AError, code: int, text: str) -> bytes:
    """Write the trailer of an error; code and text are the rpc's own (R-10.6-1, R-10.6-2)."""
    packed: list[dict[str, object]] = []
    for detail in msgspec.to_builtins(details(problem)):
        kind = detail.pop("@type")
        packed.append({"typeUrl": kind, "value": _DETAILS[kind].write(detail)})
    return _STATUS.write({"code": code, "message": text, "details": packed})


def decode_error(code: int, text: str, trailer: bytes | None) -> A2AError:
    """Read an error: by the reason in its trailer, else by its status."""
    meaning = _MEANINGS.get(code, _NONE)
    found = read_details(trailer)
    return decode_details(text, found, code=meaning.jsonrpc, status=meaning.http)


def read_details(trailer: bytes | None) -> list[object]:
    """Return the details that are known, as 1.0's JSON has them; what is no trailer holds none."""
    try:
        status = msgspec.convert(_STATUS.read(trailer or b""), _Status)
        return [
            {"@type": detail.type_url, **_DETAILS[detail.type_url].read(detail.value)}
            for detail in status.details
            if detail.type_url in _DETAILS
        ]
    except (InvalidParamsError, InvalidRequestError):
        return []
