"""The reads of the PostgreSQL store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.stores.base import (
    InboxItem,
    JournalEntry,
    Scope,
    StoredPage,
    StoredTask,
    TaskQuery,
)
from dragoman.stores.postgres.statements import QUERIES
from dragoman.stores.postgres.texts import readable, storable
from dragoman.stores.shared.segments import entries_until, number_events
from dragoman.stores.shared.states import NUMBERS, STATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dragoman.stores.postgres.connection import Pool, Row

__all__ = ("Reader",)

READ_BYTES: Final = 1024 * 1024
"""Events are read until there is this much of them, so that a slow reader holds little memory."""


def _whole(found: str, order: str, total: str = "0") -> str:
    """Return the statement for whole tasks."""
    return (
        QUERIES["whole_tasks"]
        .replace("{found}", found)
        .replace("{order}", order)
        .replace("{total}", total)
    )


_SELECT_TASK: Final = _whole(QUERIES["found_task"], "found.id")
_SELECT_AT_WORK: Final = _whole(QUERIES["found_at_work"], "found.id")
_SELECT_DUE: Final = _whole(QUERIES["found_due"], "wake_at_ms, found.id")
_SELECT_WAITING: Final = _whole(QUERIES["found_waiting"], "found.id")


class Reader:
    """Reads through a pool. Each method is one statement, and so sees one moment.

    Attributes:
        replica_id: who asks; "" for nobody.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self.replica_id = ""

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        """Return a task."""
        values = storable(task_id), storable(scope.tenant), storable(scope.owner)
        tasks = _stored(await self._pool.fetch(_SELECT_TASK, self.replica_id, *values))
        return tasks[0] if tasks else None

    async def find_alias(self, scope: Scope, alias: str) -> str | None:
        """Return the id of the task that a client calls by an id of its own."""
        values = storable(scope.tenant), storable(scope.owner), storable(alias)
        rows = await self._pool.fetch(QUERIES["select_alias"], *values)
        return rows[0][0] if rows else None

    async def read_journal(self, task_id: str) -> tuple[JournalEntry, ...]:
        """Return the recorded results of a task."""
        return tuple(
            JournalEntry(n=n, kind=kind, name=readable(name), result=result, seq=seq)
            for n, kind, name, result, seq in await self._pool.fetch(
                QUERIES["select_journal"], storable(task_id)
            )
        )

    async def read_secret(self, task_id: str, n: int) -> bytes | None:
        """Return a secret of a task."""
        rows = await self._pool.fetch(QUERIES["select_secret"], storable(task_id), n)
        return rows[0][0] if rows else None

    async def read_inbox(self, task_id: str) -> tuple[InboxItem, ...]:
        """Return what lies in the inbox of a task."""
        rows = await self._pool.fetch(QUERIES["select_inbox"], storable(task_id))
        return tuple(InboxItem(n, body) for n, body in rows)

    async def read_events(self, task_id: str, after: int, limit: int) -> tuple[EventDocument, ...]:
        """Return whole segments after an event until there are ``limit`` events."""
        events: list[EventDocument] = []
        rows = await self._pool.fetch(
            QUERIES["select_segments_from"], storable(task_id), after + 1, limit, READ_BYTES
        )
        for seq, body in rows:
            events += number_events(seq, body.split(b"\n"), after)
            if len(events) >= limit:
                break
        return tuple(events)

    async def read_entries(self, task_id: str, until: int) -> tuple[bytes, ...]:
        """Return all entries up to an event."""
        rows = await self._pool.fetch(QUERIES["select_segments_until"], storable(task_id), until)
        return entries_until(((seq, body.split(b"\n")) for seq, body in rows), until)

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        """Return one page of tasks, and the total as of the same moment."""
        statement, values = _page(query)
        rows = await self._pool.fetch(statement, self.replica_id, *values)
        tasks = _stored(rows)
        return StoredPage(
            tasks=tasks[: query.limit], has_more=len(tasks) > query.limit, total=rows[0][0]
        )

    async def at_work(self, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks that should be running and that no living replica holds, by id."""
        return _stored(await self._pool.fetch(_SELECT_AT_WORK, self.replica_id, after_id, limit))

    async def due(self, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks whose time to wake has come."""
        return _stored(await self._pool.fetch(_SELECT_DUE, self.replica_id, now_ms, limit))

    async def waiting(self, before_ms: int, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks that have waited for their client since before a time, by id."""
        values = before_ms, after_id, limit
        return _stored(await self._pool.fetch(_SELECT_WAITING, self.replica_id, *values))

    async def filled(self) -> tuple[tuple[Scope, str], ...]:
        """Return the unfinished tasks whose inbox is not empty and that no other holds, by id."""
        rows = await self._pool.fetch(QUERIES["select_filled"], self.replica_id)
        return tuple(
            (Scope(readable(tenant), readable(owner)), task_id) for tenant, owner, task_id in rows
        )

    async def moved(self, known: Mapping[str, int]) -> tuple[str, ...]:
        """Return which of these tasks have events beyond a number."""
        return await self._which("select_moved", known)

    async def lost(self, epochs: Mapping[str, int]) -> tuple[str, ...]:
        """Return which of these tasks are under another lease."""
        return await self._which("select_lost", epochs)

    async def _which(self, query: str, numbers: Mapping[str, int]) -> tuple[str, ...]:
        if not numbers:
            return ()
        ids = list(map(storable, numbers))
        rows = await self._pool.fetch(QUERIES[query], ids, list(numbers.values()))
        return tuple(readable(row[0]) for row in rows)


def _page(query: TaskQuery) -> tuple[str, list[object]]:
    """Return the statement for a page, and its values after that of the replica."""
    scope = query.scope
    values: list[object] = [storable(scope.tenant), storable(scope.owner)]

    def parameter(value: object) -> str:
        values.append(value)
        return f"${len(values) + 1}"

    filters = ""
    if query.context_id:
        filters += f" AND context_id = {parameter(storable(query.context_id))}"
    if query.state is not None:
        filters += f" AND state = {parameter(NUMBERS[query.state])}"
    if query.status_at_or_after_ms is not None:
        filters += f" AND status_at_ms >= {parameter(query.status_at_or_after_ms)}"
    if query.context_id or query.status_at_or_after_ms is not None:
        total = QUERIES["total_of_page"]
    else:
        total = QUERIES["total_of_all" if query.state is None else "total_in_state"]
    total = total.replace("{filters}", filters)
    if query.after is not None:
        time, task_id = (
            parameter(query.after.status_at_ms),
            parameter(storable(query.after.task_id)),
        )
        filters += f" AND (status_at_ms, id) < ({time}, {task_id})"
    found = QUERIES["found_page"].replace("{filters}", filters)
    found = found.replace("{limit}", parameter(query.limit + 1))
    return _whole(found, "status_at_ms DESC, found.id DESC", f"({total})"), values


def _stored(rows: Iterable[Row]) -> tuple[StoredTask, ...]:
    # The one row of a search that found nothing has no id.
    return tuple(_stored_task(row) for row in rows if row[1] is not None)


def _stored_task(row: Row) -> StoredTask:
    (
        _,
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
        wake_at_ms,
        attempts,
        snapshot_seq,
        *end,
        holder,
        inbox_n,
        is_elsewhere,
        open_seq,
        open_head,
        open_artifacts,
        open_history,
        tail,
        inbox_numbers,
        inbox_bodies,
    ) = row
    is_terminal = STATES[state].is_terminal
    snapshot = None if end[0] is None else TaskDocument(*end)
    if open_seq is not None:
        snapshot_seq = open_seq
        snapshot = TaskDocument(open_head, open_artifacts, open_history)
    return StoredTask(
        id=task_id,
        scope=Scope(readable(tenant), readable(owner)),
        context_id=readable(context_id),
        skill_id=skill_id,
        origin_dialect=origin_dialect,
        created_ms=created_ms,
        state=STATES[state],
        status_at_ms=status_at_ms,
        epoch=epoch,
        seq=seq,
        snapshot=snapshot,
        snapshot_seq=snapshot_seq,
        wake_at_ms=wake_at_ms,
        attempts=attempts,
        tail=tuple(entry for body in tail or () for entry in body.split(b"\n")),
        inbox=tuple(map(InboxItem, inbox_numbers or (), inbox_bodies or ())),
        holder="" if is_terminal else holder,
        is_elsewhere=is_elsewhere and not is_terminal,
        inbox_n=0 if is_terminal else inbox_n,
    )
