"""The answers of 0.3 and the frames of its streams, as messages (0.x reference, 4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from dragoman.bindings.grpc.forms import MessageForm, StructForm
from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy.card_0_3 import card_members, read_card
from dragoman.dialects.legacy.security_0_3 import wrapped_requirement, wrapped_scheme
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.answers import read_answer, write_answer
from dragoman.dialects.v0_3_proto.encode import Encoder
from dragoman.model.cards import AgentCard
from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import Received, Result
    from dragoman.dialects.v0_3_proto.answers import Answer
    from dragoman.dialects.v0_3_proto.decode import Decoder
    from dragoman.model.events import StreamResponse
    from dragoman.model.messages import Message

__all__ = ("MessageEncoder", "decode_event", "decode_result", "encode_frame", "encode_result")


def _form(message: str, kind: type[Answer]) -> StructForm[Answer]:
    return StructForm(f"a2a.v1.{message}", kind)


_SENT: Final = _form("SendMessageResponse", wire.StreamResponse)
_TASK: Final = _form("Task", wire.Task)
_CONFIG: Final = _form("TaskPushNotificationConfig", wire.TaskPushNotificationConfig)
_FORMS: Final[Mapping[Operation, StructForm[Answer]]] = {
    Operation.GET_TASK: _TASK,
    Operation.CANCEL_TASK: _TASK,
    Operation.LIST_TASKS: _form("ListTasksResponse", wire.ListTasksResponse),
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: _CONFIG,
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: _CONFIG,
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: _form(
        "ListTaskPushNotificationConfigResponse", wire.ListConfigsResponse
    ),
    Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG: StructForm("google.protobuf.Empty", wire.Empty),
}
_CARD: Final = MessageForm("a2a.v1.AgentCard")
_FRAME: Final = StructForm("a2a.v1.StreamResponse", wire.StreamResponse)

encode_frame: Final = _FRAME.encode
"""Write one frame of a stream."""


class MessageEncoder(Encoder):
    """Writes what ProtoJSON does, and what messages alone can carry.

    A reader skips a field that it does not know, so the later ones may be written too.
    """

    __slots__ = ()

    def message(self, message: Message) -> wire.Message:
        """Return a message."""
        written = super().message(message)
        if not message.reference_task_ids:
            return written
        return replace(written, reference_task_ids=message.reference_task_ids)


def encode_result(operation: Operation, result: Result, values: MessageEncoder) -> bytes:
    """Write the answer of a unary operation.

    A card offers the interfaces of 0.3 which have no tenant.
    """
    if isinstance(result, AgentCard):
        return _CARD.write(card_members(result, wrapped_scheme, wrapped_requirement))
    return _FORMS.get(operation, _SENT).encode(write_answer(operation, result, values))


def decode_result(operation: Operation, data: bytes, values: Decoder) -> Received:
    """Read the answer of a unary operation.

    Raises:
        InvalidRequestError, InvalidParamsError: it is none of this operation.
    """
    if operation is Operation.GET_EXTENDED_AGENT_CARD:
        return read_card(Fields(_CARD.read(data)))
    return read_answer(_FORMS.get(operation, _SENT).decode(data), values)


def decode_event(data: bytes, values: Decoder) -> StreamResponse:
    """Read one frame of a stream.

    Raises:
        InvalidRequestError, InvalidParamsError: it is none.
    """
    return values.payload(_FRAME.decode(data))
