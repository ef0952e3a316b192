"""SQLiteMaintenance: looks after a database file.

What only looks, and what changes a row or two, goes on beside a server; what rewrites the file
needs it alone.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

from dragoman.errors import StoreError, UsageError
from dragoman.stores.maintenance import ERASED, Erasure, Finding, TaskRecord, record_of
from dragoman.stores.shared.checking import TASK_RULES, check_task
from dragoman.stores.shared.sql import read_queries
from dragoman.stores.shared.states import STATES
from dragoman.stores.sqlite.connection import (
    connect_reader,
    connect_writer,
    is_full,
    prepare_database,
)
from dragoman.stores.sqlite.lock import FileLock
from dragoman.stores.sqlite.schema import (
    check_current,
    check_not_newer,
    check_ours,
    expected_schema,
    stored_version,
)
from dragoman.stores.sqlite.webhooks import WebhookRows
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook, WebhookKey

__all__ = (
    "RULES",
    "SQLiteMaintenance",
    "changing",
    "check_database",
    "erase",
    "looking_at",
    "read_record",
    "upgrade",
    "vacuum",
)

RULES: Final = {
    "file": "SQLite finds its own structure in order",
    "schema": "the tables, indexes and triggers are those of this version",
    "type": "every value is of the kind of its column",
    **TASK_RULES,
    "stray": "logs, snapshots, results, messages and webhooks belong to a task that there is",
    "alias": "what a client calls a task leads to a task of the same owner",
    "send": "the record of a send leads to a task of the same owner, if to any",
    "webhook": "a webhook is of its task's owner, stands within the log, and waits if it must",
    "letter": "a dead letter is of a webhook that there is, and of an event it has come to",
    "counter": "tasks are counted right, per owner and state",
}
"""Every rule by its name, in the order of checking."""

_PROGRESS_TASKS: Final = 50_000
"""After how many tasks progress is told: some seconds."""

_QUERIES: Final = read_queries("dragoman.stores.sqlite")

_AT_ONCE: Final = 500
"""Webhooks in memory at a time; a store may have very many."""


class SQLiteMaintenance:
    """Looks after one file. See ``Maintenance``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    def check(self, found: Callable[[Finding], None], progress: Callable[[int, int], None]) -> None:
        """Look for all that is wrong; a server may use the file meanwhile."""
        with looking_at(self.path) as connection:
            check_current(self.path, connection, verb="checked")
            for finding in check_database(connection, progress):
                found(finding)

    def read_record(self, task_id: str) -> TaskRecord | None:
        """Return all that is stored of a task."""
        with looking_at(self.path) as connection:
            check_current(self.path, connection)
            return read_record(connection, task_id)

    def read_webhooks(
        self, letter: Callable[[DeadLetter], None], webhook: Callable[[Webhook], None]
    ) -> None:
        """Look at all webhooks, as of one moment."""
        after_letter: LetterKey | None = None
        after: WebhookKey | None = None
        with looking_at(self.path) as connection:
            check_current(self.path, connection)
            rows = WebhookRows(connection)
            while letters := rows.dead_letters(after_letter, _AT_ONCE):
                for each in letters:
                    letter(each)
                after_letter = letters[-1].key
            while webhooks := rows.every(after, _AT_ONCE):
                for each in webhooks:
                    webhook(each)
                after = webhooks[-1].key

    def retry_letters(self, keys: Sequence[LetterKey], now_ms: int) -> int:
        """Have dead letters sent again; the server beside waits meanwhile."""
        with changing(self.path) as connection:
            return WebhookRows(connection).retry(keys, now_ms)

    def drop_letters(self, keys: Sequence[LetterKey]) -> int:
        """Remove dead letters; the server beside waits meanwhile."""
        with changing(self.path) as connection:
            return WebhookRows(connection).drop(keys)

    def erase(self, erasure: Erasure, *, is_trial: bool) -> dict[str, int]:
        """Remove tasks with everything that belongs to them; no server may use the file."""
        return erase(self.path, erasure, is_trial=is_trial)

    def upgrade(self) -> tuple[int, int]:
        """Bring the file up to date; no server may use it."""
        return upgrade(self.path)

    def vacuum(self) -> tuple[int, int]:
        """Rewrite the file without gaps; no server may use it."""
        return vacuum(self.path)


