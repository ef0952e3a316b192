"""Turns a batch of writes into one commit.

The normal way assumes that every write is welcome: the writes are folded per task and go out as
one statement per table. When anything is off, the batch is rolled back and done again write by
write, so that only the offender fails.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from dragoman.errors import ConflictError, StoreError, StoreUnavailableError
from dragoman.stores.base import WHOLE_INBOX, SendRecord, TaskWrite
from dragoman.stores.shared.folding import RefusedError
from dragoman.stores.shared.sql import ManyRows, read_queries
from dragoman.stores.sqlite.connection import connect_writer
from dragoman.stores.sqlite.rows import Rows
from dragoman.stores.sqlite.webhooks import WebhookRows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from dragoman.stores.base import NewTask, SendKey
    from dragoman.stores.sqlite.send_index import SendIndex
    from dragoman.stores.webhooks import NewWebhook

__all__ = (
    "FORGET_AT_ONCE",
    "BatchWriter",
    "ChangeWebhooks",
    "DeleteTasks",
    "ForgetSends",
    "PutInbox",
    "TakeOver",
    "Write",
    "is_urgent",
)

FORGET_AT_ONCE: Final = 2000
"""Records of sends dropped in one commit: a few milliseconds."""

_QUERIES: Final = read_queries("dragoman.stores.sqlite")
_COUNT_CURRENT: Final = ManyRows(_QUERIES["count_current"])
_INSERT_TASKS: Final = ManyRows(_QUERIES["insert_tasks"])
_PUT_ALIASES: Final = ManyRows(_QUERIES["put_aliases"])
_COUNT_CREATED: Final = ManyRows(_QUERIES["count_created"])
_INSERT_SEGMENTS: Final = ManyRows(_QUERIES["insert_segments"])
_UPDATE_TASKS: Final = ManyRows(_QUERIES["update_tasks"])
_PUT_SNAPSHOTS: Final = ManyRows(_QUERIES["put_snapshots"])
_DELETE_SNAPSHOTS: Final = ManyRows(_QUERIES["delete_snapshots"])
_INSERT_JOURNAL: Final = ManyRows(_QUERIES["insert_journal"])
_UPDATE_PLANS: Final = ManyRows(_QUERIES["update_plans"])
_INSERT_SECRETS: Final = ManyRows(_QUERIES["insert_secrets"])
_DELETE_SECRETS: Final = ManyRows(_QUERIES["delete_secrets"])
_INSERT_SENDS: Final = ManyRows(_QUERIES["insert_sends"])
_DELETE_SENDS: Final = ManyRows(_QUERIES["delete_sends"])
_DELETE_OF_TASKS: Final = tuple(
    ManyRows(_QUERIES[f"delete_{table}"])
    for table in ("events", "snapshots", "journal", "all_inbox", "aliases", "tasks")
)

_BAD_VALUES: Final = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
    UnicodeError,
)
"""What SQLite says to a value it will not store. Anything else it says is its own failure."""


class PutInbox:
    """A message for a task. ``number`` is set when it is committed."""

    __slots__ = ("body", "number", "send", "task_id")

    def __init__(self, task_id: str, body: bytes, send: SendRecord | None) -> None:
        self.task_id: Final = task_id
        self.body: Final = body
        self.send: Final = send
        self.number: int = 0


class TakeOver:
    """A change of the lease."""

    __slots__ = ("attempts", "epoch", "task_id")

    def __init__(self, task_id: str, epoch: int, attempts: int | None) -> None:
        self.task_id: Final = task_id
        self.epoch: Final = epoch
        self.attempts: Final = attempts


class ForgetSends:
    """A removal of old records of sends. ``removed`` is set when it is committed."""

    __slots__ = ("before_ms", "removed")

    def __init__(self, before_ms: int) -> None:
        self.before_ms: Final = before_ms
        self.removed: int = 0


class DeleteTasks:
    """A removal of tasks that have ended, the last of them before ``before_ms``.

    Those with something to tell their webhooks stay; when it is committed ``ids`` are the others.
    """

    __slots__ = ("before_ms", "ids")

    def __init__(self, ids: Sequence[str], before_ms: int) -> None:
        self.ids: Sequence[str] = ids
        self.before_ms: Final = before_ms


class ChangeWebhooks:
    """Something that is done to webhooks; done once more if its batch is rolled back.

    ``task_id``: the task that may have webhooks since then, "" if that is not new.
    """

    __slots__ = ("change", "task_id")

    def __init__(self, change: Callable[[WebhookRows], None], task_id: str) -> None:
        self.change: Final = change
        self.task_id: Final = task_id


Write = TaskWrite | SendRecord | PutInbox | TakeOver | ForgetSends | DeleteTasks | ChangeWebhooks


def is_urgent(write: Write) -> bool:
    """Tell whether somebody waits for a write who had better be told that it cannot be done now.

    What a turn says about a task that exists can wait; that work must not be lost.
    """
    return write.created is not None if isinstance(write, TaskWrite) else True


class BatchWriter:
    """Owns the connection that writes; used by the writer thread alone.

    Args:
        on_pending: called in that thread after a commit that has given webhooks something to send.
    """

    def __init__(
        self, path: Path, sends: SendIndex, on_pending: Callable[[], None] = lambda: None
    ) -> None:
        self._path = path
        self._sends = sends
        self._on_pending = on_pending
        self._connect()
        # The store is locked, so whoever had taken webhooks is gone.
        self._webhooks.release_all()
        self._last_send = self._number(_QUERIES["last_send"])
        # Most agents never have any: then no task pays for looking at its end.
        self._has_secrets = bool(self._number(_QUERIES["count_secrets"]))
        # What the index learns when the transaction is committed.
        self._noted: list[tuple[SendKey, int]] = []
        self._first_send = 0
        # Tasks that have no more events, once that is committed; and whether webhooks were marked.
        self._ended: list[str] = []
        self._has_marked = False

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def commit(self, writes: Sequence[Write]) -> Sequence[StoreError | None]:
        """Make the writes durable and return one outcome each.

        Raises StoreUnavailableError, with nothing kept, when SQLite fails.
        """
        try:
            try:
                return self._commit_together(writes)
            except (RefusedError, *_BAD_VALUES):
                self._roll_back()
                return self._commit_one_by_one(writes)
        except sqlite3.Error as error:
            self._roll_back()
            message = f"SQLite: {error}"
            raise StoreUnavailableError(message) from error
        except BaseException:
            # A defect: whatever becomes of it, the next batch must find no open transaction.
            self._roll_back()
            raise

    def probe(self) -> None:
        """Write something that needs room on the disk; raises StoreUnavailableError."""
        try:
            # A new connection, because the old one may be what is broken.
            self._connection.close()
            self._connect()
            # Two commits, so that the bytes really go out.
            self._cursor.execute(_QUERIES["fill_probe"])
            self._cursor.execute(_QUERIES["empty_probe"])
        except sqlite3.Error as error:
            message = f"SQLite: {error}"
            raise StoreUnavailableError(message) from error

    def _connect(self) -> None:
        self._connection = connect_writer(self._path)
        self._cursor = self._connection.cursor()
        self._webhooks = WebhookRows(self._connection)
        # Kept in memory, so that a write of any other task pays for no statement. It may name tasks
        # that have no webhooks any more, but lacks none that has.
        self._told_of = self._webhooks.tasks()

    # --- transactions ---------------------------------------------------------------------------

    def _commit_together(self, writes: Sequence[Write]) -> Sequence[StoreError | None]:
        self._begin()
        outcomes: list[StoreError | None] = []
        rows = Rows()
        for write in writes:
            if isinstance(write, TaskWrite):
                rows.add(write)
                outcomes.append(None)
            elif isinstance(write, SendRecord):
                rows.sends.append(write)
                outcomes.append(None)
            else:
                # These look at what is stored, so all that was handed over before must be there.
                self._store(rows)
                rows = Rows()
                outcomes.append(self._store_rare(write))
        self._store(rows)
        self._end()
        return outcomes

    def _commit_one_by_one(self, writes: Sequence[Write]) -> Sequence[StoreError | None]:
        self._begin()
        outcomes = [self._store_alone(write) for write in writes]
        self._end()
        return outcomes

    def _begin(self) -> None:
        self._noted = []
        self._first_send = 0
        self._ended = []
        self._has_marked = False
        self._cursor.execute("BEGIN IMMEDIATE")

    def _end(self) -> None:
        self._cursor.execute("COMMIT")
        self._sends.add(self._noted)
        if self._first_send:
            self._sends.forget_before(self._first_send)
        if self._told_of:
            self._told_of.difference_update(self._ended)
        if self._has_marked:
            self._on_pending()

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._cursor.execute("ROLLBACK")
        except sqlite3.Error:
            # SQLite rolls back by itself on severe errors; the probe opens a new connection anyway.
            self._connection.close()

    def _store_alone(self, write: Write) -> StoreError | None:
        noted = len(self._noted)
        self._cursor.execute("SAVEPOINT alone")
        try:
            outcome = self._store_one(write)
        except (RefusedError, *_BAD_VALUES) as error:
            self._cursor.execute("ROLLBACK TO alone")
            del self._noted[noted:]
            outcome = _error_of(write, error)
        self._cursor.execute("RELEASE alone")
        return outcome

    # --- statements -----------------------------------------------------------------------------

    def _store_one(self, write: Write) -> StoreError | None:
        if not isinstance(write, TaskWrite | SendRecord):
            return self._store_rare(write)
        rows = Rows()
        if isinstance(write, TaskWrite):
            rows.add(write)
        else:
            rows.sends.append(write)
        self._store(rows)
        return None

    def _store(self, rows: Rows) -> None:
        """Run the statements; raises RefusedError when a lease or an expected number is stale."""
        rows.finish()
        if rows.expected and self._count_current(rows.expected) * 3 != len(rows.expected):
            raise RefusedError
        self._run(_INSERT_TASKS, rows.created)
        self._run(_PUT_ALIASES, rows.aliases)
        self._run(_COUNT_CREATED, rows.counted)
        self._run(_INSERT_SEGMENTS, rows.segments)
        self._run(_UPDATE_TASKS, rows.updated)
        self._run(_PUT_SNAPSHOTS, rows.snapshots)
        self._run(_DELETE_SNAPSHOTS, rows.ended)
        self._run(_INSERT_JOURNAL, rows.journal)
        self._run(_UPDATE_PLANS, rows.plans)
        self._run(_INSERT_SECRETS, rows.secrets)
        self._has_secrets = self._has_secrets or bool(rows.secrets)
        if self._has_secrets:
            self._run(_DELETE_SECRETS, rows.ended)
        if rows.sends:
            self._store_sends(rows.sends)
        for taken in rows.inbox_taken:
            self._cursor.execute(_QUERIES["delete_inbox"], (*taken, WHOLE_INBOX))
        for webhook in rows.webhooks:
            self._create_webhook(*webhook)
        if self._told_of:
            self._mark_webhooks(rows)

    def _mark_webhooks(self, rows: Rows) -> None:
        values = rows.marks(self._told_of)
        if values:
            self._has_marked |= self._webhooks.mark(values) > 0
            self._ended += map(str, rows.ended)

    def _create_webhook(self, task_id: str, task: NewTask, new: NewWebhook, at_ms: int) -> None:
        self._webhooks.create(task_id, task, new, at_ms)
        self._told_of.add(task_id)
        self._has_marked = True

    def _run(self, statement: ManyRows, values: list[object]) -> None:
        if values:
            for call in statement.calls(values):
                self._cursor.execute(*call)

    def _count_current(self, expected: list[object]) -> int:
        return sum(self._number(*call) for call in _COUNT_CURRENT.calls(expected))

    def _store_sends(self, records: list[SendRecord]) -> None:
        values: list[object] = []
        for record in records:
            key = record.key
            # Numbers are never used twice: the index may still name one that was rolled back.
            self._last_send += 1
            self._noted.append((key, self._last_send))
            values += (
                self._last_send,
                key.scope.tenant,
                key.scope.owner,
                key.message_id,
                bytearray(record.digest),
                record.at_ms,
                record.task_id,
                bytearray(record.reply),
            )
        self._run(_INSERT_SENDS, values)

    def _store_rare(
        self, write: PutInbox | TakeOver | ForgetSends | DeleteTasks | ChangeWebhooks
    ) -> StoreError | None:
        match write:
            case PutInbox():
                return self._put_inbox(write)
            case TakeOver():
                values = (write.attempts, write.task_id, write.epoch)
                self._cursor.execute(_QUERIES["take_over"], values)
                return None if self._cursor.rowcount == 1 else ConflictError(write.task_id)
            case ForgetSends():
                self._cursor.execute(_QUERIES["forget_sends"], (write.before_ms, FORGET_AT_ONCE))
                write.removed = self._cursor.rowcount
                self._first_send = self._number(_QUERIES["first_send"])
                return None
            case DeleteTasks():
                self._delete_tasks(write)
                return None
            case ChangeWebhooks():
                try:
                    write.change(self._webhooks)
                except ConflictError as refused:
                    return refused
                if write.task_id:
                    self._told_of.add(write.task_id)
                return None

    def _delete_tasks(self, write: DeleteTasks) -> None:
        to_tell_of = self._webhooks.to_tell_of(write.ids)
        write.ids = [task_id for task_id in write.ids if task_id not in to_tell_of]
        if not write.ids:
            return
        ids: list[object] = list(write.ids)
        self._webhooks.delete_of(write.ids)
        self._ended += write.ids
        for statement in _DELETE_OF_TASKS:
            self._run(statement, ids)
        for text, values in _DELETE_SENDS.calls(ids):
            self._cursor.execute(text, [*values, write.before_ms])

    def _put_inbox(self, write: PutInbox) -> StoreError | None:
        numbers = self._cursor.execute(_QUERIES["next_inbox_number"], (write.task_id,)).fetchall()
        if not numbers:
            return ConflictError(write.task_id)
        write.number = numbers[0][0]
        self._cursor.execute(_QUERIES["insert_inbox"], (write.task_id, write.number, write.body))
        if write.send is not None:
            self._store_sends([write.send])
        return None

    def _number(self, statement: str, values: Sequence[object] = ()) -> int:
        return int(self._cursor.execute(statement, values).fetchall()[0][0])


def _error_of(write: Write, error: Exception) -> StoreError:
    is_conflict = isinstance(error, RefusedError | sqlite3.IntegrityError)
    if is_conflict and isinstance(write, TaskWrite):
        return ConflictError(write.task_id)
    return StoreError(f"SQLite will not store this: {error}")
