"""AgentEvent: one thing that an agent tells while it works."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from dragoman.client.following.differences import joined
from dragoman.client.results.content import data_of, files_of
from dragoman.client.results.files import ReceivedFile
from dragoman.model.events import StreamResponse
from dragoman.model.messages import text_of
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState

__all__ = ("AgentEvent",)


class AgentEvent(Struct, frozen=True):
    """One event of a stream.

    Attributes:
        value: the event as the protocol has it.
        seq: its number in the task's log, 0 if the agent gives none.
    """

    value: StreamResponse
    seq: int = 0

    @property
    def kind(self) -> Literal["task", "message", "status", "artifact"]:
        """Tell what it is."""
        if self.value.artifact_update is not None:
            return "artifact"
        if self.value.status_update is not None:
            return "status"
        return "task" if self.value.task is not None else "message"

    @property
    def task_id(self) -> str:
        """The task it belongs to, "" if it is a message without a task."""
        return self.value.task_id

    @property
    def context_id(self) -> str:
        """The conversation it belongs to."""
        return self.value.context_id

    @property
    def state(self) -> TaskState | None:
        """Where the task stands, if the event tells it."""
        return self.value.status.state if self.value.status is not None else None

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content: of a message, a status or a chunk; of a task, all of its results."""
        value = self.value
        if value.artifact_update is not None:
            return value.artifact_update.artifact.parts
        if value.status_update is not None:
            said = value.status_update.status.message
            return said.parts if said is not None else ()
        if value.task is not None:
            artifacts = value.task.artifacts
            return tuple(part for artifact in artifacts for part in joined(artifact.parts))
        return value.message.parts if value.message is not None else ()

    @property
    def text(self) -> str:
        """The text of the content."""
        return text_of(self.parts)

    @property
    def data(self) -> object:
        """The first piece of data in the content, None if there is none."""
        return next(iter(data_of(self.parts)), None)

    @property
    def files(self) -> tuple[ReceivedFile, ...]:
        """The files in the content."""
        return files_of(self.parts)

    def __str__(self) -> str:
        """Show the state in brackets if it is told, and the text."""
        state = self.state
        if state is None:
            return self.text
        name = f"[{state.name.lower().replace('_', ' ')}]"
        return f"{name} {self.text}" if self.text else name
