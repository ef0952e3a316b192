"""The model in the words of the XPR network, as plain JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dragoman.dialects.legacy.part_marks import spell_part
from dragoman.model.messages import Role
from dragoman.model.tasks import Task, TaskState, TaskStatus

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.messages import Message
    from dragoman.model.tasks import Artifact

__all__ = ("Writer", "task_of", "write_message")

_STATES: Final = {
    TaskState.SUBMITTED: "submitted",
    TaskState.WORKING: "working",
    TaskState.INPUT_REQUIRED: "input-required",
    TaskState.COMPLETED: "completed",
    TaskState.FAILED: "failed",
    TaskState.CANCELED: "canceled",
    # This network has no words for these.
    TaskState.REJECTED: "failed",
    TaskState.AUTH_REQUIRED: "input-required",
}
_DISCRIMINATOR: Final = ("type",)


class Writer(Struct, frozen=True, gc=False):
    """Writes to one peer.

    Attributes:
        shown_id: what the peer calls the task, "" if it goes by the id it has here.
        owner: the account that the task belongs to; left out if it is "".
    """

    shown_id: str = ""
    owner: str = ""

    def task(self, task: Task) -> JsonObject:
        """Write a task, its members in the order that the network's own servers have.

        History is not shown; of it, the metadata that the task was begun with is.
        """
        written: JsonObject = {"id": self.shown_id or task.id}
        if self.owner:
            written["owner"] = self.owner
        if task.context_id:
            written["contextId"] = task.context_id
        written["status"] = _status(task.status)
        if metadata := _metadata(task):
            written["metadata"] = metadata
        if task.artifacts:
            written["artifacts"] = [_artifact(*pair) for pair in enumerate(task.artifacts)]
        return written


def write_message(message: Message) -> JsonObject:
    """Write a message; its ids are lost."""
    written: JsonObject = {
        "role": "user" if message.role is Role.USER else "agent",
        "parts": [spell_part(part, _DISCRIMINATOR) for part in message.parts],
    }
    if message.metadata is not None:
        written["metadata"] = message.metadata
    return written


def task_of(message: Message) -> Task:
    """Return the task that a message completes; there is no answer without a task here."""
    return Task(
        id=message.task_id or message.message_id,
        context_id=message.context_id,
        status=TaskStatus(state=TaskState.COMPLETED, message=message),
    )


def _status(status: TaskStatus) -> JsonObject:
    # One that only another system knows is still being worked at, as far as can be told here.
    written: JsonObject = {"state": _STATES.get(status.state, "working")}
    if status.message is not None:
        written["message"] = write_message(status.message)
    if status.timestamp is not None:
        written["timestamp"] = status.timestamp
    return written


def _metadata(task: Task) -> JsonObject:
    first = task.history[0].metadata if task.history else None
    return {**(first or {}), **(task.metadata or {})}


def _artifact(index: int, artifact: Artifact) -> JsonObject:
    written: JsonObject = {}
    if artifact.name:
        written["name"] = artifact.name
    if artifact.description:
        written["description"] = artifact.description
    written["parts"] = [spell_part(part, _DISCRIMINATOR) for part in artifact.parts]
    written["index"] = index
    if artifact.metadata is not None:
        written["metadata"] = artifact.metadata
    return written
