"""The reads of the SQLite store, on one connection."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import msgspec

from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.stores.base import (
    InboxItem,
    JournalEntry,
    Scope,
    SendKey,
    SendRecord,
    StoredPage,
    StoredTask,
    TaskQuery,
)
from dragoman.stores.shared.segments import entries_until, number_events
from dragoman.stores.shared.sql import read_queries
from dragoman.stores.shared.states import NUMBERS, STATES, TERMINAL_NUMBERS
from dragoman.stores.sqlite.webhooks import WebhookRows

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator, Iterable, Iterator

__all__ = ("Reader",)

_QUERIES: Final = read_queries("dragoman.stores.sqlite")
_SELECT_TASK: Final = _QUERIES["select_task"]
_SELECT_SEND: Final = _QUERIES["select_send"]

READ_BYTES: Final = 1024 * 1024
"""Events are read until there is this much of them, so that a slow reader holds little memory."""

DELETE_AT_ONCE: Final = 2000
"""Events and tasks removed in one commit: some ten milliseconds, which other writes may wait for.
A task is removed in one commit, however long it is."""

_WALK: Final = 500
"""Tasks looked at in one step on the way to those that are to be removed: about a millisecond."""

Row = tuple[Any, ...]


class Reader:
    """Reads through one connection; used by one thread at a time.

    Every method fetches all rows of a statement: one left half read would pin an old state
    of the database.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        self.webhooks: Final = WebhookRows(connection)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def find_send(self, key: SendKey, rows: Iterable[int]) -> SendRecord | None:
        """Return what became of a send, if it is in one of these rows."""
        scope = key.scope
        for row in rows:
            found = self._rows(_SELECT_SEND, row, scope.tenant, scope.owner, key.message_id)
            if found:
                digest, at_ms, task_id, reply = found[0]
                return SendRecord(key=key, digest=digest, at_ms=at_ms, task_id=task_id, reply=reply)
        return None

    def send_keys(self) -> Iterator[tuple[SendKey, int]]:
        """Yield the key of every recorded send and its row, oldest first."""
        for row, tenant, owner, message_id in self._connection.execute(
            _QUERIES["select_send_keys"]
        ):
            yield SendKey(Scope(tenant, owner), message_id), row

    def find_alias(self, scope: Scope, alias: str) -> str | None:
        """Return the id of the task that a client calls by an id of its own."""
        rows = self._rows(_QUERIES["select_alias"], scope.tenant, scope.owner, alias)
        return rows[0][0] if rows else None

    def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        """Return a task."""
        rows = self._rows(_SELECT_TASK, task_id, scope.tenant, scope.owner)
        if not rows:
            return None
        if _is_complete(rows[0]):
            return _stored(rows[0])
        with self._one_state():
            rows = self._rows(_SELECT_TASK, task_id, scope.tenant, scope.owner)
            return self._with_tail(rows[0]) if rows else None

    def read_journal(self, task_id: str) -> tuple[JournalEntry, ...]:
        """Return the recorded results of a task."""
        return tuple(
            JournalEntry(n=n, kind=kind, name=name, result=result, seq=seq)
            for n, kind, name, result, seq in self._rows(_QUERIES["select_journal"], task_id)
        )

    def read_secret(self, task_id: str, n: int) -> bytes | None:
        """Return a secret of a task."""
        rows = self._rows(_QUERIES["select_secret"], task_id, n)
        return rows[0][0] if rows else None

    def read_events(self, task_id: str, after: int, limit: int) -> tuple[EventDocument, ...]:
        """Return whole segments after an event until there are ``limit`` events."""
        events: list[EventDocument] = []
        size = 0
        cursor = self._connection.execute(_QUERIES["select_segments_from"], (task_id, after + 1))
        for seq, _, body in cursor:
            events += number_events(seq, body.split(b"\n"), after)
            size += len(body)
            if len(events) >= limit or size >= READ_BYTES:
                break
        cursor.close()
        return tuple(events)

    def read_entries(self, task_id: str, until: int) -> tuple[bytes, ...]:
        """Return all entries up to an event."""
        rows = self._rows(_QUERIES["select_segments_until"], task_id, until)
        return entries_until(((seq, body.split(b"\n")) for seq, _, body in rows), until)

    def list_tasks(self, query: TaskQuery) -> StoredPage:
        """Return one page of tasks, and the total as of the same moment."""
        filters, values = _filters(query)
        page = _QUERIES["select_page"] + filters
        page_values = list(values)
        if query.after is not None:
            page += " AND (status_at_ms, id) < (?, ?)"
            page_values += (query.after.status_at_ms, query.after.task_id)
        page += "\n" + _QUERIES["page_order"]
        with self._one_state():
            rows = self._rows(page, *page_values, query.limit + 1)
            tasks = tuple(self._with_tail(row) for row in rows[: query.limit])
            total = self._total(query, filters, values)
        return StoredPage(tasks=tasks, has_more=len(rows) > query.limit, total=total)

    def at_work(self, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks that should be running, by id."""
        with self._one_state():
            rows = self._rows(_QUERIES["select_at_work"], after_id, limit)
            return tuple(self._with_tail(row) for row in rows)

    def due(self, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks whose time to wake has come."""
        with self._one_state():
            rows = self._rows(_QUERIES["select_due"], now_ms, limit)
            return tuple(self._with_tail(row) for row in rows)

    def waiting(self, before_ms: int, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks that have waited for their client since before a time, by id."""
        with self._one_state():
            rows = self._rows(_QUERIES["select_waiting"], before_ms, after_id, limit)
            return tuple(self._with_tail(row) for row in rows)

    def ended(self, before_ms: int, after_row: int) -> tuple[list[str], int]:
        """Return some tasks that ended before a time, and the row to go on after; 0 for the end.

        What has ended stays as it is, so they may be removed later on by their ids.
        """
        found: list[str] = []
        weight = 0
        rows = self._rows(_QUERIES["select_oldest"], after_row, _WALK)
        for row, task_id, state, status_at_ms, created_ms, seq in rows:
            if created_ms >= before_ms:
                return found, 0  # Whatever follows was created even later, and has ended later.
            if state in TERMINAL_NUMBERS and status_at_ms < before_ms:
                found.append(task_id)
                weight += 1 + seq
            if weight >= DELETE_AT_ONCE:
                return found, row
        return found, rows[-1][0] if len(rows) == _WALK else 0

    def _total(self, query: TaskQuery, filters: str, values: list[object]) -> int:
        scope = query.scope
        if query.context_id or query.status_at_or_after_ms is not None:
            rows = self._rows(_QUERIES["count_page"] + filters, *values)
        elif query.state is not None:
            number = NUMBERS[query.state]
            rows = self._rows(_QUERIES["count_in_state"], scope.tenant, scope.owner, number)
        else:
            rows = self._rows(_QUERIES["count_all"], scope.tenant, scope.owner)
        return rows[0][0]

    def _with_tail(self, row: Row) -> StoredTask:
        """Add what came after the snapshot to a row of tasks."""
        if _is_complete(row):
            return _stored(row)
        task_id, seq = row[0], row[10]
        snapshot_seq = 0
        snapshot: TaskDocument | None = None
        if found := self._rows(_QUERIES["select_snapshot"], task_id):
            snapshot_seq, *pieces = found[0]
            snapshot = TaskDocument(*pieces)
            seq = max(seq, snapshot_seq)
        tail: list[bytes] = []
        for start, count, body in self._rows(_QUERIES["select_tail"], task_id, snapshot_seq):
            tail += body.split(b"\n")
            seq = start + count - 1
        inbox = self._rows(_QUERIES["select_inbox"], task_id)
        return msgspec.structs.replace(
            _stored(row),
            seq=seq,
            snapshot=snapshot,
            snapshot_seq=snapshot_seq,
            tail=tuple(tail),
            inbox=tuple(InboxItem(n, body) for n, body in inbox),
        )

    def _rows(self, statement: str, *values: object) -> list[Row]:
        return self._cursor.execute(statement, values).fetchall()

    @contextmanager
    def _one_state(self) -> Generator[None]:
        """Let several statements see the database as of one moment."""
        self._cursor.execute("BEGIN")
        try:
            yield
        finally:
            self._cursor.execute("COMMIT")


def _filters(query: TaskQuery) -> tuple[str, list[object]]:
    """Return the conditions of a query but for its place, and their values.

    A plus before a column keeps its index out of consideration where another is known to be better.
    """
    text = ""
    values: list[object] = [query.scope.tenant, query.scope.owner]
    if query.context_id:
        text += " AND context_id = ?"
        values.append(query.context_id)
    if query.state is not None:
        text += " AND +state = ?" if query.context_id else " AND state = ?"
        values.append(NUMBERS[query.state])
    if query.status_at_or_after_ms is not None:
        text += " AND status_at_ms >= ?"
        values.append(query.status_at_or_after_ms)
    return text, values


def _is_complete(row: Row) -> bool:
    """Tell whether a row says all there is: the task has ended and the snapshot is of its end."""
    return row[7] in TERMINAL_NUMBERS and row[10] == row[11]


def _stored(row: Row) -> StoredTask:
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
        snapshot_seq,
        head,
        artifacts,
        history,
        wake_at_ms,
        attempts,
    ) = row
    return StoredTask(
        id=task_id,
        scope=Scope(tenant, owner),
        context_id=context_id,
        skill_id=skill_id,
        origin_dialect=origin_dialect,
        created_ms=created_ms,
        state=STATES[state],
        status_at_ms=status_at_ms,
        epoch=epoch,
        seq=seq,
        snapshot=None if head is None else TaskDocument(head, artifacts, history),
        snapshot_seq=snapshot_seq,
        wake_at_ms=wake_at_ms,
        attempts=attempts,
    )
