"""Answers and events of 0.2 and 0.3, as plain JSON objects with ``kind`` first.

Some clients want ``kind`` to be the first member (0.x reference, 8.2 A24), so the objects are
written in order. A client that sent its parts by ``type`` gets ``type`` beside ``kind``, and an
``index`` beside ``artifactId`` (6.1 D9, 8.1 X11).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from dragoman.dialects.additions import NO_ADDITIONS, Additions
from dragoman.dialects.legacy.part_marks import spell_part
from dragoman.dialects.legacy.tolerant import INPUT_REQUEST
from dragoman.model.base import is_object
from dragoman.model.client_tools import CLIENT_TOOLS
from dragoman.model.client_tools import INPUT_REQUEST as MEMBER
from dragoman.model.events import TaskStatusUpdateEvent
from dragoman.model.messages import Role
from dragoman.model.tasks import TaskState

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent
    from dragoman.model.messages import Message
    from dragoman.model.parts import Part
    from dragoman.model.tasks import Artifact, Task, TaskStatus

__all__ = ("STATES", "Writer")

_ROLES: Final = {Role.USER: "user", Role.AGENT: "agent"}
STATES: Final = {
    state: state.value.removeprefix("TASK_STATE_").lower().replace("_", "-") for state in TaskState
}


class Writer:
    """Makes the objects of one variant of the form."""

    __slots__ = ("_additions", "_discriminators", "_is_dual")

    def __init__(self, *, is_dual: bool = False, additions: Additions = NO_ADDITIONS) -> None:
        """Choose whether parts have ``type`` and artifacts ``index`` as well, and a profile."""
        self._is_dual = is_dual
        self._additions = additions
        self._discriminators = ("kind", "type") if is_dual else ("kind",)

    def has_stopped(self, status: TaskStatus) -> bool:
        """Tell whether the task has ended or waits: then ``final`` is true (5.9)."""
        state = status.state
        return state.is_terminal or (state.is_interrupted and self._additions.ends_at_pauses)

    def message(self, message: Message, *, is_question: bool = False) -> JsonObject:
        """Return a message; ``is_question`` if it is what a task waits to be told."""
        if self._additions.dress is not None:
            message = self._additions.dress(message, is_question)
        members: JsonObject = {
            "kind": "message",
            "messageId": message.message_id,
            "role": _ROLES[message.role],
            "parts": self._parts(message.parts),
        }
        if message.task_id:
            members["taskId"] = message.task_id
        if message.context_id:
            members["contextId"] = message.context_id
        if message.metadata is not None:
            members |= _message_metadata(message.metadata)
        if message.extensions:
            members["extensions"] = message.extensions
        if message.reference_task_ids:
            members["referenceTaskIds"] = message.reference_task_ids
        return members

    def task(self, task: Task) -> JsonObject:
        """Return a task; a context is required here, so the task's own id stands in (5.3)."""
        members: JsonObject = {
            "kind": "task",
            "id": task.id,
            "contextId": task.context_id or task.id,
            "status": self._status(task.status),
        }
        if task.artifacts:
            members["artifacts"] = [
                self._artifact(artifact, index) for index, artifact in enumerate(task.artifacts)
            ]
        if task.history:
            members["history"] = [self.message(message) for message in task.history]
        if task.metadata is not None:
            members["metadata"] = task.metadata
        return members

    def frames(self, event: StreamResponse) -> list[JsonObject]:
        """Return the objects of one event.

        5.9: a task that has stopped is followed by its status once more, because only a
        status-update can say that it is the last.
        """
        if (update := event.status_update) is not None:
            return [self._status_update(update)]
        if event.message is not None:
            return [self.message(event.message)]
        if (task := event.task) is not None:
            frames = [self.task(task)]
            if self.has_stopped(task.status):
                context_id = task.context_id or task.id
                last = TaskStatusUpdateEvent(
                    task_id=task.id, context_id=context_id, status=task.status
                )
                frames.append(self._status_update(last))
            return frames
        return [self._artifact_update(cast("TaskArtifactUpdateEvent", event.artifact_update))]

    def _status_update(self, event: TaskStatusUpdateEvent) -> JsonObject:
        members: JsonObject = {
            "kind": "status-update",
            "taskId": event.task_id,
            "contextId": event.context_id,
            "status": self._status(event.status),
            "final": self.has_stopped(event.status),
        }
        if event.metadata is not None:
            members["metadata"] = event.metadata
        return members

    def _artifact_update(self, event: TaskArtifactUpdateEvent) -> JsonObject:
        members: JsonObject = {
            "kind": "artifact-update",
            "taskId": event.task_id,
            "contextId": event.context_id,
            "artifact": self._artifact(event.artifact),
            "append": event.append,
            "lastChunk": event.last_chunk,
        }
        if event.metadata is not None:
            members["metadata"] = event.metadata
        return members

    def _status(self, status: TaskStatus) -> JsonObject:
        members: JsonObject = {"state": STATES.get(status.state, "unknown")}
        if status.message is not None:
            is_question = status.state is TaskState.INPUT_REQUIRED
            members["message"] = self.message(status.message, is_question=is_question)
        if status.timestamp is not None:
            members["timestamp"] = status.timestamp
        return members

    def _artifact(self, artifact: Artifact, index: int | None = None) -> JsonObject:
        members: JsonObject = {
            "artifactId": artifact.artifact_id,
            "parts": self._parts(artifact.parts),
        }
        if self._is_dual and index is not None:
            members["index"] = index
        if artifact.name:
            members["name"] = artifact.name
        if artifact.description:
            members["description"] = artifact.description
        if artifact.metadata is not None:
            members["metadata"] = artifact.metadata
        if artifact.extensions:
            members["extensions"] = artifact.extensions
        return members

    def _parts(self, parts: tuple[Part, ...]) -> list[JsonObject]:
        return [spell_part(part, self._discriminators) for part in parts]


def _message_metadata(metadata: JsonObject) -> JsonObject:
    request = metadata.get(INPUT_REQUEST)
    if not isinstance(request, dict):
        entry = metadata.get(CLIENT_TOOLS)
        told = entry.get(MEMBER) if is_object(entry) else None
        # Readers that do not know the member leave it out. It is there for its name, which an
        # answer repeats.
        is_named = is_object(told) and bool(told.get("requestId"))
        return {"metadata": metadata} | ({MEMBER: told} if is_named else {})
    rest = {name: value for name, value in metadata.items() if name != INPUT_REQUEST}
    members: JsonObject = {"inputRequest": request}
    return {"metadata": rest, **members} if rest else members
