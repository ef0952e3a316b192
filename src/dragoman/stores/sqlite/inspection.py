"""Looks at a database from outside, beside a server that may be using it. Changes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dragoman.errors import StoreError, UsageError
from dragoman.model.documents import TaskDocument
from dragoman.stores.base import InboxItem, JournalEntry, NewTask, Scope
from dragoman.stores.records import Segment, Snapshot, TaskRecord
from dragoman.stores.sql import read_queries
from dragoman.stores.sqlite.connection import connect_reader
from dragoman.stores.sqlite.schema import check_ours
from dragoman.stores.states import STATES

__all__ = ("looking_at", "read_record")

_QUERIES: Final = read_queries("dragoman.stores.sqlite")


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
        raise UsageError(f"{path} cannot be opened ({error}); name another with --store") from error
    return connection


def read_record(connection: sqlite3.Connection, task_id: str) -> TaskRecord | None:
    """Return all that is stored of a task, None if there is none of this id."""
    rows = connection.execute(_QUERIES["select_record"], (task_id,)).fetchall()
    if not rows:
        return None
    (
        _,
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
    ) = rows[0]
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
        end=None if end[1] is None else Snapshot(end[0], TaskDocument(*end[1:])),
        snapshot=_read_snapshot(connection, task_id),
        segments=tuple(
            Segment(first, count, tuple(body.split(b"\n")))
            for first, count, body in connection.execute(
                _QUERIES["select_all_segments"], (task_id,)
            )
        ),
        journal=tuple(
            JournalEntry(n=n, kind=kind, name=name, result=result, seq=at)
            for n, kind, name, result, at in connection.execute(
                _QUERIES["select_journal"], (task_id,)
            )
        ),
        inbox=tuple(
            InboxItem(n, body)
            for n, body in connection.execute(_QUERIES["select_inbox"], (task_id,))
        ),
    )


def _read_snapshot(connection: sqlite3.Connection, task_id: str) -> Snapshot | None:
    rows = connection.execute(_QUERIES["select_snapshot"], (task_id,)).fetchall()
    return Snapshot(rows[0][0], TaskDocument(*rows[0][1:])) if rows else None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")
