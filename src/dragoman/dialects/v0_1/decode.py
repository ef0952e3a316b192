"""Requests of 0.1, read into the model.

A well-formed send costs one typed decode. One that is refused is read again member by member, by
the readers that know what peers of the time write.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.part_marks import lift_part
from dragoman.dialects.legacy.push import read_webhook
from dragoman.dialects.legacy.tolerant import discriminator_of, media_type, read_file, read_message
from dragoman.dialects.v0_1 import wire
from dragoman.dialects.v0_1.push import read_task_config
from dragoman.dialects.violations import DECODER_ERRORS, refusal_of
from dragoman.errors import InvalidParamsError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    CancelTaskRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    Operation,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.parts import Part

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.operations import Request

__all__ = ("Send", "decode_send", "decode_task_request")

_decode_send_params: Final = msgspec.json.Decoder(wire.SendParams).decode


class Send(NamedTuple):
    """A send that was read.

    Attributes:
        alias: the id that the client calls the task by, "" if it gave none (D14).
        is_mixed: the message has members of 0.2, ``kind`` or ``messageId`` (D13).
    """

    request: SendMessageRequest
    alias: str
    is_mixed: bool


def decode_send(data: bytes) -> Send:
    """Read the params of tasks/send and tasks/sendSubscribe.

    Raises:
        JSONParseError, InvalidParamsError: they are none; the violation says why.
    """
    try:
        params = _decode_send_params(data)
    except msgspec.ValidationError:
        return _read_send(Fields(read_json(data)))
    except DECODER_ERRORS as refused:
        raise refusal_of(refused) from None
    found = params.message
    message = Message(
        message_id=found.message_id or "",
        context_id=params.session_id or "",
        role=Role.USER if found.role == "user" else Role.AGENT,
        parts=tuple([_part(part, index) for index, part in enumerate(found.parts)]),
        metadata=found.metadata,
    )
    hook = params.push_notification
    request = _send_request(
        message,
        hook=None if hook is None else Fields(hook, "pushNotification"),
        modes=params.accepted_output_modes or (),
        history_length=params.history_length,
        metadata=params.metadata,
    )
    return Send(request, params.id or "", is_mixed=bool(message.message_id))


def decode_task_request(operation: Operation, data: bytes) -> tuple[Request, str]:
    """Read the params of a method that names a task; return the request and that name.

    Raises:
        JSONParseError, InvalidParamsError: they are none; the violation says why.
    """
    params = Fields(read_json(data))
    # D8: some clients of 0.2 and 0.3 say taskId; the three methods that 0.1 shares with those
    # versions are read as they are read there.
    task_id = params.required_text("id", "taskId")
    metadata = params.free("metadata")
    match operation:
        case Operation.GET_TASK:
            length = params.count("historyLength")
            return GetTaskRequest(id=task_id, history_length=length or 0), task_id
        case Operation.CANCEL_TASK:
            return CancelTaskRequest(id=task_id, metadata=metadata), task_id
        case Operation.SUBSCRIBE_TO_TASK:
            return SubscribeToTaskRequest(id=task_id), task_id
        case Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG:
            # 0.x reference, 5.1: the one webhook of a task is called like the task.
            return GetTaskPushNotificationConfigRequest(task_id=task_id, id=task_id), task_id
        case Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS:
            return ListTaskPushNotificationConfigsRequest(task_id=task_id), task_id
        case Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG:
            return read_task_config(params), task_id
        case _:
            raise TypeError(operation)


def _read_send(params: Fields) -> Send:
    if "message" not in params:
        raise InvalidParamsError.of("message", "is required")
    found = params.get("message")
    message = read_message(found, "message", role=Role.USER)
    request = _send_request(
        # The ids of a message are those of 0.2; in 0.1 the params name task and session.
        replace(message, task_id="", context_id=params.text("sessionId")),
        hook=params.at("pushNotification"),
        modes=params.texts("acceptedOutputModes"),
        history_length=params.count("historyLength"),
        metadata=params.free("metadata"),
    )
    is_mixed = bool(message.message_id) or any(
        discriminator_of(part) == "kind" for part, _ in Fields(found).items("parts")
    )
    return Send(request, params.text("id"), is_mixed)


def _send_request(
    message: Message,
    *,
    hook: Fields | None,
    modes: tuple[str, ...],
    history_length: int | None,
    metadata: JsonObject | None,
) -> SendMessageRequest:
    return SendMessageRequest(
        message=message,
        configuration=SendMessageConfiguration(
            accepted_output_modes=tuple([media_type(mode) for mode in modes]),
            task_push_notification_config=None if hook is None else read_webhook(hook),
            # 0.x reference, 5.10: no history unless it is asked for; tasks/send waits, and how long
            # is the server's to say.
            history_length=history_length or 0,
            return_immediately=UNSET,
        ),
        metadata=metadata,
    )


def _part(part: wire.Part, index: int) -> Part:
    metadata = part.metadata
    if isinstance(part, wire.FilePart):
        return read_file(Fields(part.file, f"message.parts[{index}].file"), metadata)
    if isinstance(part, wire.TextPart):
        read = Part(text=part.text, metadata=metadata)
    else:
        read = Part(data=part.data, metadata=metadata)
    return lift_part(read) if metadata else read
