"""The answers of 0.3 and the frames of its streams, as messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never, cast

import msgspec
from msgspec.structs import replace

from dragoman.bindings.grpc.forms import StructForm
from dragoman.bindings.grpc.v0_3_card import decode_card, encode_card
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.decode import count
from dragoman.dialects.v0_3_proto.encode import Encoder
from dragoman.dialects.v0_3_proto.push import read_config, write_config
from dragoman.model.cards import AgentCard
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.messages import Message
from dragoman.model.operations import (
    Empty,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    Operation,
)
from dragoman.model.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from dragoman.dialects.base import Received, Result
    from dragoman.dialects.v0_3_proto.decode import Decoder
    from dragoman.model.documents import EventDocument
    from dragoman.model.events import StreamResponse
    from dragoman.model.tasks import Task

__all__ = ("MessageEncoder", "decode_event", "decode_result", "encode_result")

_FRAME: Final = StructForm("a2a.v1.StreamResponse", wire.StreamResponse)
_SENT: Final = StructForm("a2a.v1.SendMessageResponse", wire.StreamResponse)
_TASK: Final = StructForm("a2a.v1.Task", wire.Task)
_TASKS: Final = StructForm("a2a.v1.ListTasksResponse", wire.ListTasksResponse)
_CONFIG: Final = StructForm("a2a.v1.TaskPushNotificationConfig", wire.TaskPushNotificationConfig)
_CONFIGS: Final = StructForm(
    "a2a.v1.ListTaskPushNotificationConfigResponse", wire.ListConfigsResponse
)

_decode_json: Final = msgspec.json.Decoder().decode


# --- writing ------------------------------------------------------------------------------------


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

    def frames(self, event: EventDocument) -> tuple[bytes, ...]:
        """Return an event as messages: one, or two where a task that has stopped is shown."""
        return tuple([_FRAME.write(_decode_json(frame)) for frame in super().frames(event)])


def encode_result(operation: Operation, result: Result, values: MessageEncoder) -> bytes:
    """Write the answer of a unary operation."""
    match result:
        case TaskDocument():
            task = values.task(result.task())
            if operation is Operation.SEND_MESSAGE:
                return _SENT.encode(wire.StreamResponse(task=task))
            return _TASK.encode(task)
        case Message():
            return _SENT.encode(wire.StreamResponse(message=values.message(result)))
        case TaskPage():
            return _TASKS.encode(_page(result, values))
        case TaskPushNotificationConfig():
            return _CONFIG.encode(write_config(result))
        case ListTaskPushNotificationConfigsResponse():
            return _CONFIGS.encode(_configs(result))
        case Empty():
            return b""
        case AgentCard():
            return encode_card(result)
        case _:
            assert_never(result)


def _page(page: TaskPage, values: MessageEncoder) -> wire.ListTasksResponse:
    return wire.ListTasksResponse(
        tasks=tuple([values.task(task.task()) for task in page.tasks]),
        next_page_token=page.next_page_token,
        total_size=page.total_size,
    )


def _configs(response: ListTaskPushNotificationConfigsResponse) -> wire.ListConfigsResponse:
    return wire.ListConfigsResponse(
        configs=tuple([write_config(config) for config in response.configs]),
        next_page_token=response.next_page_token,
    )


# --- reading ------------------------------------------------------------------------------------


def decode_result(operation: Operation, data: bytes, values: Decoder) -> Received:
    """Read the answer of a unary operation.

    Raises:
        InvalidRequestError, InvalidParamsError: it is none of this operation.
    """
    match operation:
        case Operation.GET_TASK | Operation.CANCEL_TASK:
            return values.task(_TASK.decode(data))
        case Operation.LIST_TASKS:
            return _read_page(_TASKS.decode(data), values)
        case (
            Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
            | Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
        ):
            return read_config(_CONFIG.decode(data), "")
        case Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS:
            return _read_configs(_CONFIGS.decode(data))
        case Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG:
            return Empty()
        case Operation.GET_EXTENDED_AGENT_CARD:
            return decode_card(data)
        case _:
            sent = values.payload(_SENT.decode(data))
            return cast("Task | Message", sent.task or sent.message)


def decode_event(data: bytes, values: Decoder) -> StreamResponse:
    """Read one frame of a stream.

    Raises:
        InvalidRequestError, InvalidParamsError: it is none.
    """
    return values.payload(_FRAME.decode(data))


def _read_page(found: wire.ListTasksResponse, values: Decoder) -> ListTasksResponse:
    items = enumerate(found.tasks or ())
    tasks = tuple([values.task(task, f"tasks[{index}]") for index, task in items])
    return ListTasksResponse(
        tasks=tasks,
        next_page_token=found.next_page_token or "",
        # The message does not say how long a page may be.
        page_size=len(tasks),
        total_size=count(found.total_size, "totalSize") or len(tasks),
    )


def _read_configs(found: wire.ListConfigsResponse) -> ListTaskPushNotificationConfigsResponse:
    items = enumerate(found.configs or ())
    return ListTaskPushNotificationConfigsResponse(
        configs=tuple([read_config(config, f"configs[{index}]") for index, config in items]),
        next_page_token=found.next_page_token or "",
    )
