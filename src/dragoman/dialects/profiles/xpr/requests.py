"""What a client asks of an agent of the XPR network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.dialects.profiles.xpr.encode import write_message
from dragoman.dialects.profiles.xpr.members import CALLER, TARGET
from dragoman.errors import UnsupportedOperationError
from dragoman.model.operations import CancelTaskRequest, GetTaskRequest, SendMessageRequest

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.operations import Request

__all__ = ("encode_request",)

_encode: Final = msgspec.json.Encoder().encode


def encode_request(request: Request) -> bytes:
    """Write the params of a request.

    What the metadata of a request says of accounts is written where this network has it.

    Raises:
        UnsupportedOperationError: the request is one that this network does not have.
    """
    return _encode(_params(request))


def _params(request: Request) -> JsonObject:
    match request:
        case SendMessageRequest():
            return _send(request)
        case GetTaskRequest(id=task_id):
            return {"id": task_id}
        case CancelTaskRequest(id=task_id, metadata=metadata):
            return {"id": task_id, **_metadata(metadata)}
        case _:
            raise UnsupportedOperationError


def _send(request: SendMessageRequest) -> JsonObject:
    message = request.message
    said = write_message(message)
    if message.message_id:
        # The network does not have it. A server that knows it takes a message once, however often
        # it is sent; others pass over it.
        said["messageId"] = message.message_id
    written: JsonObject = {"message": said}
    if message.task_id:
        written["id"] = message.task_id
    if message.context_id:
        written["contextId"] = message.context_id
    return {**written, **_metadata(request.metadata)}


def _metadata(metadata: JsonObject | None) -> JsonObject:
    if not metadata:
        return {}
    accounts = {name: metadata[name] for name in (CALLER, TARGET) if name in metadata}
    rest = {name: value for name, value in metadata.items() if name not in accounts}
    return {**accounts, "metadata": rest} if rest else accounts
