"""What can be handed over to be written, beside what the port itself has for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.stores.base import SendRecord, TaskWrite

if TYPE_CHECKING:
    from dragoman.stores.base import Placed

__all__ = ("Post", "Release", "TakeOver", "Write", "is_urgent", "size_of")


class Post:
    """Something for the inbox of a task. ``placed`` is set when it is committed.

    Args:
        is_foreign: another replica holds the task; if it has ended, the send is not kept either.
        epoch: the lease that this replica has; if the task has ended under another one, this fails.
    """

    __slots__ = ("body", "epoch", "is_foreign", "placed", "send", "task_id")

    def __init__(
        self,
        task_id: str,
        body: bytes,
        send: SendRecord | None,
        *,
        is_foreign: bool,
        epoch: int | None = None,
    ) -> None:
        self.task_id = task_id
        self.body = body
        self.send = send
        self.is_foreign = is_foreign
        self.epoch = epoch
        self.placed: Placed | None = None


class TakeOver:
    """A change of the lease."""

    __slots__ = ("attempts", "epoch", "task_id")

    def __init__(self, task_id: str, epoch: int, attempts: int | None) -> None:
        self.task_id = task_id
        self.epoch = epoch
        self.attempts = attempts


class Release:
    """The end of being held."""

    __slots__ = ("epoch", "task_id")

    def __init__(self, task_id: str, epoch: int) -> None:
        self.task_id = task_id
        self.epoch = epoch


Write = TaskWrite | SendRecord | Post | TakeOver | Release


def is_urgent(write: Write) -> bool:
    """Tell whether somebody waits for a write who had better be told that it cannot be done now.

    What a turn says about a task that exists can wait; that work must not be lost.
    """
    return write.created is not None if isinstance(write, TaskWrite) else True


def size_of(write: Write) -> int:
    """Return about how many bytes a write has that may be many."""
    if isinstance(write, Post):
        return len(write.body)
    if not isinstance(write, TaskWrite):
        return 0
    size = sum(map(len, write.entries))
    if write.journal:
        size += sum(len(entry.result) for entry in write.journal)
    if (snapshot := write.snapshot) is not None:
        size += len(snapshot.artifacts or b"") + len(snapshot.history)
    return size
