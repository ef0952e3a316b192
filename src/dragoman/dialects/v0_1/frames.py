"""The events of one stream in 0.1: which frames they become, and in what order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.dialects.v0_1.encode import Writer, task_of
from dragoman.model.events import TaskArtifactUpdateEvent

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.documents import EventDocument
    from dragoman.model.tasks import Task, TaskStatus

__all__ = ("Frames",)

_encode: Final = msgspec.json.Encoder().encode


class Frames:
    """Writes the events of one stream.

    An artifact goes by a number, which is the order in which the stream, or the task that leads
    it, first names it (0.x reference, 5.8). So frames depend on those before them and on the id
    that the peer knows; they are not shared between streams.
    """

    __slots__ = ("_has_ended", "_indexes", "_writer")

    def __init__(self, writer: Writer) -> None:
        """Begin a stream."""
        self._writer = writer
        self._indexes: dict[str, int] = {}
        self._has_ended = False

    @property
    def has_ended(self) -> bool:
        """Tell whether a frame was final."""
        return self._has_ended

    def write(self, event: EventDocument) -> tuple[bytes, ...]:
        """Return the frames of an event: one, or as many as a task needs."""
        value = event.value
        if value.artifact_update is not None:
            return (self._artifact(value.artifact_update),)
        if (update := value.status_update) is not None:
            return (self._status(update.task_id, update.status, update.metadata),)
        if value.message is not None:
            return self._task(task_of(value.message))
        return () if value.task is None else self._task(value.task)

    def _task(self, task: Task) -> tuple[bytes, ...]:
        """Write a task, which 0.1 streams do not carry, as events (5.9); the final one is last."""
        status = self._status(task.id, task.status)
        artifacts = [
            self._artifact(
                TaskArtifactUpdateEvent(
                    task_id=task.id, context_id=task.context_id, artifact=artifact
                )
            )
            for artifact in task.artifacts
        ]
        return (*artifacts, status) if self._has_ended else (status, *artifacts)

    def _status(
        self, task_id: str, status: TaskStatus, metadata: JsonObject | None = None
    ) -> bytes:
        # R01-7.2.2-1: a stream ends where the task stops, be it for good or to wait.
        self._has_ended = status.state.is_terminal or status.state.is_interrupted
        written = self._writer.status_event(task_id, status, metadata, is_final=self._has_ended)
        return _encode(written)

    def _artifact(self, event: TaskArtifactUpdateEvent) -> bytes:
        index = self._indexes.setdefault(event.artifact.artifact_id, len(self._indexes))
        return _encode(self._writer.artifact_event(event, index))
