"""Notebook: the file in which adapters keep what a framework must remember between tasks.

It lies beside the store of the server's tasks, and has one writer at a time like that.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from functools import cached_property
from threading import Lock
from typing import Final, TypeVar

from dragoman.server.settings import load_settings
from dragoman.stores.opening import beside, database_path
from dragoman.stores.shared.sql import read_queries

__all__ = ("QUERIES", "Notebook", "notebook_beside")

T = TypeVar("T")

QUERIES: Final = read_queries("dragoman.adapters")

_MEMORY: Final = "memory:"


class Notebook:
    """A SQLite file, opened when it is first used."""

    def __init__(self, url: str) -> None:
        """Take an address as the stores have it: ``sqlite:///file.db`` or ``memory:``.

        Raises:
            UsageError: it is none.
        """
        self._file = ":memory:" if url == _MEMORY else str(database_path(url))
        # Held in threads, not on the loop: whoever leaves does not let go of the connection.
        self._lock = Lock()

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do something with the file, in a thread, as one transaction."""
        return await asyncio.to_thread(self._run, work)

    def close(self) -> None:
        """Let go of the file; what comes after opens it again."""
        with self._lock:
            if "_connection" in vars(self):
                self._connection.close()
                del self._connection

    def _run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock, self._connection:
            return work(self._connection)

    @cached_property
    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        # What a task relies on must not be lost when the task is not.
        connection.execute("PRAGMA synchronous = FULL")
        for name, statement in QUERIES.items():
            if name.startswith("create_"):
                connection.execute(statement)
        return connection


def notebook_beside(name: str) -> Notebook:
    """Return the notebook of an agent, beside the store that the environment names."""
    return Notebook(beside(load_settings({}, os.environ).store, f"{name} memory"))
