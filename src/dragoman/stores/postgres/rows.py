"""Decides which rows a batch of writes to the log becomes. Runs no statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dragoman.stores.postgres.texts import storable, storable_value
from dragoman.stores.shared.folding import FoldedWrites
from dragoman.stores.shared.states import NUMBERS
from dragoman.stores.shared.webhook_rows import registered_values

if TYPE_CHECKING:
    from dragoman.model.documents import TaskDocument
    from dragoman.stores.base import NewTask, SendRecord, TaskWrite
    from dragoman.stores.postgres.statements import Piece

__all__ = ("Rows", "columns", "send_row")

Row = tuple[object, ...]


class Rows:
    """Rows for each table. The writes of one task become one.

    Args:
        holder: the replica that holds what is new.
        shard: where this writer counts.
    """

    def __init__(self, *, holder: str, shard: int) -> None:
        self._holder = holder
        self._shard = shard
        self._folds: dict[str, FoldedWrites] = {}
        self._sends: list[Row] = []
        self._created: list[Row] = []
        self._updated: list[Row] = []
        self._has_moved = False
        self._aliases: dict[Row, str] = {}
        self._registered: list[Row] = []
        self._counts: Counter[tuple[str, str, int | None]] = Counter()
        self._segments: list[Row] = []
        self._snapshots: list[Row] = []
        self._ended: list[str] = []
        self._journal: list[Row] = []
        self._secrets: list[Row] = []
        self._taken: list[Row] = []
        self._emptied: list[str] = []

    def add(self, write: TaskWrite) -> None:
        """Take in a write; raises RefusedError when it does not continue the one before it."""
        fold = self._folds.get(write.task_id)
        if fold is None:
            self._folds[write.task_id] = FoldedWrites(write)
        else:
            fold.add(write)
        if write.send is not None:
            self.add_send(write.send)

    def add_send(self, record: SendRecord) -> None:
        """Take in the record of a send."""
        self._sends.append(send_row(record))

    def pieces(self) -> list[Piece]:
        """Return what to put a statement together from; nothing can be added after this."""
        for fold in self._folds.values():
            fold.finish()
            self._lay_out(fold)
        pieces: list[Piece] = [
            (name, columns(rows))
            for name, rows in (
                ("created", self._created),
                ("aliases", [(*key, task_id) for key, task_id in self._aliases.items()]),
                ("registered", self._registered),
                # In the order of their keys, as every replica locks them.
                ("updated", sorted(self._updated, key=_first)),
                ("segments", self._segments),
                ("snapshots", self._snapshots),
                ("journal", self._journal),
                ("secrets", self._secrets),
                ("taken", self._taken),
                ("sending", self._sends),
            )
            if rows
        ]
        if self._ended:
            pieces += (("ended", (self._ended,)), ("forgotten", (self._ended,)))
        if self._emptied:
            pieces.append(("emptied", (self._emptied,)))
        if self._sends:
            pieces.append(("sent", ()))
        if self._counts or self._has_moved:
            counted = columns([(*key, n) for key, n in self._counts.items()]) or ((),) * 4
            name = "recounted" if self._has_moved else "counted"
            pieces.append((name, (*counted, self._shard)))
        return pieces

    def _lay_out(self, fold: FoldedWrites) -> None:
        task_id = fold.first.task_id
        for start, count, entries in fold.segments:
            self._segments.append((task_id, start, count, b"\n".join(entries)))
        for entry in fold.journal:
            row = (task_id, entry.n, entry.kind, storable(entry.name), entry.result, entry.seq)
            self._journal.append(row)
        if not fold.is_end:
            self._secrets += ((task_id, secret.n, secret.body) for secret in fold.secrets)
        if fold.snapshot is not None and not fold.is_end:
            self._snapshots.append((task_id, fold.snapshot_seq, *_pieces(fold.snapshot)))
        if fold.first.created is not None:
            # Nobody can have put anything into the inbox of a task that is new.
            self._create(fold, fold.first.created)
        else:
            self._update(fold)

    def _create(self, fold: FoldedWrites, new: NewTask) -> None:
        first = fold.first
        tenant, owner = storable(new.scope.tenant), storable(new.scope.owner)
        state = None if fold.state is None else NUMBERS[fold.state]
        self._counts[tenant, owner, state] += 1
        self._created.append(
            (
                first.task_id,
                tenant,
                owner,
                storable(new.context_id),
                new.skill_id,
                new.origin_dialect,
                new.created_ms,
                state,
                fold.status_at_ms,
                first.epoch,
                fold.seq,
                fold.wake_at_ms or 0,
                fold.attempts or 0,
                new.webhook is not None,
                "" if fold.is_end else self._holder,
                *((fold.snapshot_seq, *_pieces(fold.snapshot)) if fold.is_end else _NO_END),
            )
        )
        if new.alias:
            self._aliases[tenant, owner, storable(new.alias)] = first.task_id
        if new.webhook is not None:
            key = (first.task_id, storable(new.webhook.config.id), tenant, owner)
            row = (*key, *map(storable_value, registered_values(new.webhook)))
            self._registered.append((*row, fold.at_ms, fold.at_ms))

    def _update(self, fold: FoldedWrites) -> None:
        first = fold.first
        task_id = first.task_id
        state = None if fold.state is None else NUMBERS[fold.state]
        self._has_moved = self._has_moved or state is not None
        has_end = fold.is_end and fold.snapshot is not None
        self._updated.append(
            (
                task_id,
                first.epoch,
                first.expected_seq,
                fold.seq,
                state,
                None if state is None else fold.status_at_ms,
                fold.wake_at_ms,
                fold.attempts,
                fold.inbox_seen,
                fold.snapshot_seq if has_end else None,
                *(_pieces(fold.snapshot) if has_end else _NO_PIECES),
                fold.at_ms,
            )
        )
        if fold.is_end:
            self._ended.append(task_id)
        if fold.takes_all:
            self._emptied.append(task_id)
        else:
            self._taken += ((task_id, n) for n in fold.taken)


_NO_PIECES: Row = (None, None, None)
_NO_END: Row = (0, *_NO_PIECES)


def _pieces(snapshot: TaskDocument | None) -> Row:
    return _NO_PIECES if snapshot is None else (snapshot.head, snapshot.artifacts, snapshot.history)


def send_row(record: SendRecord) -> Row:
    """Return the row of a send."""
    scope = record.key.scope
    return (
        storable(scope.tenant),
        storable(scope.owner),
        storable(record.key.message_id),
        record.digest,
        record.at_ms,
        record.task_id,
        record.reply,
        record.since_ms,
    )


def columns(rows: Iterable[Row]) -> Sequence[object]:
    """Turn rows into arrays of their columns."""
    return tuple(zip(*rows, strict=True))


def _first(row: Row) -> str:
    return str(row[0])
