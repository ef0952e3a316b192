"""Answers and events of 0.2 and 0.3 as a client reads them, from whatever a server makes of them.

An object is known by its ``kind``, else by its members (0.x reference, 5.9). On HTTP+JSON it may be
wrapped as the prose says (``{"task": ...}``), or in a ``result`` (8.2 A15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.card_0_3 import read_card
from dragoman.dialects.legacy.tolerant import read_any_part, read_said, read_status
from dragoman.dialects.v0_3.push import read_task_config
from dragoman.errors import InvalidParamsError
from dragoman.model.events import (
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from dragoman.model.operations import (
    Empty,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
    Operation,
)
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, Task

if TYPE_CHECKING:
    from dragoman.dialects.base import Received
    from dragoman.model.messages import Message

__all__ = ("decode_event", "decode_result")

_WRAPPERS: Final = ("result", "task", "message", "statusUpdate", "artifactUpdate")


def decode_result(operation: Operation, data: bytes) -> Received:
    """Read the answer of a unary operation.

    Raises:
        JSONParseError, InvalidParamsError: it is none.
    """
    if operation is Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG:
        return Empty()  # 3.4: null, or nothing at all
    found = read_json(data)
    match operation:
        case Operation.LIST_TASKS:
            return _tasks(_listed(found, "tasks"))
        case Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS:
            return _configs(_listed(found, "configs"))
        case (
            Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
            | Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
        ):
            return read_task_config(Fields(found))
        case Operation.GET_EXTENDED_AGENT_CARD:
            return read_card(Fields(found))
        case _:
            answer = _unwrapped(Fields(found))
            return _message(answer) if _kind(answer) == "message" else _task(answer)


def decode_event(data: bytes) -> StreamResponse:
    """Read one frame of a stream.

    Raises:
        JSONParseError, InvalidParamsError: it is none.
    """
    event = _unwrapped(Fields(read_json(data)))
    match _kind(event):
        case "message":
            return StreamResponse(message=_message(event))
        case "task":
            return StreamResponse(task=_task(event))
        case "status-update":
            return StreamResponse(status_update=_status_update(event))
        case _:
            return StreamResponse(artifact_update=_artifact_update(event))


# --- what it is ---------------------------------------------------------------------------------


def _unwrapped(found: Fields) -> Fields:
    while "kind" not in found:
        inner = next((name for name in _WRAPPERS if name in found), None)
        if inner is None:
            break
        found = found.at(inner) or found
    return found


def _kind(found: Fields) -> str:
    if (kind := found.text("kind")) in _KINDS:
        return kind
    if "artifact" in found or "part" in found:
        return "artifact-update"
    if "messageId" in found or ("role" in found and "parts" in found):
        return "message"
    if "status" in found and ("taskId" in found or "final" in found):
        return "status-update"
    return "task"


_KINDS: Final = frozenset({"task", "message", "status-update", "artifact-update"})


def _listed(found: object, name: str) -> Fields:
    """Take a bare array for an object with nothing else in it (5.1)."""
    return Fields({name: cast("object", found)} if isinstance(found, list) else found)


# --- the objects --------------------------------------------------------------------------------


def _message(found: Fields) -> Message:
    return read_said(found.whole, found.path)


def _task(found: Fields) -> Task:
    task_id = found.required_text("id", "taskId")
    return Task(
        id=task_id,
        context_id=found.text("contextId") or task_id,
        status=read_status(found),
        artifacts=tuple(
            [
                _artifact(Fields(item, place), index)
                for index, (item, place) in enumerate(found.items("artifacts"))
            ]
        ),
        history=tuple([read_said(item, place) for item, place in found.items("history")]),
        metadata=found.free("metadata"),
    )


def _artifact(found: Fields, position: int = 0) -> Artifact:
    parts = tuple([read_any_part(item, place) for item, place in found.items("parts")])
    return Artifact(
        artifact_id=found.text("artifactId") or _indexed(found, position),
        name=found.text("name"),
        description=found.text("description"),
        # Servers close a streamed artifact with a last chunk that holds nothing.
        parts=parts or (Part(text=""),),
        metadata=found.free("metadata"),
        extensions=found.texts("extensions"),
    )


def _indexed(found: Fields, position: int = 0) -> str:
    """Name an artifact that has an index, or only a place, instead of an id (5.8, 8.1 X11)."""
    index = found.count("index")
    return f"idx-{position if index is None else index}"


def _status_update(found: Fields) -> TaskStatusUpdateEvent:
    task_id = found.required_text("taskId", "id")
    return TaskStatusUpdateEvent(
        task_id=task_id,
        context_id=found.text("contextId") or task_id,
        status=read_status(found),
        metadata=found.free("metadata"),
    )


def _artifact_update(found: Fields) -> TaskArtifactUpdateEvent:
    task_id = found.required_text("taskId", "id")
    artifact, part = found.at("artifact"), found.at("part")
    if artifact is not None:
        append = found.flag("append")
        read = _artifact(artifact)
    elif part is not None:  # 8.2 A6: one part and its place, without an artifact around it
        append = part.flag("append")
        read = Artifact(artifact_id=_indexed(found), parts=(read_any_part(part.whole, part.path),))
    else:
        raise InvalidParamsError.of(found.place("artifact"), "is required")
    return TaskArtifactUpdateEvent(
        task_id=task_id,
        context_id=found.text("contextId") or task_id,
        artifact=read,
        append=append or False,
        last_chunk=found.flag("lastChunk") or False,
        metadata=found.free("metadata"),
    )


def _tasks(found: Fields) -> ListTasksResponse:
    tasks = tuple([_task(Fields(item, place)) for item, place in found.items("tasks")])
    total, size = found.count("totalSize"), found.count("pageSize")
    return ListTasksResponse(
        tasks=tasks,
        next_page_token=found.text("nextPageToken"),
        page_size=len(tasks) if size is None else size,
        total_size=len(tasks) if total is None else total,
    )


def _configs(found: Fields) -> ListTaskPushNotificationConfigsResponse:
    return ListTaskPushNotificationConfigsResponse(
        configs=tuple(
            [read_task_config(Fields(item, place)) for item, place in found.items("configs")]
        ),
        next_page_token=found.text("nextPageToken"),
    )
