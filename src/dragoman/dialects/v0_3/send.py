"""Reading a send of 0.2 and 0.3: typed decode first, the tolerant reader where that refuses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.part_marks import lift_part, without_tool_mark
from dragoman.dialects.legacy.tolerant import discriminator_of, media_type, read_file, read_message
from dragoman.dialects.v0_3.push import read_config
from dragoman.dialects.v0_3.wire import FilePart, MessageSendParams, TextPart
from dragoman.dialects.violations import DECODER_ERRORS, refusal_of
from dragoman.errors import InvalidParamsError
from dragoman.model.messages import Message, Role
from dragoman.model.operations import SendMessageConfiguration, SendMessageRequest
from dragoman.model.parts import Part

if TYPE_CHECKING:
    from dragoman.dialects.v0_3 import wire
    from dragoman.model.base import JsonObject

__all__ = ("decode_send", "read_history_length")

_decode_send: Final = msgspec.json.Decoder(MessageSendParams).decode
# D20: the typed decoder would ignore these as unknown. The others it misses, and refuses.
_proto_name: Final = re.compile(rb'"(?:context_id|task_id|reference_task_ids)"\s*:').search

_ROLES: Final = {"user": Role.USER, "agent": Role.AGENT}


_LEFT_OPEN: Final = SendMessageConfiguration(return_immediately=UNSET)


def decode_send(params: bytes) -> tuple[SendMessageRequest, bool]:
    """Read a send, and tell whether its parts were known by ``type`` instead of ``kind`` (D9).

    The id of the message is "" where the sender gave none (D10).

    Raises:
        JSONParseError, InvalidParamsError: it is none.
    """
    if b"_" in params and _proto_name(params):
        return _decode_leniently(params)
    try:
        found = _decode_send(params)
    except msgspec.ValidationError:
        return _decode_leniently(params)
    except DECODER_ERRORS as refused:
        raise refusal_of(refused) from None
    sent = found.message
    message = Message(
        message_id=sent.message_id,
        context_id=sent.context_id,
        task_id=sent.task_id or found.task_id or found.id,
        role=_ROLES[sent.role],
        parts=tuple([_part(part, index) for index, part in enumerate(sent.parts)]),
        metadata=sent.metadata,
        extensions=sent.extensions,
        reference_task_ids=sent.reference_task_ids,
    )
    configuration = found.configuration
    request = SendMessageRequest(
        message=message,
        configuration=_LEFT_OPEN if configuration is None else _configuration(configuration),
        metadata=found.metadata,
    )
    return request, False


def _part(part: wire.Part, index: int) -> Part:
    metadata = part.metadata
    if isinstance(part, TextPart):
        read = Part(text=part.text, metadata=metadata)
    elif isinstance(part, FilePart):
        return read_file(Fields(part.file, f"message.parts[{index}].file"), metadata)
    else:
        read = Part(data=part.data, metadata=metadata)
    return read if metadata is None else lift_part(read)


def _decode_leniently(params: bytes) -> tuple[SendMessageRequest, bool]:
    fields = Fields(read_json(params))
    sent = fields.at("message")
    if sent is None:
        raise InvalidParamsError.of("message", "is required")
    message = read_message(sent.whole, "message", role=Role.USER)
    message = replace(
        message,
        parts=tuple([without_tool_mark(part) for part in message.parts]),
        # 8.3: an example of 0.2 has it beside the message.
        message_id=message.message_id or fields.text("messageId"),
        task_id=message.task_id or fields.text("taskId", "id"),
    )
    configuration = fields.free("configuration")
    request = SendMessageRequest(
        message=message,
        configuration=_LEFT_OPEN if configuration is None else _configuration(configuration),
        metadata=fields.free("metadata"),
    )
    discriminators = {discriminator_of(part) for part, _ in sent.items("parts")}
    return request, "type" in discriminators


def _configuration(value: JsonObject) -> SendMessageConfiguration:
    fields = Fields(value, "configuration")
    modes = fields.texts("acceptedOutputModes")
    push = fields.at("pushNotificationConfig")
    is_blocking = fields.flag("blocking")
    return SendMessageConfiguration(
        accepted_output_modes=tuple([media_type(mode) for mode in modes]),
        task_push_notification_config=None if push is None else read_config(push),
        history_length=read_history_length(fields),
        # 5.10: undefined where absent. All SDKs wait, and their clients not for long.
        return_immediately=UNSET if is_blocking is None else not is_blocking,
    )


def read_history_length(fields: Fields) -> int | None:
    """Read ``historyLength``; 0 asks for nothing in particular, in 1.0 it asks for none (5.10)."""
    return fields.count("historyLength") or None
