"""The answers of unary operations, read; and the frames of a stream.

Peers that speak the other shape of 0.3 leave out the member that tells what a payload is, or put
the whole into ``result`` (0.x reference, 8.2 A15); both are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from dragoman.dialects.fields import read_json
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.decode import count
from dragoman.dialects.v0_3_proto.push import read_config
from dragoman.dialects.v0_3_proto.spelling import Form
from dragoman.errors import InvalidParamsError
from dragoman.model.operations import (
    Empty,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    Operation,
)

if TYPE_CHECKING:
    from dragoman.dialects.base import Received
    from dragoman.dialects.v0_3_proto.decode import Decoder
    from dragoman.model.base import JsonObject
    from dragoman.model.events import StreamResponse
    from dragoman.model.messages import Message
    from dragoman.model.tasks import Task

__all__ = ("read_answer", "read_event")

_FRAME: Final = Form(wire.StreamResponse)
_TASK: Final = Form(wire.Task)
_TASKS: Final = Form(wire.ListTasksResponse)
_CONFIG: Final = Form(wire.TaskPushNotificationConfig)
_CONFIGS: Final = Form(wire.ListConfigsResponse)


def read_answer(operation: Operation, data: bytes, values: Decoder) -> Received:
    """Return what a server has answered, the card excepted.

    Raises:
        JSONParseError, InvalidParamsError: it is not an answer of this operation.
    """
    match operation:
        case Operation.GET_TASK | Operation.CANCEL_TASK:
            return values.task(_TASK.decode(data))
        case Operation.LIST_TASKS:
            return _read_page(_TASKS.decode(_as_member("tasks", data)), values)
        case (
            Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
            | Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
        ):
            return read_config(_CONFIG.decode(data), "")
        case Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS:
            return _read_configs(_CONFIGS.decode(_as_member("configs", data)))
        case Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG:
            # {}, null or nothing at all: that it has succeeded says everything.
            return Empty()
        case _:
            return _read_sent(data, values)


def read_event(data: bytes, values: Decoder) -> StreamResponse:
    """Return one frame of a stream.

    Raises:
        JSONParseError, InvalidParamsError: it is no frame.
    """
    frame = _FRAME.decode(data)
    if not (frame.task or frame.message or frame.status_update or frame.artifact_update):
        frame = _FRAME.convert(_wrapped(cast("JsonObject", read_json(data))))
    return values.payload(frame)


def _read_sent(data: bytes, values: Decoder) -> Task | Message:
    frame = read_event(data, values)
    answer = frame.task or frame.message
    if answer is None:
        raise InvalidParamsError.of("", "needs exactly one of task, message")
    return answer


def _wrapped(members: JsonObject) -> JsonObject:
    """Return a payload under the member name that it should have had (0.x reference, 5.9)."""
    if isinstance(members.get("result"), dict):
        members = cast("JsonObject", members["result"])
        if members.keys() & _PAYLOADS:
            return members
    if "artifact" in members:
        return {"artifactUpdate": members}
    if members.keys() & _OF_MESSAGES:
        return {"message": members}
    if "status" in members:
        return {"statusUpdate" if members.keys() & _OF_UPDATES else "task": members}
    return members


_PAYLOADS: Final = {
    "task",
    "message",
    "msg",
    "statusUpdate",
    "status_update",
    "artifactUpdate",
    "artifact_update",
}
_OF_MESSAGES: Final = {"role", "messageId", "message_id"}
_OF_UPDATES: Final = {"taskId", "task_id", "final"}


def _as_member(name: str, data: bytes) -> bytes:
    """Return a list as the prose of 0.3 has it, bare, in the object that the proto has."""
    return b'{"%b":%b}' % (name.encode(), data) if data.lstrip().startswith(b"[") else data


def _read_page(found: wire.ListTasksResponse, values: Decoder) -> ListTasksResponse:
    items = enumerate(found.tasks or ())
    tasks = tuple([values.task(task, f"tasks[{index}]") for index, task in items])
    return ListTasksResponse(
        tasks=tasks,
        next_page_token=found.next_page_token or "",
        # The proto does not say how long a page may be.
        page_size=len(tasks),
        total_size=count(found.total_size, "totalSize") or len(tasks),
    )


def _read_configs(found: wire.ListConfigsResponse) -> ListTaskPushNotificationConfigsResponse:
    items = enumerate(found.configs or ())
    return ListTaskPushNotificationConfigsResponse(
        configs=tuple([read_config(config, f"configs[{index}]") for index, config in items]),
        next_page_token=found.next_page_token or "",
    )
