"""All that a store has of one task, as it is stored: for those who look at it from outside.

Nothing here is decoded or believed, so that what is wrong can be seen.
"""

from __future__ import annotations

from msgspec import Struct

from dragoman.model.documents import TaskDocument
from dragoman.model.tasks import TaskState
from dragoman.stores.base import InboxItem, JournalEntry, NewTask

__all__ = ("Segment", "Snapshot", "TaskRecord")


class Segment(Struct, frozen=True):
    """Entries that were committed together.

    Attributes:
        seq: the number of the first event among them.
        count: how many of them are said to be events.
    """

    seq: int
    count: int
    entries: tuple[bytes, ...]


class Snapshot(Struct, frozen=True):
    """The task as it was after an event."""

    seq: int
    document: TaskDocument


class TaskRecord(Struct, frozen=True, kw_only=True):
    """One task.

    Attributes:
        new: what was written when it was created; the alias is not known here.
        state: None if what is stored is no state.
        seq: the last event when the state was last written; events may have followed.
        inbox_n: the last number given in the inbox.
        end: the task as it was at its end, kept in its row.
        snapshot: the task as it was while it was under way, kept beside its row.
    """

    id: str
    new: NewTask
    state: TaskState | None
    status_at_ms: int
    epoch: int
    seq: int
    inbox_n: int
    wake_at_ms: int
    attempts: int
    end: Snapshot | None
    snapshot: Snapshot | None
    segments: tuple[Segment, ...]
    journal: tuple[JournalEntry, ...]
    inbox: tuple[InboxItem, ...]

    @property
    def last_seq(self) -> int:
        """The number of the last event, by what the log says of itself."""
        last = self.segments[-1] if self.segments else None
        return 0 if last is None else last.seq + last.count - 1