# --- looking, beside a server ---------------------------------------------------------------------


@contextmanager
def looking_at(path: Path) -> Generator[sqlite3.Connection]:
    """Open a database that exists, and see it as of one moment until the end of the block.

    A server beside goes on writing meanwhile, but its log cannot be folded back into the file.

    It may be of another version: see ``check_current``.

    Raises:
        UsageError: there is no such file, or it is not ours.
        StoreError: SQLite cannot read it; also when that comes out within the block.
    """
    connection = _open(path)
    try:
        # Texts that are no UTF-8 are to be seen, too, and not to end everything.
        connection.text_factory = _text
        connection.execute("BEGIN")
        yield connection
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    finally:
        connection.close()


def _open(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise UsageError(f"there is no database {path}; name one with --store")
    try:
        connection = connect_reader(path)
        try:
            check_ours(path, connection)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        if is_full(error, path):
            # Readers write, too: into the index of the log, which they share with the writer.
            message = f"{path} cannot be opened: the disk is full; make room"
        else:
            message = f"{path} cannot be opened ({error}); name another with --store"
        raise UsageError(message) from error
    return connection


def read_record(connection: sqlite3.Connection, task_id: str) -> TaskRecord | None:
    """Return all that is stored of a task, None if there is none of this id."""

    def rows(query: str) -> list[tuple[Any, ...]]:
        return connection.execute(_QUERIES[query], (task_id,)).fetchall()

    found = rows("select_record")
    if not found:
        return None
    return record_of(
        found[0],
        snapshots=rows("select_snapshot"),
        segments=rows("select_all_segments"),
        journal=rows("select_journal"),
        inbox=rows("select_inbox"),
    )


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


# --- changing, beside a server --------------------------------------------------------------------


@contextmanager
def changing(path: Path) -> Generator[sqlite3.Connection]:
    """Change a database in one transaction, which ends with the block; an error undoes all of it.

    The server beside waits meanwhile, as every writer does: keep it short. Only what the server
    reads anew each time may be changed so; the tasks themselves it has in memory.

    Raises:
        UsageError: there is no such file, or it is not ours, or of another version.
        StoreError: SQLite fails, or the server is busy for longer than a writer waits.
    """
    with looking_at(path) as connection:
        check_current(path, connection)
    try:
        with closing(connect_writer(path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be changed: {error}") from error


# --- rewriting, without a server ------------------------------------------------------------------


def upgrade(path: Path) -> tuple[int, int]:
    """Bring a database up to date; return the version it had, and the one it has.

    Raises:
        UsageError: a server uses it, there is none, it is of a newer version, it cannot be
            upgraded, or the disk is full; with a remedy.
        StoreError: SQLite fails.
    """
    with _alone(path):
        before = _version(path)
        prepare_database(path)
        return before, _version(path)


def vacuum(path: Path) -> tuple[int, int]:
    """Rewrite a database without gaps; return its size in bytes before and after.

    Needs as much free room on the disk as the database takes, twice. Raises as ``upgrade`` does.
    """
    with _alone(path), closing(connect_writer(path)) as connection:
        before = _size(path)
        # What is rewritten may be larger than the memory.
        connection.execute("PRAGMA temp_store = FILE")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return before, _size(path)


def erase(path: Path, erasure: Erasure, *, is_trial: bool) -> dict[str, int]:
    """Remove tasks with everything that belongs to them; return how much, by table.

    The pages they were on are overwritten, and so is the log. Raises as ``upgrade`` does, and a
    UsageError if the database is of another version.
    """
    with looking_at(path) as connection:
        check_current(path, connection)
    with _alone(path), closing(connect_writer(path)) as connection:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("BEGIN IMMEDIATE")
        values = (erasure.task_id, erasure.owner, erasure.tenant, erasure.before_ms)
        connection.execute(_QUERIES["create_erased"])
        connection.execute(_QUERIES["choose_erased"], values)
        removed: dict[str, int] = {}
        for table in ERASED:
            given = values if table == "sends" else ()
            removed[table] = sum(
                n for (n,) in connection.execute(_QUERIES[f"erase_{table}"], given)
            )
        connection.execute(_QUERIES["erase_counters"])
        connection.execute("ROLLBACK" if is_trial else "COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return removed


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Keep servers away from a database that exists, is ours, and not of a newer version."""
    with looking_at(path) as connection:
        # What a newer one relies on is not known here: nothing is rewritten on a guess.
        check_not_newer(path, connection)
    lock = FileLock(path)
    lock.acquire()
    try:
        yield
    except sqlite3.Error as error:
        if is_full(error, path):
            message = (
                f"{path} cannot be rewritten: the disk is full, or that of temporary files "
                "(SQLITE_TMPDIR, else /var/tmp); make room for two copies of it"
            )
            raise UsageError(message) from error
        raise StoreError(f"{path}: SQLite failed: {error}") from error
    finally:
        lock.release()


def _version(path: Path) -> int:
    with closing(connect_writer(path)) as connection:
        return stored_version(connection)


def _size(path: Path) -> int:
    """Return the bytes of a database, with what is still in its log."""
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


# --- checking -------------------------------------------------------------------------------------


def check_database(
    connection: sqlite3.Connection, progress: Callable[[int, int], None]
) -> Iterator[Finding]:
    """Yield all that is wrong. The connection should see the database as of one moment.

    It must be of this version: see ``check_current``.

    Args:
        progress: told now and then, and at the end, how many tasks have been checked, and how many
            there are.
    """
    try:
        yield from _file(connection)
        yield from _schema(connection)
        yield from _tasks(connection, progress)
        yield from _strays(connection)
        yield from _webhooks(connection)
        yield from _counters(connection)
    except sqlite3.DatabaseError as error:
        # What is broken inside cannot be read to its end.
        yield Finding("file", f"it cannot be read any further: {error}")


def _file(connection: sqlite3.Connection) -> Iterator[Finding]:
    for (text,) in connection.execute("PRAGMA integrity_check"):
        if text != "ok":
            yield Finding("file", text)


def _schema(connection: sqlite3.Connection) -> Iterator[Finding]:
    # Others may be there: an operator's own index is no fault.
    for kind, name in sorted(
        expected_schema() - set(connection.execute(_QUERIES["select_schema"]))
    ):
        yield Finding("schema", f"the {kind} {name} is missing")


def _tasks(
    connection: sqlite3.Connection, progress: Callable[[int, int], None]
) -> Iterator[Finding]:
    unfit: set[str] = set()
    for task_id, table in connection.execute(_QUERIES["misfits"]):
        unfit.add(str(task_id))
        yield Finding("type", f"a value in {table} is of the wrong kind", str(task_id))
    total = connection.execute(_QUERIES["count_tasks"]).fetchall()[0][0]
    for number, (task_id,) in enumerate(connection.execute(_QUERIES["select_ids"]), 1):
        # What is of the wrong kind would only be stumbled over.
        record = None if str(task_id) in unfit else read_record(connection, task_id)
        if record is not None:
            yield from check_task(record)
        if number % _PROGRESS_TASKS == 0 and number != total:
            progress(number, total)
    progress(total, total)


def _strays(connection: sqlite3.Connection) -> Iterator[Finding]:
    for task_id, table in connection.execute(_QUERIES["strays"]):
        yield Finding("stray", f"it has {table}, but there is no such task", task_id)
    for alias, task_id in connection.execute(_QUERIES["stray_aliases"]):
        yield Finding("alias", f"{alias!r} is no name of a task of its owner", task_id)
    for message_id, task_id in connection.execute(_QUERIES["stray_sends"]):
        yield Finding("send", f"{message_id!r} went to no task of its owner", task_id)


def _webhooks(connection: sqlite3.Connection) -> Iterator[Finding]:
    for task_id, webhook_id, text in connection.execute(_QUERIES["wrong_webhooks"]):
        yield Finding("webhook", f"{webhook_id!r} {text}", task_id)
    for task_id, webhook_id, seq in connection.execute(_QUERIES["wrong_letters"]):
        yield Finding("letter", f"that of event {seq} for {webhook_id!r} is none", task_id)


def _counters(connection: sqlite3.Connection) -> Iterator[Finding]:
    for tenant, owner, state, counted, found in connection.execute(_QUERIES["wrong_counters"]):
        name = STATES[state].value if state in STATES else f"state {state}"
        whose = f"{owner!r} of tenant {tenant!r}" if tenant else f"{owner!r}"
        yield Finding("counter", f"{whose} has {found} tasks in {name}, counted as {counted}")
