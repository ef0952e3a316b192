"""Task: the unit of stateful work, its status and its results."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Final
from weakref import WeakValueDictionary

from msgspec import Meta

from dragoman.model.base import JsonObject, NonEmpty, Value
from dragoman.model.messages import Message
from dragoman.model.parts import Part

__all__ = (
    "INTERRUPTED",
    "TERMINAL",
    "UNSPECIFIED",
    "Artifact",
    "Task",
    "TaskState",
    "TaskStatus",
)

_NAME: Final = re.compile(r"TASK_STATE_([A-Z0-9_]{1,48})", re.ASCII)
_ENDS: Final = frozenset({"COMPLETED", "FAILED", "CANCELED", "REJECTED"})
_WAITS: Final = frozenset({"INPUT_REQUIRED", "AUTH_REQUIRED"})


class TaskState(Enum):
    """Where a task stands.

    The members are the states that A2A has. What else a peer may say, "unspecified" (the proto's
    value 0) or a state of another version, is a value too, but no member: it keeps its name, is
    neither terminal nor interrupted, and is never said by us. "Unknown", which 0.x has, is
    terminal: nothing more will be heard of such a task.
    """

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
    is_member: bool
    """A2A has this state."""

    if not TYPE_CHECKING:  # It changes no type.
        # Members are singletons; Enum's own hash is written in Python and shows in every request.
        __hash__ = object.__hash__

    def __init__(self, value: str) -> None:
        """Class the state once, so that asking costs nothing."""
        name = value.removeprefix("TASK_STATE_")
        self.is_terminal = name in _ENDS
        self.is_interrupted = name in _WAITS
        self.is_member = True

    @classmethod
    def _missing_(cls, value: object) -> TaskState | None:
        """Return the state of a name that is no member's: the same while anybody holds it."""
        named = _NAME.fullmatch(value) if isinstance(value, str) else None
        if named is None:
            return None
        found = _FOREIGN.get(named[0])
        if found is None:
            found = _FOREIGN[named[0]] = object.__new__(cls)
            found._name_, found._value_ = named[1], named[0]
            found.is_interrupted = found.is_member = False
            found.is_terminal = named[1] == "UNKNOWN"
        return found


# Weak, so that no peer fills our memory with names.
_FOREIGN: Final[WeakValueDictionary[str, TaskState]] = WeakValueDictionary()

UNSPECIFIED: Final = TaskState("TASK_STATE_UNSPECIFIED")
"""The peer does not say where the task stands."""

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
