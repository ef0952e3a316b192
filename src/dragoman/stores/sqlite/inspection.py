"""Looks at a database from outside, beside a server that may be using it. Changes nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from dragoman.errors import StoreError, UsageError
from dragoman.stores.records import TaskRecord, record_of
from dragoman.stores.shared.sql import read_queries
from dragoman.stores.sqlite.connection import connect_reader
from dragoman.stores.sqlite.room import is_full
from dragoman.stores.sqlite.schema import check_ours

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
