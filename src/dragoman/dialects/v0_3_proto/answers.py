"""The answers of unary operations and the frames of a stream, read and written.

In JSON, peers that speak the other shape of 0.3 leave out the member that tells what a payload is,
or put the whole into ``result`` (0.x reference, 8.2 A15); both are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, assert_never, cast

from dragoman.dialects.fields import read_json
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.decode import count
from dragoman.dialects.v0_3_proto.push import read_config, write_config
from dragoman.dialects.v0_3_proto.spelling import Form
from dragoman.errors import InvalidParamsError
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
    from collections.abc import Mapping

    from dragoman.dialects.base import Received
    from dragoman.dialects.v0_3_proto.decode import Decoder
    from dragoman.dialects.v0_3_proto.encode import Encoder
    from dragoman.model.base import JsonObject
    from dragoman.model.events import StreamResponse
    from dragoman.model.tasks import Task

__all__ = (
    "Answer",
    "Written",
    "decode_answer",
    "decode_event",
    "read_answer",
    "write_answer",
)

Answer: TypeAlias = (
    wire.StreamResponse
    | wire.Task
    | wire.ListTasksResponse
    | wire.TaskPushNotificationConfig
    | wire.ListConfigsResponse
    | wire.Empty
)
"""What stands on the wire for the answer of a unary operation, the card excepted."""

_BARE_TASK: Final = frozenset({Operation.GET_TASK, Operation.CANCEL_TASK})

# --- reading ------------------------------------------------------------------------------------


def read_answer(found: Answer, values: Decoder) -> Received:
    """Return what a server has answered.

    Raises:
        InvalidParamsError: it does not make sense.
    """
    match found:
        case wire.StreamResponse():
            return _read_sent(found, values)
        case wire.Task():
            return values.task(found)
        case wire.ListTasksResponse():
            return _read_page(found, values)
        case wire.TaskPushNotificationConfig():
            return read_config(found, "")
        case wire.ListConfigsResponse():
            return _read_configs(found)
        case wire.Empty():
            return Empty()
        case _:
            assert_never(found)


def _read_sent(found: wire.StreamResponse, values: Decoder) -> Task | Message:
    frame = values.payload(found)
    answer = frame.task or frame.message
    if answer is None:
        raise InvalidParamsError.of("", "needs exactly one of task, message")
    return answer


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


# --- reading JSON -------------------------------------------------------------------------------

_FRAME: Final = Form(wire.StreamResponse)
_FORMS: Final[Mapping[Operation, Form[Answer]]] = {
    Operation.GET_TASK: Form(wire.Task),
    Operation.CANCEL_TASK: Form(wire.Task),
    Operation.LIST_TASKS: Form(wire.ListTasksResponse),
    Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG: Form(wire.TaskPushNotificationConfig),
    Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG: Form(wire.TaskPushNotificationConfig),
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: Form(wire.ListConfigsResponse),
}
_LISTS: Final = {
    Operation.LIST_TASKS: b"tasks",
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: b"configs",
}


def decode_answer(operation: Operation, data: bytes, values: Decoder) -> Received:
    """Read what a server has answered, the card excepted.

    Raises:
        JSONParseError, InvalidParamsError: it is not an answer of this operation.
    """
    if operation is Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG:
        # {}, null or nothing at all: that it has succeeded says everything.
        return Empty()
    if operation in _LISTS and data.lstrip().startswith(b"["):
        # As the prose of 0.3 has a list, without the object that the proto has around it.
        data = b'{"%b":%b}' % (_LISTS[operation], data)
    form = _FORMS.get(operation)
    return read_answer(form.decode(data) if form else _decode_frame(data), values)


def decode_event(data: bytes, values: Decoder) -> StreamResponse:
    """Read one frame of a stream.

    Raises:
        JSONParseError, InvalidParamsError: it is no frame.
    """
    return values.payload(_decode_frame(data))


def _decode_frame(data: bytes) -> wire.StreamResponse:
    frame = _FRAME.decode(data)
    if frame.task or frame.message or frame.status_update or frame.artifact_update:
        return frame
    return _FRAME.convert(_wrapped(cast("JsonObject", read_json(data))))


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

# --- writing ------------------------------------------------------------------------------------

Written: TypeAlias = (
    TaskDocument
    | Message
    | TaskPage
    | TaskPushNotificationConfig
    | ListTaskPushNotificationConfigsResponse
    | Empty
)
"""What a server answers, the card excepted."""


def write_answer(operation: Operation, result: Written, values: Encoder) -> Answer:
    """Return the answer of a unary operation as the proto has it."""
    match result:
        case TaskDocument():
            task = values.task(result.task())
            return task if operation in _BARE_TASK else wire.StreamResponse(task=task)
        case Message():
            return wire.StreamResponse(message=values.message(result))
        case TaskPage():
            return wire.ListTasksResponse(
                tasks=tuple([values.task(task.task()) for task in result.tasks]) or None,
                next_page_token=result.next_page_token or None,
                total_size=result.total_size or None,
            )
        case TaskPushNotificationConfig():
            return write_config(result)
        case ListTaskPushNotificationConfigsResponse():
            return wire.ListConfigsResponse(
                configs=tuple([write_config(config) for config in result.configs]) or None,
                next_page_token=result.next_page_token or None,
            )
        case Empty():
            return wire.Empty()
        case _:
            assert_never(result)
