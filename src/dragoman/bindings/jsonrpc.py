"""JSON-RPC 2.0 envelopes (reference section 3).

A request is opened with one typed decode that leaves ``params`` as bytes for the dialect; an answer
is spliced together around bytes that are ready. Ids travel as the JSON they came in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Raw, Struct

from dragoman.bindings.base import require_utf8
from dragoman.dialects.violations import DECODER_ERRORS, refusal_of
from dragoman.errors import (
    A2AError,
    DragomanError,
    InvalidAgentResponseError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = (
    "EVENT_SUFFIX",
    "MAX_ID_BYTES",
    "NULL_ID",
    "BadEnvelopeError",
    "JsonRpcRequest",
    "error",
    "event_prefix",
    "is_request",
    "read_request",
    "read_response",
    "request",
    "result",
)

NULL_ID: Final = b"null"
"""The id of an answer to a request whose id could not be read."""

MAX_ID_BYTES: Final = 1024
"""An id is repeated in every frame of a stream; real ones are a UUID or a number."""

EVENT_SUFFIX: Final = b"}"
"""What follows the event in a frame, see event_prefix."""

_NO_PARAMS: Final = b"{}"
_VERSION: Final = b'"2.0"'
_BRACE: Final = ord("{")
_QUOTE: Final = ord('"')
_BATCH: Final = "Batches are not supported; send one request at a time"
_NOT_AN_OBJECT: Final = "A request must be a JSON object"
_BAD_VERSION: Final = 'The member jsonrpc must be "2.0"'
_BAD_METHOD: Final = "The member method must be a string"
# 1.0 knows no notifications, so a request without an id cannot be answered.
_BAD_ID: Final = "The member id must be a string or an integer"
_LONG_ID: Final = f"The member id must not be longer than {MAX_ID_BYTES} bytes"
_BAD_ANSWER: Final = "The answer is not a JSON-RPC 2.0 response"


class JsonRpcRequest(Struct, frozen=True, gc=False):
    """An opened envelope: the id as JSON, the method, and the params as a JSON object."""

    id: bytes
    method: str
    params: bytes


class BadEnvelopeError(DragomanError):
    """A request that cannot be dispatched: answer with this error under this id."""

    def __init__(self, error: A2AError, request_id: bytes = NULL_ID, method: str = "") -> None:
        """Keep the error, and the id and the method if they could be read."""
        super().__init__(error.message)
        self.error = error
        self.id = request_id
        self.method = method


class _Envelope(Struct, frozen=True, gc=False):
    jsonrpc: Literal["2.0"]
    id: Raw
    method: str
    params: Raw = Raw(_NO_PARAMS)


class _Response(Struct, frozen=True, gc=False):
    jsonrpc: Literal["2.0"]
    result: Raw = Raw(NULL_ID)
    error: dict[str, object] | None = None


_open: Final = msgspec.json.Decoder(_Envelope).decode
_open_response: Final = msgspec.json.Decoder(_Response).decode
_look: Final = msgspec.json.Decoder(list[Raw] | dict[str, Raw]).decode
_encode: Final = msgspec.json.Encoder().encode


def read_request(
    body: bytes, *, is_lenient: bool = True, needs_version: bool = False
) -> JsonRpcRequest:
    """Open a request. Where a member is given twice the last one counts.

    Args:
        is_lenient: let requests by a method of 0.x lack the id and the version.
        needs_version: but not the version.

    Raises:
        BadEnvelopeError: it is not a request; holds the error to answer with, and the id.
    """
    try:
        require_utf8(body)
        envelope = _open(body)
    except msgspec.ValidationError:
        return _reread(body, is_lenient=is_lenient, needs_version=needs_version)
    except DECODER_ERRORS as refused:
        raise BadEnvelopeError(refusal_of(refused)) from None
    except JSONParseError as refused:
        raise BadEnvelopeError(refused) from None
    request_id = bytes(envelope.id)
    if _complaint_about_id(request_id):
        return _reread(body, is_lenient=is_lenient, needs_version=needs_version)
    return _request_of(request_id, envelope.method, bytes(envelope.params))


def is_request(body: bytes) -> bool:
    """Whether a body looks like a JSON-RPC request, even a malformed one."""
    try:
        members = _look(body)
    except DECODER_ERRORS:
        return False
    return isinstance(members, dict) and {"jsonrpc", "method"} <= members.keys()


def _request_of(request_id: bytes, method: str, params: bytes) -> JsonRpcRequest:
    if params[0] != _BRACE:
        if params != b"null":
            error = InvalidParamsError.of("", "expected object")
            raise BadEnvelopeError(error, request_id, method)
        params = _NO_PARAMS
    return JsonRpcRequest(request_id, method, params)


def _complaint_about_id(request_id: bytes) -> str | None:
    """Tell what is wrong with an id; a bool or a float is none."""
    if len(request_id) > MAX_ID_BYTES:
        return _LONG_ID
    if request_id[0] == _QUOTE or request_id.removeprefix(b"-").isdigit():
        return None
    return _BAD_ID


def _reread(body: bytes, *, is_lenient: bool, needs_version: bool) -> JsonRpcRequest:
    """Read a body that is not a request of 1.0: an older one perhaps, or find out what is wrong."""
    try:
        seen = _look(body)
    except msgspec.ValidationError:
        raise BadEnvelopeError(InvalidRequestError(_NOT_AN_OBJECT)) from None
    except DECODER_ERRORS as refused:
        # The first decoder gave up before it came to this.
        raise BadEnvelopeError(refusal_of(refused)) from None
    if isinstance(seen, list):
        raise BadEnvelopeError(InvalidRequestError(_BATCH))
    method = _text(seen.get("method"))
    # D18: the schemas of 0.1 and early 0.2 let a request have no id and, by default, no version;
    # their method names have a slash.
    is_old = is_lenient and "/" in method
    request_id = bytes(seen.get("id", NULL_ID))
    complaint = _complaint_about_id(request_id)
    if complaint and not (is_old and request_id == NULL_ID):
        raise BadEnvelopeError(InvalidRequestError(complaint), method=method)
    version = bytes(seen.get("jsonrpc", _VERSION if is_old and not needs_version else b""))
    if version != _VERSION:
        raise BadEnvelopeError(InvalidRequestError(_BAD_VERSION), request_id, method)
    if not method:
        raise BadEnvelopeError(InvalidRequestError(_BAD_METHOD), request_id)
    return _request_of(request_id, method, bytes(seen.get("params", _NO_PARAMS)))


def _text(value: Raw | None) -> str:
    """Return the text that a piece of JSON is; "" if it is something else."""
    try:
        return msgspec.json.decode(value, type=str) if value is not None else ""
    except DECODER_ERRORS:
        return ""


def result(request_id: bytes, value: bytes) -> bytes:
    """Write the answer to a request around a result that is JSON already."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (request_id, value)


def event_prefix(request_id: bytes) -> bytes:
    """Return what precedes the event in each frame of a stream (R-9.4-3); EVENT_SUFFIX follows."""
    return b'{"jsonrpc":"2.0","id":%b,"result":' % request_id


def error(request_id: bytes, value: bytes) -> bytes:
    """Write the error that answers a request around an error object that is JSON already."""
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (request_id, value)


# --- the client's side --------------------------------------------------------------------------


def request(request_id: bytes, method: str, params: bytes) -> bytes:
    """Write a request around params that are JSON already."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (
        request_id,
        _encode(method),
        params,
    )


def read_response(body: bytes, decode_error: Callable[[Mapping[str, object]], A2AError]) -> bytes:
    """Return the result of a response, as JSON.

    Raises:
        A2AError: the response is an error, which ``decode_error`` has read, or it is no response.
    """
    try:
        response = _open_response(body)
    except DECODER_ERRORS:
        raise InvalidAgentResponseError(_BAD_ANSWER) from None
    if response.error is not None:
        raise decode_error(response.error)
    # peers may answer Delete with null, or leave the result out.
    return bytes(response.result)
