"""What streams and webhooks carry."""

from __future__ import annotations

from typing import Final, final

from dragoman.model.base import JsonObject, NonEmpty, Value
from dragoman.model.messages import Message
from dragoman.model.tasks import Artifact, Task, TaskStatus

__all__ = (
    "TRACE_MARKS",
    "StreamResponse",
    "TaskArtifactUpdateEvent",
    "TaskEvent",
    "TaskStatusUpdateEvent",
)

TRACE_MARKS: Final = ("traceId", "spanId")
"""Metadata of an event that is its own and not its task's: what was at work when it was made."""

_ONE_OF = "needs exactly one of task, message, statusUpdate, artifactUpdate"


@final  # Asked for by ``type(event) is``, as isinstance is slow to say no to a Struct.
class TaskStatusUpdateEvent(Value, frozen=True, kw_only=True):
    """The status of a task changed.

    The metadata is added to that of the task, but for ``TRACE_MARKS``.
    """

    task_id: NonEmpty
    context_id: NonEmpty
    status: TaskStatus
    metadata: JsonObject | None = None


@final
class TaskArtifactUpdateEvent(Value, frozen=True, kw_only=True):
    """An artifact was created (``append`` false) or extended (``append`` true)."""

    task_id: NonEmpty
    context_id: NonEmpty
    artifact: Artifact
    append: bool = False
    last_chunk: bool = False
    metadata: JsonObject | None = None


TaskEvent = TaskStatusUpdateEvent | TaskArtifactUpdateEvent
"""What a task's log numbers: the updates, and nothing else."""


class StreamResponse(Value, frozen=True, kw_only=True):
    """One frame of a stream: exactly one member is set."""

    task: Task | None = None
    message: Message | None = None
    status_update: TaskStatusUpdateEvent | None = None
    artifact_update: TaskArtifactUpdateEvent | None = None

    def __post_init__(self) -> None:
        """Hold the union closed."""
        members = (
            (self.task is not None)
            + (self.message is not None)
            + (self.status_update is not None)
            + (self.artifact_update is not None)
        )
        if members != 1:
            raise ValueError(_ONE_OF)

    @property
    def task_id(self) -> str:
        """The task it is about, "" for a message without one."""
        if self.task is not None:
            return self.task.id
        member = self.status_update or self.artifact_update or self.message
        return member.task_id if member is not None else ""

    @property
    def context_id(self) -> str:
        """The conversation it belongs to, "" if that is not told."""
        member = self.task or self.status_update or self.artifact_update or self.message
        return member.context_id if member is not None else ""

    @property
    def status(self) -> TaskStatus | None:
        """The status of the task, None if it is not told."""
        told = self.task or self.status_update
        return told.status if told is not None else None
