"""Decides which rows a batch of writes becomes. Runs no statement."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from dragoman.stores.sqlite.states import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Set

    from dragoman.model.documents import TaskDocument
    from dragoman.model.tasks import TaskState
    from dragoman.stores.base import NewTask, Scope, SendRecord, TaskWrite
    from dragoman.stores.webhooks import NewWebhook

__all__ = ("RefusedError", "Rows")


# Blobs are handed over as bytearray: of bytes, Python's sqlite3 first asks whether somebody has
# registered an adapter for them, which takes longer than to copy and bind them.
_NEWLINE: Final = bytearray(b"\n")


class RefusedError(Exception):
    """Something in the batch fits neither what is stored nor what comes before it."""


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
        inbox_taken: up to which number the inbox of a task is taken up.
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
        self.inbox_taken: dict[str, int] = {}
        self.webhooks: list[tuple[str, NewTask, NewWebhook, int]] = []
        self._folds: dict[str, _Fold] = {}
        self._plans: dict[str, tuple[int | None, int | None]] = {}
        self._counts: Counter[tuple[str, str, int | None]] = Counter()

    def add(self, write: TaskWrite) -> None:
        """Take in a write; raises RefusedError when it does not continue the one before it."""
        task_id = write.task_id
        fold = self._folds.get(task_id)
        if fold is None:
            self._folds[task_id] = _Fold(write)
        else:
            fold.add(write)
        if write.send is not None:
            self.sends.append(write.send)
        for entry in write.journal:
            self.journal += (task_id, entry.n, entry.kind, entry.name, entry.result, entry.seq)
        for secret in write.secrets:
            self.secrets += (task_id, secret.n, bytearray(secret.body))
        if write.wake_at_ms is not None or write.attempts is not None:
            self._plan(task_id, write.wake_at_ms, write.attempts)
        if write.inbox_taken:
            self.inbox_taken[task_id] = max(self.inbox_taken.get(task_id, 0), write.inbox_taken)

    def _plan(self, task_id: str, wake_at_ms: int | None, attempts: int | None) -> None:
        """Keep the last plan of a task: a statement would take any of several."""
        before = self._plans.get(task_id, (None, None))
        self._plans[task_id] = (
            before[0] if wake_at_ms is None else wake_at_ms,
            before[1] if attempts is None else attempts,
        )

    def finish(self) -> None:
        """Lay out the rows; nothing can be added after this."""
        for task_id, plan in self._plans.items():
            self.plans += (task_id, *plan)
        for fold in self._folds.values():
            fold.lay_out(self)
        for key, count in self._counts.items():
            self.counted += (*key, count)

    def marks(self, task_ids: Set[str]) -> list[object]:
        """Return what webhooks of these tasks are marked by, if there are new events."""
        values: list[object] = []
        for task_id in self._folds.keys() & task_ids:
            values += self._folds[task_id].mark()
        return values

    def count(self, scope: Scope, state: int | None) -> None:
        """Count a new task."""
        self._counts[scope.tenant, scope.owner, state] += 1


class _Fold:
    """What the writes of one task in one commit come to."""

    __slots__ = (
        "_at_ms",
        "_count",
        "_entries",
        "_first",
        "_segments",
        "_seq",
        "_snapshot",
        "_snapshot_seq",
        "_state",
        "_status_at_ms",
    )

    def __init__(self, first: TaskWrite) -> None:
        if first.created is not None and first.expected_seq != 0:
            raise RefusedError
        self._first = first
        self._seq = first.expected_seq
        self._at_ms = max(first.at_ms, 1)
        # The segment that is being gathered, and those that are complete.
        self._entries: list[bytes] = []
        self._count = 0
        self._segments: list[object] = []
        self._state: TaskState | None = None
        self._status_at_ms = 0
        self._snapshot: TaskDocument | None = None
        self._snapshot_seq = 0
        self._take(first)

    def add(self, write: TaskWrite) -> None:
        if (
            write.created is not None
            or write.epoch != self._first.epoch
            or write.expected_seq != self._seq
        ):
            raise RefusedError
        self._take(write)

    def _take(self, write: TaskWrite) -> None:
        self._entries += write.entries
        self._count += write.events
        self._seq += write.events
        if write.state is not None:
            self._state = write.state
            self._status_at_ms = write.status_at_ms
        if write.snapshot is not None:
            self._snapshot = write.snapshot
            self._snapshot_seq = self._seq
            # A reader continues after the snapshot with whole segments.
            self._end_segment()

    def _end_segment(self) -> None:
        start = self._seq - self._count + 1
        body = _NEWLINE.join(self._entries)
        self._segments += (self._first.task_id, start, self._count, body)
        self._entries = []
        self._count = 0

    def mark(self) -> tuple[object, ...]:
        """Return the task, the time and whether there is a status, if there are events at all."""
        if self._seq == self._first.expected_seq:
            return ()
        return self._first.task_id, self._at_ms, self._state is not None

    def lay_out(self, rows: Rows) -> None:
        if self._entries:
            self._end_segment()
        rows.segments += self._segments
        first = self._first
        is_end = self._state is not None and self._state.is_terminal
        state = None if self._state is None else NUMBERS[self._state]
        final: tuple[object, ...] = (0, None, None, None)
        if self._snapshot is not None:
            artifacts = self._snapshot.artifacts
            pieces = (
                self._snapshot_seq,
                bytearray(self._snapshot.head),
                None if artifacts is None else bytearray(artifacts),
                bytearray(self._snapshot.history),
            )
            if is_end:
                final = pieces
            else:
                rows.snapshots += (first.task_id, *pieces)
        new = first.created
        if new is not None:
            rows.count(new.scope, state)
            rows.created += (
                first.task_id,
                new.scope.tenant,
                new.scope.owner,
                new.context_id,
                new.skill_id,
                new.origin_dialect,
                new.created_ms,
                state,
                self._status_at_ms,
                first.epoch,
                self._seq,
                *final,
            )
            if new.alias:
                rows.aliases += (new.scope.tenant, new.scope.owner, new.alias, first.task_id)
            if new.webhook is not None:
                rows.webhooks.append((first.task_id, new, new.webhook, self._at_ms))
                if is_end:
                    rows.ended.append(first.task_id)
            return
        rows.expected += (first.task_id, first.epoch, first.expected_seq)
        if state is not None:
            rows.updated += (first.task_id, self._seq, state, self._status_at_ms, *final)
        if is_end:
            rows.ended.append(first.task_id)
