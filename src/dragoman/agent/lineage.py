"""Lineage: who called whom, and until when, as it travels with a message to another agent.

It is an entry of the message's metadata, under the address of the extension. Agents that do not
know it ignore it.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from dragoman.errors import UnsupportedOperationError
from dragoman.model.base import JsonObject

__all__ = ("MOST_CALLS", "SUB_TASKS", "Lineage", "SubTask", "lineage_of", "sub_task_of")

SUB_TASKS: Final = "https://dragoman.dev/extensions/sub-tasks/v1"
"""The address of the extension, and the key of its metadata."""

MOST_CALLS: Final = 8
"""How deep calls may be nested. Agents that call each other in a circle come to an end by it."""


class Lineage(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Where a call comes from.

    Attributes:
        path: the agents above the one that is called, the first caller first.
        parent_task_id: the task that makes the call.
        deadline_ms: when the caller stops waiting, in milliseconds since the Unix epoch; 0 for
            never.
    """

    path: tuple[str, ...] = ()
    parent_task_id: str = ""
    deadline_ms: int = 0

    def calling(self, agent: str, task_id: str, deadline_ms: int) -> Lineage:
        """Return the lineage of a call that ``agent`` makes for one of its tasks.

        Raises:
            UnsupportedOperationError: that would be one too many.
        """
        if len(self.path) >= MOST_CALLS:
            raise UnsupportedOperationError(
                f"Agents call each other {MOST_CALLS} deep already ({' > '.join(self.path)}); "
                "perhaps in a circle"
            )
        deadlines = [each for each in (self.deadline_ms, deadline_ms) if each]
        return Lineage(
            path=(*self.path, agent),
            parent_task_id=task_id,
            deadline_ms=min(deadlines, default=0),
        )

    def metadata(self) -> JsonObject:
        """Return it as an entry of a message's metadata."""
        return {SUB_TASKS: msgspec.to_builtins(self)}


class SubTask(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A task that another does for this one, as a status message tells of it.

    Attributes:
        agent: what the other is called here.
        url: where it can be asked; "" for one in the same process.
        state: where its task stood, "" if it had just begun.
    """

    agent: str
    task_id: str
    url: str = ""
    state: str = ""

    def metadata(self) -> JsonObject:
        """Return it as an entry of a message's metadata."""
        return {SUB_TASKS: {"subTask": msgspec.to_builtins(self)}}


class _Entry(Struct, rename="camel"):
    sub_task: SubTask | None = None


def lineage_of(metadata: JsonObject | None) -> Lineage:
    """Read where a message comes from; what is not as it should be counts as nothing."""
    try:
        return msgspec.convert((metadata or {}).get(SUB_TASKS, {}), Lineage)
    except msgspec.ValidationError:
        return Lineage()


def sub_task_of(metadata: JsonObject | None) -> SubTask | None:
    """Read which sub-task a message tells of, None if none."""
    try:
        return msgspec.convert((metadata or {}).get(SUB_TASKS, {}), _Entry).sub_task
    except msgspec.ValidationError:
        return None
