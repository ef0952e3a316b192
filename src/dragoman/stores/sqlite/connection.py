"""Opens connections to the database file, brings its schema up to date, and knows a full disk."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from dragoman.errors import UsageError
from dragoman.stores.sqlite.schema import migrate

if TYPE_CHECKING:
    from pathlib import Path

__all__ = (
    "check_directory",
    "connect_reader",
    "connect_writer",
    "is_full",
    "prepare_database",
    "remedied",
)


_SETTINGS: Final = (
    # Waits for operator commands that write beside the server.
    "PRAGMA busy_timeout = 5000",
    # A commit is on the disk before it is reported; group commit makes that cheap.
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA temp_store = MEMORY",
    # Mapped pages measured no faster, and turn a failing disk into a crash of the process.
    "PRAGMA mmap_size = 0",
)

_WRITER_SETTINGS: Final = (
    # 16 MB of pages: the inner pages and right edges of every index, which all writes touch.
    "PRAGMA cache_size = -16000",
    # 32 MB of log between checkpoints. Pages that every commit touches are then copied once for
    # many commits, and the pause falls on one commit in hundreds: against the default of 1000,
    # creations measured 1.6 times as fast and the slowest commit in a hundred 4 times.
    "PRAGMA wal_autocheckpoint = 8000",
    # Back to this size after a burst.
    "PRAGMA journal_size_limit = 67108864",
)

_READER_SETTINGS: Final = ("PRAGMA cache_size = -4000", "PRAGMA query_only = ON")

_CACHED_STATEMENTS: Final = 128
"""Nine sizes of each of the six statements for many rows, and the others."""

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})

_LITTLE_BYTES: Final = 64 * 1024
"""Less than this is no room: SQLite's index of its log grows by 32 KiB."""

_PRIMARY: Final = 0xFF
"""The part of a code of SQLite that says what kind of failure it is."""


def check_directory(path: Path) -> None:
    """Raise UsageError unless the database has a directory to be in."""
    if not path.parent.is_dir():
        message = f"{path.parent} is not a directory; create it or use another --store"
        raise UsageError(message)


def prepare_database(path: Path) -> None:
    """Create the database or bring it up to date; raises UsageError with a remedy."""
    with remedied(path), closing(_connect(path, mode="rwc")) as connection:
        migrate(path, connection)


@contextmanager
def remedied(path: Path) -> Generator[None]:
    """Raise a failure of SQLite to begin with a database as a UsageError with a remedy."""
    try:
        yield
    except sqlite3.OperationalError as error:
        message = (
            f"cannot write to {path}: the disk is full; make room or use another --store"
            if is_full(error, path)
            else f"cannot write to {path} ({error}); check permissions or use another --store"
        )
        raise UsageError(message) from error
    except sqlite3.DatabaseError as error:
        message = f"{path} is not a SQLite database ({error}); use another --store"
        raise UsageError(message) from error


def connect_writer(path: Path) -> sqlite3.Connection:
    """Open the connection that writes. The file must exist: a lost one is not silently replaced."""
    return _configured(_connect(path, mode="rw"), _WRITER_SETTINGS)


def connect_reader(path: Path) -> sqlite3.Connection:
    """Open a connection that only reads."""
    return _configured(_connect(path, mode="rw"), _READER_SETTINGS)


def _connect(path: Path, *, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        isolation_level=None,
        # Each connection is used by one thread at a time, but closed by another.
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
    )
    return _configured(connection, _SETTINGS)


def _configured(connection: sqlite3.Connection, settings: tuple[str, ...]) -> sqlite3.Connection:
    try:
        for setting in settings:
            connection.execute(setting)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def is_full(error: Exception, path: Path) -> bool:
    """Tell whether a failure to write a file means that there is no room left for it.

    SQLite says so of the database and its log. For the index of the log it only speaks of input
    and output, and keeps to itself what the system said; the system is asked anew then.
    """
    if isinstance(error, OSError):
        return error.errno in _FULL
    kind = getattr(error, "sqlite_errorcode", 0) & _PRIMARY
    return kind == sqlite3.SQLITE_FULL or (kind == sqlite3.SQLITE_IOERR and _is_little_left(path))


def _is_little_left(path: Path) -> bool:
    try:
        disk = os.statvfs(path.parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _LITTLE_BYTES
