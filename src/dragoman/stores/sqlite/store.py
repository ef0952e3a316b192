"""SQLiteTaskStore: the TaskStore port on one SQLite file."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from dragoman.errors import StoreUnavailableError
from dragoman.stores.shared.group_commit import GroupCommit
from dragoman.stores.shared.recent import RecentTasks
from dragoman.stores.shared.reporting import reported
from dragoman.stores.sqlite.connection import (
    check_directory,
    connect_reader,
    prepare_database,
    remedied,
)
from dragoman.stores.sqlite.lock import FileLock
from dragoman.stores.sqlite.reader import Reader
from dragoman.stores.sqlite.send_index import SendIndex
from dragoman.stores.sqlite.webhooks import SQLiteWebhooks
from dragoman.stores.sqlite.writer import (
    FORGET_AT_ONCE,
    BatchWriter,
    ChangeWebhooks,
    DeleteTasks,
    ForgetSends,
    PutInbox,
    TakeOver,
    Write,
    is_urgent,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Concatenate

    from dragoman.model.documents import EventDocument
    from dragoman.stores.base import (
        Done,
        JournalEntry,
        Scope,
        SendKey,
        SendRecord,
        StoredPage,
        StoredTask,
        TaskQuery,
        TaskWrite,
    )
    from dragoman.stores.sqlite.webhooks import WebhookRows

__all__ = ("SQLiteTaskStore",)

_READER_THREADS: Final = 2
"""Threads for reads that may take long. More would only fight for the interpreter lock."""

P = ParamSpec("P")
R = TypeVar("R")


class SQLiteTaskStore:
    """The task log in one file. See ``TaskStore`` for what it promises.

    Writes go through one thread. Reads of one task are so quick that they run on the event loop;
    those that may take longer have threads of their own.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path)
        self._is_open = False
        self._webhooks = SQLiteWebhooks(read=self._look_at_webhooks, write=self._change_webhooks)

    @property
    def webhooks(self) -> SQLiteWebhooks:
        """The webhooks of the tasks."""
        return self._webhooks

    @property
    def is_available(self) -> bool:
        """False from a failure of SQLite until a probe write succeeds."""
        return self._is_open and self._commits.is_available

    async def open(self) -> None:
        """Take the lock, migrate, start the writer thread. Raises UsageError with a remedy."""
        # Also what comes after the migration may find the disk full.
        with remedied(self.path), ExitStack() as resources:
            check_directory(self.path)
            self._lock.acquire()
            resources.callback(self._lock.release)
            prepare_database(self.path)
            self._reader = self._open_reader(resources)
            self._recent = RecentTasks()
            self._sends = SendIndex()
            self._sends.add(self._reader.send_keys())
            self._loop = asyncio.get_running_loop()
            writer = resources.enter_context(
                closing(BatchWriter(self.path, self._sends, on_pending=self._wake_sender))
            )
            self._readers = deque(self._open_reader(resources) for _ in range(_READER_THREADS))
            self._threads = resources.enter_context(
                ThreadPoolExecutor(_READER_THREADS, thread_name_prefix="dragoman-reader")
            )
            self._commits: GroupCommit[Write] = GroupCommit(
                f"store {self.path}",
                commit=writer.commit,
                probe=writer.probe,
                is_urgent=is_urgent,
            )
            self._commits.start()
            # Nothing failed: they live until close.
            self._resources = resources.pop_all()
        self._is_open = True

    def _open_reader(self, resources: ExitStack) -> Reader:
        return resources.enter_context(closing(Reader(connect_reader(self.path))))

    async def close(self) -> None:
        """Commit what was handed over, then release everything."""
        if not self._is_open:
            return
        self._is_open = False
        await self._commits.close()
        # Waits for the reads under way. The lock goes last.
        self._resources.close()

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
        """Store a message for a task; raises ConflictError when there is no such task."""
        del epoch  # Nobody else has this file: nobody else can have ended the task.
        write = PutInbox(task_id, body, send)
        await self._written(write)
        return write.number

    async def take_over(self, task_id: str, epoch: int, *, attempts: int | None = None) -> int:
        """Replace the lease by a newer one; raises ConflictError when it is not ``epoch``."""
        await self._written(TakeOver(task_id, epoch, attempts))
        return epoch + 1

    async def forget_sends(self, before_ms: int) -> None:
        """Drop records of sends older than ``before_ms``, some in each commit."""
        while True:
            write = ForgetSends(before_ms)
            await self._written(write)
            if write.removed < FORGET_AT_ONCE:
                return

    async def delete_ended(self, before_ms: int) -> int:
        """Remove tasks that ended before ``before_ms``, some in each commit."""
        removed = 0
        row = 0
        while True:
            ids, row = await self._in_thread(Reader.ended, before_ms, row)
            if ids:
                write = DeleteTasks(ids, before_ms)
                await self._written(write)
                self._recent.forget(write.ids)
                removed += len(write.ids)
            if not row:
                return removed

    async def _written(self, write: Write) -> None:
        await reported(partial(self._commits.submit, write))

    async def _change_webhooks(self, use: Callable[[WebhookRows], R], task_id: str = "") -> R:
        results: list[R] = []
        await self._written(ChangeWebhooks(lambda rows: results.append(use(rows)), task_id))
        return results[-1]

    def _wake_sender(self) -> None:
        """Called in the writer thread."""
        # The loop was closed before the store: nobody is left to hear it.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._webhooks.wake)

    # --- reading --------------------------------------------------------------------------------

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        """Return what became of a send, if it was recorded at or after ``since_ms``."""
        rows = self._sends.rows(key)
        if not rows:
            return None
        try:
            record = self._reader.find_send(key, rows)
        except sqlite3.Error as error:
            raise _unavailable(error) from error
        return record if record is not None and record.at_ms >= since_ms else None

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        """Return a task; None if there is none of this id in this scope."""
        task = self._recent.find(scope, task_id)
        if task is not None:
            return task
        try:
            task = self._reader.load(scope, task_id)
        except sqlite3.Error as error:
            raise _unavailable(error) from error
        if task is not None:
            self._recent.add(task)
        return task

    async def find_alias(self, scope: Scope, alias: str) -> str | None:
        """Return the id of the task that a client of this scope calls by an id of its own."""
        try:
            return self._reader.find_alias(scope, alias)
        except sqlite3.Error as error:
            raise _unavailable(error) from error

    async def read_journal(self, task_id: str) -> tuple[JournalEntry, ...]:
        """Return the recorded results of a task, oldest first."""
        return await self._in_thread(Reader.read_journal, task_id)

    async def read_secret(self, task_id: str, n: int) -> bytes | None:
        """Return a secret of a task that has not ended."""
        return await self._in_thread(Reader.read_secret, task_id, n)

    async def read_events(
        self, task_id: str, *, after: int, limit: int
    ) -> tuple[EventDocument, ...]:
        """Return events numbered after ``after``: whole segments until there are ``limit``."""
        return await self._in_thread(Reader.read_events, task_id, after, limit)

    async def read_entries(self, task_id: str, *, until: int) -> tuple[bytes, ...]:
        """Return all entries from the first up to event ``until`` and not beyond."""
        return await self._in_thread(Reader.read_entries, task_id, until)

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        """Return one page of tasks."""
        return await self._in_thread(Reader.list_tasks, query)

    async def at_work(self, *, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner that should be running, by id."""
        return await self._in_thread(Reader.at_work, after_id, limit)

    async def due(self, *, now_ms: int, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks of any owner whose time to wake has come, the longest due first."""
        return await self._in_thread(Reader.due, now_ms, limit)

    async def waiting(self, *, before_ms: int, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        """Return tasks that have waited for their client since before ``before_ms``, by id."""
        return await self._in_thread(Reader.waiting, before_ms, after_id, limit)

    async def _look_at_webhooks(self, use: Callable[[WebhookRows], R]) -> R:
        return await self._in_thread(lambda reader: use(reader.webhooks))

    async def _in_thread(
        self, read: Callable[Concatenate[Reader, P], R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        def run() -> R:
            # There are as many readers as threads, so one is always free here.
            reader = self._readers.pop()
            try:
                return read(reader, *args, **kwargs)
            except sqlite3.Error as error:
                raise _unavailable(error) from error
            finally:
                self._readers.append(reader)

        return await asyncio.get_running_loop().run_in_executor(self._threads, run)


def _unavailable(error: sqlite3.Error) -> StoreUnavailableError:
    return StoreUnavailableError(f"SQLite: {error}")
