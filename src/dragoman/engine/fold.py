"""What a task looks like after a sequence of entries.

The same fold makes snapshots, answers reads, and rebuilds the task at a cursor, so they always
agree.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from dragoman.engine.artifacts import ArtifactFold
from dragoman.model.base import JsonObject
from dragoman.model.documents import TaskDocument
from dragoman.model.events import TRACE_MARKS, StreamResponse, TaskEvent, TaskStatusUpdateEvent
from dragoman.model.messages import Message
from dragoman.model.tasks import Artifact, Task, TaskStatus

__all__ = ("FoldMark", "TaskFold")

FoldMark = tuple[TaskStatus | None, int, JsonObject | None]
"""The status, the length of the history, and the metadata."""

_decode_entry = msgspec.json.Decoder(StreamResponse).decode


class TaskFold:
    """One task, kept up to date entry by entry."""

    __slots__ = ("_artifacts", "_context_id", "_history", "_metadata", "_status", "_task_id")

    def __init__(self, task_id: str, context_id: str) -> None:
        """Begin before the first entry."""
        self._task_id = task_id
        self._context_id = context_id
        self._status: TaskStatus | None = None
        self._artifacts: dict[str, ArtifactFold] = {}
        self._history: list[Message] = []
        self._metadata: JsonObject | None = None

    @classmethod
    def of(cls, task: Task) -> TaskFold:
        """Begin with a task as it was, to add the entries after it."""
        fold = cls(task.id, task.context_id)
        fold._status = task.status
        fold._artifacts = {item.artifact_id: ArtifactFold(item) for item in task.artifacts}
        fold._history = list(task.history)
        fold._metadata = task.metadata
        return fold

    @property
    def artifact_ids(self) -> tuple[str, ...]:
        """The artifacts so far."""
        return tuple(self._artifacts)

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages so far, the current status message not among them (Q-23)."""
        return tuple(self._history)

    @property
    def status_message(self) -> Message | None:
        """The message of the current status, if it has one."""
        return None if self._status is None else self._status.message

    def apply(self, event: TaskEvent) -> None:
        """Add an event."""
        if type(event) is TaskStatusUpdateEvent:
            self._retire_status_message()
            self._status = event.status
            if event.metadata is not None:
                self._add_metadata(event.metadata)
            return
        artifact_id = event.artifact.artifact_id
        if event.append and artifact_id in self._artifacts:
            self._artifacts[artifact_id].append(event)
        else:
            self._artifacts[artifact_id] = ArtifactFold(event.artifact)

    def record(self, message: Message) -> None:
        """Add a message of the history."""
        self._retire_status_message()
        self._history.append(message)

    def mark(self) -> FoldMark:
        """Return what ``rewind`` needs to take back statuses and messages that are yet to come."""
        return self._status, len(self._history), self._metadata

    def rewind(self, mark: FoldMark) -> None:
        """Take back all statuses and messages since a mark; artifacts stay."""
        self._status, length, self._metadata = mark
        del self._history[length:]

    def replay(self, entries: Iterable[bytes]) -> None:
        """Add entries as the log has them."""
        for line in entries:
            entry = _decode_entry(line)
            if entry.message is not None:
                self.record(entry.message)
            elif entry.status_update is not None:
                self.apply(entry.status_update)
            elif entry.artifact_update is not None:
                self.apply(entry.artifact_update)

    def task(self) -> Task:
        """Return the task as it is now; there must have been a status."""
        return Task(
            id=self._task_id,
            context_id=self._context_id,
            status=self._known_status(),
            artifacts=tuple(self.artifacts().values()),
            history=self.history,
            metadata=self._metadata,
        )

    def artifact(self, artifact_id: str) -> Artifact:
        """Return one of the artifacts as it is now."""
        return self._artifacts[artifact_id].artifact()

    def artifacts(self) -> dict[str, Artifact]:
        """Return the artifacts as they are now, by id."""
        return {name: fold.artifact() for name, fold in self._artifacts.items()}

    def document(self, unread: tuple[Message, ...] = ()) -> TaskDocument:
        """Return the task as JSON; acknowledged messages nobody has taken up end its history."""
        return TaskDocument.assemble(
            Task(
                id=self._task_id,
                context_id=self._context_id,
                status=self._known_status(),
                metadata=self._metadata,
            ),
            tuple([fold.artifact() for fold in self._artifacts.values()]),
            (*self._history, *unread),
        )

    def _add_metadata(self, metadata: JsonObject) -> None:
        added = {name: value for name, value in metadata.items() if name not in TRACE_MARKS}
        if added:
            self._metadata = {**(self._metadata or {}), **added}

    def _known_status(self) -> TaskStatus:
        if self._status is None:
            raise ValueError("a task has no status before its first event")
        return self._status

    def _retire_status_message(self) -> None:
        """Move the message of the status that is left behind into the history (Q-23)."""
        if self._status is not None and self._status.message is not None:
            self._history.append(self._status.message)
            self._status = TaskStatus(state=self._status.state, timestamp=self._status.timestamp)
