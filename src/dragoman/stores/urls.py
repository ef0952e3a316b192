"""Finds the store that an address names. Each kind is imported only when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.stores.base import TaskStore

__all__ = ("open_store",)

_KNOWN: Final = "sqlite:///tasks.db, sqlite:////var/lib/agent/tasks.db, memory:"


def open_store(url: str) -> TaskStore:
    """Return the store of an address; it still has to be opened.

    ``sqlite:///`` is followed by a path, relative unless it begins with a slash of its own.
    Raises UsageError for any other address, naming the known forms.
    """
    if url == "memory:":
        from dragoman.stores.memory import MemoryTaskStore  # noqa: PLC0415 - only when asked for

        return MemoryTaskStore()
    prefix, separator, path = url.partition(":///")
    if prefix == "sqlite" and separator and path and not path.endswith("/"):
        from dragoman.stores.sqlite.store import SQLiteTaskStore  # noqa: PLC0415 - only when asked for

        return SQLiteTaskStore(Path(path))
    message = f"{url!r} is no store; known forms: {_KNOWN}"
    raise UsageError(message)
