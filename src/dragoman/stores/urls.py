"""Finds the store that an address names. Each kind is imported only when asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.stores.base import TaskStore

__all__ = ("beside", "database_path", "key_file", "open_store")

_MEMORY: Final = "memory:"
_KNOWN: Final = f"sqlite:///tasks.db, sqlite:////var/lib/agent/tasks.db, {_MEMORY}"


def open_store(url: str) -> TaskStore:
    """Return the store of an address; it still has to be opened.

    ``sqlite:///`` is followed by a path, relative unless it begins with a slash of its own.
    Raises UsageError for any other address, naming the known forms.
    """
    if url == _MEMORY:
        from dragoman.stores.memory import MemoryTaskStore  # noqa: PLC0415 - only when asked for

        return MemoryTaskStore()
    path = database_path(url)
    from dragoman.stores.sqlite.store import SQLiteTaskStore  # noqa: PLC0415 - only when asked for

    return SQLiteTaskStore(path)


def beside(url: str, name: str) -> str:
    """Return the address of a store like this one, for another agent of this name.

    Raises UsageError for a store that has nothing beside it.
    """
    if url == _MEMORY:
        return url
    path = database_path(url)
    word = "-".join(re.findall(r"[a-z0-9]+", name.lower())) or "agent"
    return f"sqlite:///{path.with_name(f'{path.stem}.{word}{path.suffix}')}"


def key_file(url: str) -> Path | None:
    """Return where the key to the secrets of a store is; None for one that ends with its process.

    Raises UsageError for a store that has nothing beside it.
    """
    if url == _MEMORY:
        return None
    path = database_path(url)
    return path.with_name(f"{path.name}.key")


def database_path(url: str) -> Path:
    """Return the file of an address that names one; raises UsageError for any other."""
    if url == _MEMORY:
        message = f"{url!r} is gone with its process; there is no file to look at"
        raise UsageError(message)
    prefix, separator, path = url.partition(":///")
    if prefix == "sqlite" and separator and path and not path.endswith("/"):
        return Path(path)
    message = f"{url!r} is no store; known forms: {_KNOWN}"
    raise UsageError(message)
