"""The model in the words of 0.1, as plain JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dragoman.dialects.legacy.part_marks import spell_part
from dragoman.dialects.legacy.push import webhook_members
from dragoman.dialects.v0_1.wire import STATE_MARK
from dragoman.model.base import JsonObject
from dragoman.model.messages import Role
from dragoman.model.tasks import Task, TaskState, TaskStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dragoman.model.events import TaskArtifactUpdateEvent
    from dragoman.model.messages import Message
    from dragoman.model.parts import Part
    from dragoman.model.push import TaskPushNotificationConfig
    from dragoman.model.tasks import Artifact

__all__ = ("Writer", "described", "task_of")

# 0.x reference, 5.4: 0.1 has no refusal, and asks for credentials as for any other input.
_STATES: Final = {
    TaskState.SUBMITTED: "submitted",
    TaskState.WORKING: "working",
    TaskState.COMPLETED: "completed",
    TaskState.FAILED: "failed",
    TaskState.CANCELED: "canceled",
    TaskState.INPUT_REQUIRED: "input-required",
    TaskState.REJECTED: "failed",
    TaskState.AUTH_REQUIRED: "input-required",
}
_REJECTED: Final[JsonObject] = {STATE_MARK: "rejected"}


class Writer(Struct, frozen=True, gc=False):
    """Writes to one peer.

    Attributes:
        shown_id: what the peer calls the task, "" if it goes by the id it has here.
        has_kind: parts say what they are in ``kind`` too (D13).
    """

    shown_id: str = ""
    has_kind: bool = False

    def task(self, task: Task) -> JsonObject:
        """Write a task."""
        written: JsonObject = {"id": self.shown_id or task.id}
        if task.context_id:
            written["sessionId"] = task.context_id
        written["status"] = self._status(task.status)
        if task.artifacts:
            written["artifacts"] = [
                self._artifact(artifact, index) for index, artifact in enumerate(task.artifacts)
            ]
        if task.history:
            written["history"] = [self.message(message) for message in task.history]
        return described(written, _marked(task.metadata, task.status))

    def status_event(
        self, task_id: str, status: TaskStatus, metadata: JsonObject | None, *, is_final: bool
    ) -> JsonObject:
        """Write a status event."""
        written: JsonObject = {
            "id": self.shown_id or task_id,
            "status": self._status(status),
            "final": is_final,
        }
        return described(written, _marked(metadata, status))

    def artifact_event(self, event: TaskArtifactUpdateEvent, index: int) -> JsonObject:
        """Write an artifact event; what it says about the chunk moves into the artifact (5.8)."""
        artifact = self._artifact(event.artifact, index)
        if event.append:
            artifact["append"] = True
        if event.last_chunk:
            artifact["lastChunk"] = True
        written: JsonObject = {"id": self.shown_id or event.task_id, "artifact": artifact}
        return described(written, event.metadata)

    def message(self, message: Message) -> JsonObject:
        """Write a message; its ids are lost."""
        written: JsonObject = {
            "role": "user" if message.role is Role.USER else "agent",
            "parts": self._parts(message.parts),
        }
        return described(written, message.metadata)

    def push_config(self, config: TaskPushNotificationConfig) -> JsonObject:
        """Write the webhook of a task."""
        return {
            "id": self.shown_id or config.task_id,
            "pushNotificationConfig": webhook_members(config),
        }

    def _status(self, status: TaskStatus) -> JsonObject:
        written: JsonObject = {"state": _STATES.get(status.state, "unknown")}
        if status.message is not None:
            written["message"] = self.message(status.message)
        if status.timestamp is not None:
            written["timestamp"] = status.timestamp
        return written

    def _artifact(self, artifact: Artifact, index: int) -> JsonObject:
        written: JsonObject = {"index": index}
        if artifact.name:
            written["name"] = artifact.name
        if artifact.description:
            written["description"] = artifact.description
        written["parts"] = self._parts(artifact.parts)
        return described(written, artifact.metadata)

    def _parts(self, parts: Sequence[Part]) -> list[JsonObject]:
        discriminators = ("type", "kind") if self.has_kind else ("type",)
        return [spell_part(part, discriminators) for part in parts]


def task_of(message: Message) -> Task:
    """Return the task that a message completes; 0.1 has no answer without a task (5.5)."""
    return Task(
        id=message.task_id or message.message_id,
        context_id=message.context_id,
        status=TaskStatus(state=TaskState.COMPLETED, message=message),
    )


def described(written: JsonObject, metadata: JsonObject | None) -> JsonObject:
    """Add the metadata, if there is any, to an object that is being written."""
    if metadata is not None:
        written["metadata"] = metadata
    return written


def _marked(metadata: JsonObject | None, status: TaskStatus) -> JsonObject | None:
    # 0.x reference, 5.4: a status has no metadata of its own.
    if status.state is TaskState.REJECTED:
        return {**metadata, **_REJECTED} if metadata else _REJECTED
    return metadata
