"""SQLiteKeeper: looks after a database file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dragoman.stores.checking import Finding
from dragoman.stores.records import TaskRecord
from dragoman.stores.sqlite import upkeep
from dragoman.stores.sqlite.checking import check_database
from dragoman.stores.sqlite.inspection import looking_at, read_record
from dragoman.stores.sqlite.schema import check_current

__all__ = ("SQLiteKeeper",)


class SQLiteKeeper:
    """Looks after one file. See ``Keeper``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    def check(self, found: Callable[[Finding], None], progress: Callable[[int, int], None]) -> None:
        """Look for all that is wrong; a server may use the file meanwhile."""
        with looking_at(self.path) as connection:
            for finding in check_database(connection, progress):
                found(finding)

    def read_record(self, task_id: str) -> TaskRecord | None:
        """Return all that is stored of a task."""
        with looking_at(self.path) as connection:
            check_current(self.path, connection)
            return read_record(connection, task_id)

    def upgrade(self) -> tuple[int, int]:
        """Bring the file up to date; no server may use it."""
        return upkeep.upgrade(self.path)

    def vacuum(self) -> tuple[int, int]:
        """Rewrite the file without gaps; no server may use it."""
        return upkeep.vacuum(self.path)
