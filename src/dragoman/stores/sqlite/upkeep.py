"""What an operator does to a database that no server uses meanwhile."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from dragoman.errors import StoreError, UsageError
from dragoman.stores.sqlite.connection import connect_writer, prepare_database
from dragoman.stores.sqlite.inspection import looking_at
from dragoman.stores.sqlite.lock import FileLock
from dragoman.stores.sqlite.room import is_full
from dragoman.stores.sqlite.schema import check_not_newer, stored_version

__all__ = ("upgrade", "vacuum")


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
