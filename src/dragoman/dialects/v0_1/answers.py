"""Answers and events of an agent of 0.1, read into the model.

They are read member by member: a client takes what the field sends (0.x reference, 2.8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.tolerant import read_message, read_part, read_status
from dragoman.dialects.v0_1.push import read_task_config
from dragoman.dialects.v0_1.wire import STATE_MARK
from dragoman.errors import InvalidParamsError, TaskNotFoundError
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message, Role
from dragoman.model.operations import Empty, ListTaskPushNotificationConfigsResponse, Operation
from dragoman.model.tasks import Artifact, Task, TaskState, TaskStatus

if TYPE_CHECKING:
    from dragoman.dialects.base import Received
    from dragoman.model.base import JsonObject

__all__ = ("decode_event", "decode_result")


def decode_result(operation: Operation, data: bytes) -> Received:
    """Read the answer of a unary operation.

    Raises:
        JSONParseError, InvalidParamsError: it is none; the violation says why.
    """
    if operation is Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG:
        return Empty()  # whatever an agent says to a webhook that was set to null
    told = read_json(data)
    if told is None and operation is Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG:
        raise TaskNotFoundError("")  # as the other versions say it
    if told is None and operation is Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS:
        return ListTaskPushNotificationConfigsResponse()
    answer = Fields(told)
    match operation:
        case (
            Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG
            | Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG
        ):
            return read_task_config(answer)
        case Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS:
            # 2.4: null or an empty object is no webhook.
            has_one = bool(answer.get("pushNotificationConfig"))
            configs = (read_task_config(answer),) if has_one else ()
            return ListTaskPushNotificationConfigsResponse(configs=configs)
        case _:
            return _read_task(answer)


def decode_event(data: bytes) -> StreamResponse:
    """Read one frame of a stream.

    A frame does not name the session, so the context of an event is the task's id: whoever follows
    the stream knows better. Nor does the event keep ``final``.

    Raises:
        JSONParseError, InvalidParamsError: it is none; the violation says why.
    """
    frame = Fields(read_json(data))
    if (artifact := frame.at("artifact")) is not None:
        return StreamResponse(artifact_update=_read_artifact_event(frame, artifact))
    # 5.9: a task has no place in a stream of 0.1, but can be told from a status event.
    if any(name in frame for name in ("artifacts", "history", "sessionId")):
        return StreamResponse(task=_read_task(frame))
    task_id = frame.required_text("id")
    status, metadata = _read_status(frame, task_id, task_id)
    return StreamResponse(
        status_update=TaskStatusUpdateEvent(
            task_id=task_id, context_id=task_id, status=status, metadata=metadata
        )
    )


def _read_artifact_event(frame: Fields, artifact: Fields) -> TaskArtifactUpdateEvent:
    task_id = frame.required_text("id")
    return TaskArtifactUpdateEvent(
        task_id=task_id,
        context_id=task_id,
        artifact=_read_artifact(artifact, f"idx-{_index(artifact)}"),
        append=artifact.flag("append") or False,
        last_chunk=artifact.flag("lastChunk") or False,
        metadata=frame.free("metadata"),
    )


def _read_task(found: Fields) -> Task:
    task_id, context_id = found.required_text("id"), found.text("sessionId")
    status, metadata = _read_status(found, task_id, context_id)
    return Task(
        id=task_id,
        context_id=context_id,
        status=status,
        artifacts=_read_artifacts(found),
        history=tuple(
            _placed(read_message(value, place, role=Role.AGENT), task_id, context_id)
            for value, place in found.items("history")
        ),
        metadata=metadata,
    )


def _read_status(
    owner: Fields, task_id: str, context_id: str
) -> tuple[TaskStatus, JsonObject | None]:
    """Read the status of a task or an event, and the metadata beside it."""
    status, metadata = read_status(owner), owner.free("metadata")
    if status.message is not None:
        status = replace(status, message=_placed(status.message, task_id, context_id))
    if status.state is TaskState.FAILED and metadata and metadata.get(STATE_MARK) == "rejected":
        status = replace(status, state=TaskState.REJECTED)
        metadata = {name: metadata[name] for name in metadata if name != STATE_MARK} or None
    return status, metadata


def _placed(message: Message, task_id: str, context_id: str) -> Message:
    """Return a message as one of the task in which it was found (5.6)."""
    return replace(message, task_id=task_id, context_id=context_id)


def _read_artifacts(found: Fields) -> tuple[Artifact, ...]:
    """Read the artifacts of a task; later ones with the same index get ids of their own (5.8)."""
    artifacts: list[Artifact] = []
    seen: dict[int, int] = {}
    for value, place in found.items("artifacts"):
        artifact = Fields(value, place)
        index = _index(artifact)
        further = seen[index] = seen.get(index, -1) + 1
        artifact_id = f"idx-{index}-{further}" if further else f"idx-{index}"
        artifacts.append(_read_artifact(artifact, artifact_id))
    return tuple(artifacts)


def _index(artifact: Fields) -> int:
    return artifact.count("index") or 0


def _read_artifact(artifact: Fields, artifact_id: str) -> Artifact:
    parts = tuple([read_part(value, place) for value, place in artifact.items("parts")])
    if not parts:
        raise InvalidParamsError.of(artifact.place("parts"), "must not be empty")
    return Artifact(
        artifact_id=artifact_id,
        name=artifact.text("name"),
        description=artifact.text("description"),
        parts=parts,
        metadata=artifact.free("metadata"),
    )
