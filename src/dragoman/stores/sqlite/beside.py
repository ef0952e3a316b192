"""Changes a database from outside, beside a server that may be using it: briefly, or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from dragoman.errors import StoreError
from dragoman.stores.sqlite.connection import connect_writer
from dragoman.stores.sqlite.inspection import looking_at
from dragoman.stores.sqlite.schema import check_current

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ("changing",)


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
