"""Requests of the XPR network, read into the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.tolerant import read_message
from dragoman.dialects.profiles.xpr.members import CALLER, TARGET
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.base import is_object
from dragoman.model.messages import Role
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskRequest,
    Operation,
    SendMessageRequest,
)

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = ("Send", "decode_send", "decode_task_request")


class Send(NamedTuple):
    """A send that was read; ``alias`` is what the client calls the task, "" if it does not."""

    request: SendMessageRequest
    alias: str


def decode_send(data: bytes) -> Send:
    """Read the params of message/send.

    The metadata of the params is the message's too, so that it stays with the task. What the params
    say of accounts is in the metadata of the request alone.

    Raises:
        JSONParseError, InvalidParamsError: they are none; the violation says why.
    """
    params = Fields(read_json(data))
    found = params.get("message")
    members = found if is_object(found) else {}
    if not members.get("parts"):
        raise _missing("message", "message with parts is required")
    message = read_message(members, "message", role=Role.USER)
    metadata = params.free("metadata")
    told = {name: params.whole[name] for name in (CALLER, TARGET) if name in params}
    request = SendMessageRequest(
        message=replace(
            message,
            # The params name task and context here, whatever a message of 0.2 would say.
            task_id="",
            context_id=params.text("contextId") or message.context_id,
            metadata=_joined(message.metadata, metadata),
        ),
        metadata=_joined(metadata, told or None),
    )
    return Send(request, params.text("id") or message.task_id)


def decode_task_request(
    operation: Operation, data: bytes
) -> tuple[GetTaskRequest | CancelTaskRequest, str]:
    """Read the params of a method that names a task; return the request and that name.

    Raises:
        JSONParseError, InvalidParamsError: they are none; the violation says why.
    """
    params = Fields(read_json(data))
    task_id = params.text("id")
    if not task_id:
        raise _missing("id", "id is required")
    if operation is Operation.GET_TASK:
        return GetTaskRequest(id=task_id), task_id
    return CancelTaskRequest(id=task_id, metadata=params.free("metadata")), task_id


def _missing(field: str, rule: str) -> InvalidParamsError:
    violation = FieldViolation(field, "is required")
    return InvalidParamsError(f"Invalid params: {rule}", violations=(violation,))


def _joined(first: JsonObject | None, second: JsonObject | None) -> JsonObject | None:
    if not first or not second:
        return first or second
    return {**first, **second}
