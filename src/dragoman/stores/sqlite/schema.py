"""The schema of the database: which version a file has, and how it is brought up to date.

Its version is how many of the scripts in ``migrations/`` have been run.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Final

from dragoman.errors import UsageError
from dragoman.stores.shared.sql import read_migrations, read_queries
from dragoman.stores.shared.versions import newer, older

if TYPE_CHECKING:
    from pathlib import Path

__all__ = (
    "APPLICATION_ID",
    "check_current",
    "check_not_newer",
    "check_ours",
    "expected_schema",
    "latest_version",
    "migrate",
    "stored_version",
)

APPLICATION_ID: Final = 0x4472_6167
"""Marks a file as ours ("Drag"), so that another program's database is never touched."""

_PACKAGE: Final = "dragoman.stores.sqlite"


def stored_version(connection: sqlite3.Connection) -> int:
    """Return the version that a file has."""
    return _number(connection, "PRAGMA user_version")


def latest_version() -> int:
    """Return the version that this Dragoman works with."""
    return len(read_migrations(_PACKAGE))


def check_ours(path: Path, connection: sqlite3.Connection) -> None:
    """Raise UsageError if a file belongs to another program."""
    if _number(connection, "PRAGMA application_id") != APPLICATION_ID:
        message = f"{path} belongs to another program; use another --store"
        raise UsageError(message)


def check_current(path: Path, connection: sqlite3.Connection, *, verb: str = "used") -> None:
    """Raise UsageError if a file of ours is of another version; says what to do.

    Args:
        verb: what cannot be done to it then, as in "cannot be checked".
    """
    version, latest = stored_version(connection), latest_version()
    if version > latest:
        raise newer(str(path), version, latest, verb=verb)
    if version < latest:
        raise older(str(path), f"sqlite:///{path}", version, latest, verb=verb)


def check_not_newer(path: Path, connection: sqlite3.Connection) -> None:
    """Raise UsageError if a file of ours was written by a newer Dragoman; says what to do."""
    version, latest = stored_version(connection), latest_version()
    if version > latest:
        raise newer(str(path), version, latest)


def migrate(path: Path, connection: sqlite3.Connection) -> None:
    """Bring an empty file, or one of ours, up to date; raises UsageError for any other."""
    migrations = read_migrations(_PACKAGE)
    version = stored_version(connection)
    if version or _number(connection, "SELECT count(*) FROM sqlite_schema"):
        check_ours(path, connection)
    else:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    check_not_newer(path, connection)
    connection.execute("PRAGMA journal_mode = WAL")
    for number, script in enumerate(migrations[version:], version + 1):
        connection.executescript(
            f"BEGIN IMMEDIATE; {script} PRAGMA user_version = {number}; COMMIT;"
        )


def expected_schema() -> set[tuple[str, str]]:
    """Return what an up-to-date file has: tables, indexes and triggers, each by kind and name."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for script in read_migrations(_PACKAGE):
            connection.executescript(script)
        return set(connection.execute(read_queries(_PACKAGE)["select_schema"]))


def _number(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchall()[0][0])
