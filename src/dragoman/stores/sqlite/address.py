"""Addresses of SQLite files: ``sqlite:///tasks.db``, ``sqlite:////var/lib/agent/tasks.db``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dragoman.stores.base import TaskStore
    from dragoman.stores.maintenance import Maintenance

__all__ = ("SQLiteAddress", "read_address")


def read_address(url: str) -> SQLiteAddress | None:
    """Return the address; None if it has another form.

    ``sqlite:///`` is followed by a path, relative unless it begins with a slash of its own.
    """
    prefix, separator, path = url.partition(":///")
    if prefix == "sqlite" and separator and path and not path.endswith("/"):
        return SQLiteAddress(Path(path))
    return None


class SQLiteAddress:
    """One file, for one server at a time. See ``StoreAddress``."""

    is_shared: Final = False
    bus: Final = ""

    def __init__(self, file: Path) -> None:
        self.file: Final = file

    def open(self) -> TaskStore:
        """Return the store."""
        from dragoman.stores.sqlite.store import SQLiteTaskStore  # noqa: PLC0415 - only when asked for

        return SQLiteTaskStore(self.file)

    def maintenance(self, folder: Path) -> Maintenance:
        """Return what looks after the file."""
        from dragoman.stores.sqlite.maintenance import (  # noqa: PLC0415 - only when asked for
            SQLiteMaintenance,
        )

        return SQLiteMaintenance(folder / self.file)

    def beside(self, name: str) -> str:
        """Return the address of a file in the same folder, named after both."""
        word = "-".join(re.findall(r"[a-z0-9]+", name.lower())) or "agent"
        return f"sqlite:///{self.file.with_name(f'{self.file.stem}.{word}{self.file.suffix}')}"
