"""Task: the unit of stateful work, its status and its results."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Final

from msgspec import Meta

from dragoman.model.base import JsonObject, NonEmpty, Value
from dragoman.model.messages import Message
from dragoman.model.parts import Part

__all__ = ("INTERRUPTED", "TERMINAL", "Artifact", "Task", "TaskState", "TaskStatus")


class TaskState(Enum):
    """Where a task stands. The proto's value 0 is "unset" and is never sent: no member."""

    SUBMITTED = "TASK_STATE_SUBMITTED"
    WORKING = "TASK_STATE_WORKING"
    COMPLETED = "TASK_STATE_COMPLETED"
    FAILED = "TASK_STATE_FAILED"
    CANCELED = "TASK_STATE_CANCELED"
    INPUT_REQUIRED = "TASK_STATE_INPUT_REQUIRED"
    REJECTED = "TASK_STATE_REJECTED"
    AUTH_REQUIRED = "TASK_STATE_AUTH_REQUIRED"

    is_terminal: bool
    """The task has ended for good."""
    is_interrupted: bool
    """The task waits for its client."""

    # Members are singletons; Enum's own hash is written in Python and shows in every request.
    __hash__ = object.__hash__

    def __init__(self, value: str) -> None:
        """Class the state once, so that asking costs nothing."""
        self.is_terminal = value.endswith(("COMPLETED", "FAILED", "CANCELED", "REJECTED"))
        self.is_interrupted = value.endswith("_REQUIRED")


TERMINAL: Final = frozenset(state for state in TaskState if state.is_terminal)
INTERRUPTED: Final = frozenset(state for state in TaskState if state.is_interrupted)


class TaskStatus(Value, frozen=True, kw_only=True):
    """State snapshot of a task. ``timestamp`` is RFC 3339, UTC, with milliseconds."""

    state: TaskState
    message: Message | None = None
    timestamp: str | None = None


class Artifact(Value, frozen=True, kw_only=True):
    """A task result, or a chunk of one."""

    artifact_id: NonEmpty
    name: str = ""
    description: str = ""
    parts: Annotated[tuple[Part, ...], Meta(min_length=1)]
    metadata: JsonObject | None = None
    extensions: tuple[str, ...] = ()


class Task(Value, frozen=True, kw_only=True):
    """Unit of stateful work."""

    id: NonEmpty
    context_id: str = ""
    status: TaskStatus
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()
    metadata: JsonObject | None = None
