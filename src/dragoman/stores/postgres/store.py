"""PostgresTaskStore: the SharedTaskStore port on PostgreSQL."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Final

from dragoman.errors import StoreUnavailableError, UsageError
from dragoman.stores.postgres.batch import Post, Release, TakeOver
from dragoman.stores.postgres.commits import LoopCommit
from dragoman.stores.postgres.connection import FAILURES, Database, Pool, is_lost, reason_of
from dragoman.stores.postgres.lookups import SendLookups
from dragoman.stores.postgres.reader import Reader
from dragoman.stores.postgres.schema import prepare
from dragoman.stores.postgres.statements import QUERIES
from dragoman.stores.postgres.webhooks import PostgresWebhooks
from dragoman.stores.postgres.writer import BatchWriter
from dragoman.stores.shared.recent import RecentTasks
from dragoman.stores.shared.reporting import reported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.model.documents import EventDocument
    from dragoman.stores.base import (
        Done,
        InboxItem,
        JournalEntry,
        Placed,
        Scope,
        SendKey,
        SendRecord,
        StoredPage,
        StoredTask,
        TaskQuery,
        TaskWrite,
    )
    from dragoman.stores.postgres.batch import Write

__all__ = ("PostgresTaskStore",)

_logger = logging.getLogger(__name__)

FORGET_AT_ONCE: Final = 2000
"""Records of sends dropped in one transaction: a few milliseconds."""

DELETE_AT_ONCE: Final = 2000
"""Events and tasks removed in one transaction: some ten milliseconds. A task is removed in one,
however long it is."""

PATIENCE_SECONDS: Final = 15.0
"""How long a start waits for a database that is out of reach: one that is just being restarted
should not take down every server that happens to start meanwhile."""

_RETRY_SECONDS: Final = 0.5

_LEAST_BEAT_SECONDS: Final = 1.0
"""How long the renewal of a lease may take at least, however short the lease is."""

_WALK: Final = 500
"""Tasks looked at in one step on the way to those that are to be removed."""


class PostgresTaskStore:
    """The task log in PostgreSQL. See ``SharedTaskStore`` for what it promises.

    One connection writes, one batch at a time; a few others read; and one renews the lease, which
    must not wait for anything else. All of it runs on the event loop.

    Args:
        patience_seconds: how long ``open`` waits for a database that is out of reach.
    """

    def __init__(self, url: str, *, patience_seconds: float = PATIENCE_SECONDS) -> None:
        self.database: Final = Database(url)
        self._pool = Pool(self.database)
        self._webhooks = PostgresWebhooks(self._pool)
        self._patience_seconds = patience_seconds
        self._is_open = False
        self._lease_seconds = 0.0

    @property
    def is_available(self) -> bool:
        """False from a failure of PostgreSQL until something was written again."""
        return self._is_open and self._commits.is_available

    @property
    def webhooks(self) -> PostgresWebhooks:
        """The webhooks of the tasks."""
        return self._webhooks

    async def open(self) -> None:
        """Connect, make the tables if there are none, get ready to write. Raises UsageError."""
        name = self.database.name
        self._pool.open()
        self._lease = Pool(self.database, connections=1)
        self._writer = BatchWriter(self.database, self._webhooks.wake)
        await self._connect()
        self._reader = Reader(self._pool)
        self._lookups = SendLookups(self._pool)
        self._recent = RecentTasks()
        self._commits = LoopCommit(f"store {name}", self._writer)
        self._lookups.start()
        self._commits.start()
        self._is_open = True

    async def _connect(self) -> None:
        """Get the tables and the writer ready, once the database is there."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience_seconds
        told = ""
        while True:
            try:
                await self._prepare()
                await self._writer.open()
            except FAILURES as error:
                reason = reason_of(error)
                name = self.database.name
                if not is_lost(error) or loop.time() >= deadline:
                    message = (
                        f"{name} cannot be used ({reason}); check the address and the user's rights"
                    )
                    raise UsageError(message) from error
                if reason != told:
                    seconds = self._patience_seconds
                    _logger.warning("%s: %s; trying for up to %g s", name, reason, seconds)
                    told = reason
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    async def _prepare(self) -> None:
        connection = await self.database.connect()
        try:
            await prepare(connection, self.database.name)
        finally:
            connection.terminate()

    async def close(self) -> None:
        """Commit what was handed over, then release everything."""
        if not self._is_open:
            return
        self._is_open = False
        await self._commits.close()
        await self._lookups.close()
        await self._pool.close()
        await self._lease.close()
        await self._writer.close()

    # --- writing --------------------------------------------------------------------------------

    def append(self, write: TaskWrite, done: Done) -> None:
        """Hand over a write; returns at once."""
        self._commits.submit(write, done)

    def remember_send(self, record: SendRecord, done: Done) -> None:
        """Hand over the record of a send that made no task."""
        self._commits.submit(record, done)

    async def put_inbox(
        self, task_id: str, body: bytes, send: SendRecord | None, *, epoch: int | None = None
    ) -> int:
        """Store a message for a task; raises ConflictError when there is no such task.

        The same if it has ended under another lease than ``epoch``.
        """
        return (await self._place(Post(task_id, body, send, is_foreign=False, epoch=epoch))).n

    async def post(self, task_id: str, body: bytes, send: SendRecord | None) -> Placed:
        """Put something into the inbox of a task that another replica holds."""
        return await self._place(Post(task_id, body, send, is_foreign=True))

    async def _place(self, post: Post) -> Placed:
        await self._written(post)
        assert post.placed is not None  # noqa: S101 - set before it is reported
        return post.placed

    async def take_over(self, task_id: str, epoch: int, *, attempts: int | None = None) -> int:
        """Replace the lease by a newer one, unless it is another living replica's."""
        await self._written(TakeOver(task_id, epoch, attempts))
        return epoch + 1

    async def release(self, task_id: str, epoch: int) -> None:
        """Hold a task no longer."""
        await self._written(Release(task_id, epoch))

    async def forget_sends(self, before_ms: int) -> None:
        """Drop records of sends older than ``before_ms``, some in each transaction."""
        while True:
            rows = await self._pool.fetch(QUERIES["forget_sends"], before_ms, FORGET_AT_ONCE)
            if rows[0][0] < FORGET_AT_ONCE:
                return

    async def delete_ended(self, before_ms: int) -> int:
        """Remove tasks that ended before ``before_ms``, some in each transaction."""
        # Whoever removes them.
        self._recent.forget_ended(before_ms)
        removed = 0
        from_ms = 0
        while True:
            rows = await self._pool.fetch(QUERIES["select_ended"], from_ms, before_ms, _WALK)
            ids: list[str] = []
            weight = 0
            for task_id, status_at_ms, seq in rows:
                ids.append(task_id)
                from_ms = status_at_ms
                weight += 1 + seq
                if weight >= DELETE_AT_ONCE:
                    break
            if not ids:
                return removed
            gone = (await self._pool.fetch(QUERIES["delete_tasks"], ids, before_ms))[0][0]
            removed += gone
            if not gone:
                # Another replica is at the same ones.
                return removed

    async def _written(self, write: Write) -> None:
        await reported(partial(self._commits.submit, write))

    # --- replicas -------------------------------------------------------------------------------

    async def join(self, replica_id: str, *, lease_seconds: float) -> None:
        """Write as this replica from now on."""
        self._writer.holder = self._reader.replica_id = replica_id
        self._lease_seconds = lease_seconds
        await self._lease.fetch(QUERIES["forget_replicas"])
        await self.beat()

    async def beat(self) -> bool:
        """Renew the lease; False if it had run out."""
        # An operator may have erased what is kept here.
        self._recent = RecentTasks()
        values = self._reader.replica_id, self._lease_seconds
        # There is time for two more tries.
        limit_seconds = max(_LEAST_BEAT_SECONDS, self._lease_seconds / 5)
        try:
            async with asyncio.timeout(limit_seconds):
                return (await self._lease.fetch(QUERIES["beat"], *values))[0][0]
        except TimeoutError:
            raise StoreUnavailableError("PostgreSQL takes too long to renew the lease") from None

    async def next_lapse(self) -> float | None:
        """Return in how many seconds the next lease of another replica runs out."""
        return (await self._pool.fetch(QUERIES["next_lapse"], self._reader.replica_id))[0][0]

    async def leave(self) -> None:
        """End the lease at once."""
        await self._lease.fetch(QUERIES["leave"], self._reader.replica_id)

    # --- reading --------------------------------------------------------------------------------

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        """Return what became of a send, if it was recorded at or after ``since_ms``."""
        record = await self._lookups.find(key)
        return record if record is not None and record.at_ms >= since_ms else None

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        """Return a task; None if there is none of this id in this scope."""
        task = self._recent.find(scope, task_id)
        if task is not None:
            return task
        task = await self._reader.load(scope, task_id)
        if task is not None:
            self._recent.add(task)
        return task

    async def find_alias(self, scope: Scope, alias: str) -> str | None:
        """Return the id of the task that a client of this scope calls by an id of its own."""
        return await self._reader.find_alias(scope, alias)

    async def read_journal(self, task_id: str) -> tuple[JournalEntry, ...]:
        """Return the recorded results of a task, oldest first."""
        return await self._reader.read_journal(task_id)

    async def read_secret(self, task_id: str, n: int) -> bytes | None:
        """Return a secret of a task that has not ended."""
        return await self._reader.read_secret(task_id, n)

    async def read_inbox(self, task_id: str) -> tuple[InboxItem, ...]:
        """Return what lies in the inbox of a task."""
        return await self._reader.read_inbox(task_id)

    async def read_events(
        self, task_id: str, *, after: int, limit: int
    ) -> tuple[EventDocument, ...]:
        """Return events numbered after ``after``: whole segments until there are ``limit``."""
        return await self._reader.read_events(task_id, after, limit)

    async def read_entries(self, task_id: str, *, until: int) -> tuple[bytes, ...]:
        """Return all entries from the first up to event ``until`` and not beyond."""
        return await self._reader.read_entries(task_id, until)

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        """Return one page of tasks."""
        return await self._reader.list_tasks(query)

    async def at_work(self, *, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner that should be running and nobody runs, by id."""
        return await self._reader.at_work(after_id, limit)

    async def due(self, *, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner whose time to wake has come, the longest due first."""
        return await self._reader.due(now_ms, limit)

    async def waiting(self, *, before_ms: int, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks that have waited for their client since before ``before_ms``, by id."""
        return await self._reader.waiting(before_ms, after_id, limit)

    async def filled(self) -> tuple[tuple[Scope, str], ...]:
        """Return the unfinished tasks whose inbox is not empty and that no other holds, by id."""
        return await self._reader.filled()

    async def moved(self, known: Mapping[str, int]) -> tuple[str, ...]:
        """Return which of these tasks have events beyond a number."""
        return await self._reader.moved(known)

    async def lost(self, epochs: Mapping[str, int]) -> tuple[str, ...]:
        """Return which of these tasks are under another lease."""
        return await self._reader.lost(epochs)
