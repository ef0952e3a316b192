"""The operator's port: looking after a store from outside, with no agent at hand.

``TaskRecord`` is all that a store has of one task, as it is stored. Nothing in it is decoded or
believed, so that what is wrong can be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct

from dragoman.model.documents import TaskDocument
from dragoman.model.tasks import TaskState
from dragoman.stores.base import InboxItem, JournalEntry, NewTask, Scope
from dragoman.stores.shared.states import STATES
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook

__all__ = (
    "ERASED",
    "Erasure",
    "Finding",
    "Maintenance",
    "Segment",
    "Snapshot",
    "TaskRecord",
    "record_of",
)


ERASED: Final = (
    "dead_letters",
    "webhooks",
    "secrets",
    "inbox",
    "journal",
    "snapshots",
    "aliases",
    "sends",
    "events",
    "tasks",
)
"""The tables that hold something of a task, in the order in which they are emptied."""


class Maintenance(Protocol):
    """Looks after one store.

    All methods wait for the database. Whatever cannot be done is a UsageError with a remedy, or a
    StoreError when the database fails.
    """

    @property
    def name(self) -> str:
        """How people know the store; without anything secret."""
        ...

    def check(self, found: Callable[[Finding], None], progress: Callable[[int, int], None]) -> None:
        """Look for all that is wrong, as of one moment; a server may go on meanwhile.

        A store of another version is not looked at: that is a UsageError, and no finding.

        Args:
            found: told each finding.
            progress: told now and then, and at the end, how many tasks have been checked, and how
                many there are.
        """
        ...

    def read_record(self, task_id: str) -> TaskRecord | None:
        """Return all that is stored of a task, None if there is none of this id."""
        ...

    def read_webhooks(
        self, letter: Callable[[DeadLetter], None], webhook: Callable[[Webhook], None]
    ) -> None:
        """Look at all webhooks, as of one moment; a server may go on meanwhile.

        Args:
            letter: told each dead letter first, in the order of their keys.
            webhook: told each webhook after that, in the order of their keys.
        """
        ...

    def retry_letters(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again by a server, beside it, at once; return how many."""
        ...

    def drop_letters(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters, beside a server; return how many there were."""
        ...

    def erase(self, erasure: Erasure, *, is_trial: bool) -> dict[str, int]:
        """Remove tasks with everything that belongs to them, in one transaction.

        Unlike ``delete_ended``, this spares neither a task that is under way nor one whose webhooks
        have something to send.

        Args:
            is_trial: count only, and leave everything in place.

        Returns:
            How much was removed from each table of ``ERASED``; events count, not segments.
        """
        ...

    def upgrade(self) -> tuple[int, int]:
        """Bring the store up to date; return the version it had, and the one it has."""
        ...

    def vacuum(self) -> tuple[int, int]:
        """Give back room that is not needed; return the size in bytes before and after."""
        ...


Row = Sequence[Any]
"""What a database gives for a row; which columns it has is said by the query."""


class Erasure(Struct, frozen=True):
    """What to erase: what meets all conditions that are not None.

    Attributes:
        before_ms: for tasks, the last status was before this; for sends without a task, the send.
    """

    task_id: str | None = None
    owner: str | None = None
    tenant: str | None = None
    before_ms: int | None = None


class Finding(Struct, frozen=True):
    """Something that is not as it must be: which rule it breaks, how, and of which task, if any."""

    rule: str
    text: str
    task_id: str = ""


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


def record_of(
    row: Row,
    *,
    snapshots: Sequence[Row],
    segments: Iterable[Row],
    journal: Iterable[Row],
    inbox: Iterable[Row],
) -> TaskRecord:
    """Return a task as the rows say that belong to it; of snapshots there is one or none."""
    (
        task_id,
        tenant,
        owner,
        context_id,
        skill_id,
        origin_dialect,
        created_ms,
        state,
        status_at_ms,
        epoch,
        seq,
        inbox_n,
        wake_at_ms,
        attempts,
        *end,
    ) = row
    return TaskRecord(
        id=task_id,
        new=NewTask(
            scope=Scope(tenant, owner),
            context_id=context_id,
            skill_id=skill_id,
            origin_dialect=origin_dialect,
            created_ms=created_ms,
        ),
        state=STATES.get(state),
        status_at_ms=status_at_ms,
        epoch=epoch,
        seq=seq,
        inbox_n=inbox_n,
        wake_at_ms=wake_at_ms,
        attempts=attempts,
        end=None if end[1] is None else _snapshot(end),
        snapshot=_snapshot(snapshots[0]) if snapshots else None,
        segments=tuple(Segment(first, n, tuple(body.split(b"\n"))) for first, n, body in segments),
        journal=tuple(
            JournalEntry(n=n, kind=kind, name=name, result=result, seq=at)
            for n, kind, name, result, at in journal
        ),
        inbox=tuple(InboxItem(n, body) for n, body in inbox),
    )


def _snapshot(row: Row) -> Snapshot:
    seq, head, artifacts, history = row
    return Snapshot(seq, TaskDocument(head, artifacts, history))
