"""From the model to the messages of the proto (0.x reference, 5.3 to 5.9).

Left out because a message of 0.3 has no place for it, or because some SDKs refuse the place it
has: ``Message.referenceTaskIds``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dragoman.dialects.legacy.file_bytes import write_file_bytes
from dragoman.dialects.legacy.part_marks import lower_part
from dragoman.dialects.v0_3_proto import wire
from dragoman.model.tasks import UNSPECIFIED

if TYPE_CHECKING:
    from dragoman.dialects.legacy.file_bytes import FileBytes
    from dragoman.model.base import JsonObject
    from dragoman.model.events import (
        StreamResponse,
        TaskArtifactUpdateEvent,
        TaskStatusUpdateEvent,
    )
    from dragoman.model.messages import Message
    from dragoman.model.parts import Part
    from dragoman.model.tasks import Artifact, Task, TaskStatus

__all__ = ("Encoder", "ends_stream")


def ends_stream(event: StreamResponse) -> bool:
    """Tell whether an event is the last of its stream: a message, or a task that has stopped."""
    changed = event.task or event.status_update
    return _is_final(changed.status) if changed else event.message is not None


def _is_final(status: TaskStatus) -> bool:
    # 5.9: at the end, and where the client has to act.
    return status.state.is_terminal or status.state.is_interrupted


class Encoder:
    """Writes values. It knows one thing of the peer: its habit with file content."""

    __slots__ = ("_pinned",)

    def __init__(self, pinned: FileBytes | None) -> None:
        """Keep the habit."""
        self._pinned: FileBytes | None = pinned

    def payloads(self, event: StreamResponse) -> tuple[wire.StreamResponse, ...]:
        """Return the frames of an event: one, or two where a task that has stopped is shown."""
        if event.task is not None:
            task = self.task(event.task)
            frame = wire.StreamResponse(task=task)
            if not _is_final(event.task.status):
                return (frame,)
            # 5.9: only a status update can say that it is the last frame.
            update = wire.TaskStatusUpdateEvent(
                task_id=task.id, context_id=task.context_id, status=task.status, final=True
            )
            return frame, wire.StreamResponse(status_update=update)
        if event.message is not None:
            return (wire.StreamResponse(message=self.message(event.message)),)
        if event.status_update is not None:
            return (wire.StreamResponse(status_update=self._status_update(event.status_update)),)
        grown = cast("TaskArtifactUpdateEvent", event.artifact_update)
        return (wire.StreamResponse(artifact_update=self._artifact_update(grown)),)

    def task(self, task: Task) -> wire.Task:
        """Return a task."""
        return wire.Task(
            id=task.id,
            context_id=task.context_id or None,
            status=self._status(task.status),
            artifacts=tuple([self._artifact(artifact) for artifact in task.artifacts]) or None,
            history=tuple([self.message(message) for message in task.history]) or None,
            metadata=task.metadata,
        )

    def message(self, message: Message) -> wire.Message:
        """Return a message."""
        return wire.Message(
            message_id=message.message_id,
            context_id=message.context_id or None,
            task_id=message.task_id or None,
            role=wire.ROLES[message.role],
            content=tuple([self._part(part) for part in message.parts]),
            metadata=message.metadata,
            extensions=message.extensions or None,
        )

    def _status_update(self, event: TaskStatusUpdateEvent) -> wire.TaskStatusUpdateEvent:
        return wire.TaskStatusUpdateEvent(
            task_id=event.task_id,
            context_id=event.context_id,
            status=self._status(event.status),
            final=_is_final(event.status) or None,
            metadata=event.metadata,
        )

    def _artifact_update(self, event: TaskArtifactUpdateEvent) -> wire.TaskArtifactUpdateEvent:
        return wire.TaskArtifactUpdateEvent(
            task_id=event.task_id,
            context_id=event.context_id,
            artifact=self._artifact(event.artifact),
            append=event.append or None,
            last_chunk=event.last_chunk or None,
            metadata=event.metadata,
        )

    def _status(self, status: TaskStatus) -> wire.TaskStatus:
        return wire.TaskStatus(
            state=wire.STATES.get(status.state, UNSPECIFIED.value),
            message=status.message and self.message(status.message),
            timestamp=status.timestamp,
        )

    def _artifact(self, artifact: Artifact) -> wire.Artifact:
        return wire.Artifact(
            artifact_id=artifact.artifact_id,
            name=artifact.name or None,
            description=artifact.description or None,
            parts=tuple([self._part(part) for part in artifact.parts]),
            metadata=artifact.metadata,
            extensions=artifact.extensions or None,
        )

    def _part(self, part: Part) -> wire.Part:
        if part.text is not None and not part.media_type and not part.filename:
            return wire.Part(text=part.text, metadata=part.metadata)
        if part.raw is not None or part.url is not None:
            return wire.Part(file=self._file(part), metadata=part.metadata)
        kind, members = lower_part(part)
        metadata = cast("JsonObject | None", members.get("metadata"))
        if kind == "text":
            return wire.Part(text=part.text, metadata=metadata)
        if kind == "data":
            return wire.Part(data={"data": members["data"]}, metadata=metadata)
        # What older forms have a place for travels with its mark here: strict readers refuse it.
        return wire.Part(data={"data": part.data}, metadata=part.metadata)

    def _file(self, part: Part) -> JsonObject:
        file: JsonObject = {}
        if part.raw is not None:
            file["fileWithBytes"] = write_file_bytes(part.raw, pinned=self._pinned)
        else:
            file["fileWithUri"] = part.url
        if part.media_type:
            file["mimeType"] = part.media_type
        if part.filename:
            file["name"] = part.filename
        return file
