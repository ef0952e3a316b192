"""Decides which rows a batch of writes becomes. Runs no statement."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from dragoman.stores.shared.folding import FoldedWrites
from dragoman.stores.shared.states import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Set

    from dragoman.stores.base import NewTask, SendRecord, TaskWrite
    from dragoman.stores.webhooks import NewWebhook

__all__ = ("Rows",)


# Blobs are handed over as bytearray: of bytes, Python's sqlite3 first asks whether somebody has
# registered an adapter for them, which takes longer than to copy and bind them.
_NEWLINE: Final = bytearray(b"\n")

_NO_END: Final = (0, None, None, None)


class Rows:
    """Rows for each table, laid end to end as the statements take them.

    The writes of one task become one: its last state, its last snapshot, joined segments.

    Attributes:
        created, aliases: rows of new tasks, and of what their clients call them.
        counted: how many new tasks there are of each owner and state.
        expected: (id, epoch, last event) that must be true of tasks before anything is stored.
        updated: new values for tasks that exist.
        snapshots: of tasks that are under way; ``ended`` are those that need none any more.
        segments, journal, secrets: rows of these tables.
        plans: when tasks are to be woken, and how often they were run again.
        sends: records that still need a number.
        inbox_taken: (task, number) of what is taken up from inboxes.
        webhooks: those that come with a new task, each with its task and the time.
    """

    def __init__(self) -> None:
        self.created: list[object] = []
        self.aliases: list[object] = []
        self.counted: list[object] = []
        self.expected: list[object] = []
        self.updated: list[object] = []
        self.snapshots: list[object] = []
        self.ended: list[object] = []
        self.segments: list[object] = []
        self.journal: list[object] = []
        self.secrets: list[object] = []
        self.plans: list[object] = []
        self.sends: list[SendRecord] = []
        self.inbox_taken: list[tuple[str, int]] = []
        self.webhooks: list[tuple[str, NewTask, NewWebhook, int]] = []
        self._folds: dict[str, FoldedWrites] = {}
        self._counts: Counter[tuple[str, str, int | None]] = Counter()

    def add(self, write: TaskWrite) -> None:
        """Take in a write; raises RefusedError when it does not continue the one before it."""
        fold = self._folds.get(write.task_id)
        if fold is None:
            self._folds[write.task_id] = FoldedWrites(write)
        else:
            fold.add(write)
        if write.send is not None:
            self.sends.append(write.send)

    def finish(self) -> None:
        """Lay out the rows; nothing can be added after this."""
        for fold in self._folds.values():
            fold.finish()
            self._lay_out(fold)
        for key, count in self._counts.items():
            self.counted += (*key, count)

    def marks(self, task_ids: Set[str]) -> list[object]:
        """Return what webhooks of these tasks are marked by, if there are new events.

        That is the task, the time, and whether there is a status.
        """
        values: list[object] = []
        for task_id in self._folds.keys() & task_ids:
            fold = self._folds[task_id]
            if fold.seq > fold.first.expected_seq:
                values += (task_id, fold.at_ms, fold.state is not None)
        return values

    def _lay_out(self, fold: FoldedWrites) -> None:
        task_id = fold.first.task_id
        for start, count, entries in fold.segments:
            self.segments += (task_id, start, count, _NEWLINE.join(entries))
        for entry in fold.journal:
            self.journal += (task_id, entry.n, entry.kind, entry.name, entry.result, entry.seq)
        for secret in fold.secrets:
            self.secrets += (task_id, secret.n, bytearray(secret.body))
        if fold.wake_at_ms is not None or fold.attempts is not None:
            self.plans += (task_id, fold.wake_at_ms, fold.attempts)
        if fold.taken:
            self.inbox_taken += ((task_id, n) for n in fold.taken)
        snapshot = _snapshot_of(fold)
        if snapshot is not _NO_END and not fold.is_end:
            self.snapshots += (task_id, *snapshot)
        if fold.first.created is not None:
            self._create(fold, fold.first.created, snapshot if fold.is_end else _NO_END)
        else:
            self._update(fold, snapshot if fold.is_end else _NO_END)

    def _create(self, fold: FoldedWrites, new: NewTask, end: tuple[object, ...]) -> None:
        task_id = fold.first.task_id
        tenant, owner = new.scope.tenant, new.scope.owner
        state = None if fold.state is None else NUMBERS[fold.state]
        self._counts[tenant, owner, state] += 1
        self.created += (
            task_id,
            tenant,
            owner,
            new.context_id,
            new.skill_id,
            new.origin_dialect,
            new.created_ms,
            state,
            fold.status_at_ms,
            fold.first.epoch,
            fold.seq,
            *end,
        )
        if new.alias:
            self.aliases += (tenant, owner, new.alias, task_id)
        if new.webhook is not None:
            self.webhooks.append((task_id, new, new.webhook, fold.at_ms))
            if fold.is_end:
                self.ended.append(task_id)

    def _update(self, fold: FoldedWrites, end: tuple[object, ...]) -> None:
        first = fold.first
        self.expected += (first.task_id, first.epoch, first.expected_seq)
        if fold.state is not None:
            state = NUMBERS[fold.state]
            self.updated += (first.task_id, fold.seq, state, fold.status_at_ms, *end)
        if fold.is_end:
            self.ended.append(first.task_id)


def _snapshot_of(fold: FoldedWrites) -> tuple[object, ...]:
    """Return the snapshot of a task as columns; _NO_END for none."""
    snapshot = fold.snapshot
    if snapshot is None:
        return _NO_END
    artifacts = snapshot.artifacts
    return (
        fold.snapshot_seq,
        bytearray(snapshot.head),
        None if artifacts is None else bytearray(artifacts),
        bytearray(snapshot.history),
    )
