"""Finds the store that an address names. Each kind is imported only when asked for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.stores.base import TaskStore
    from dragoman.stores.maintenance import Maintenance

__all__ = (
    "beside",
    "database_path",
    "is_postgres",
    "key_file",
    "open_maintenance",
    "open_store",
    "without_password",
)

_MEMORY: Final = "memory:"
_POSTGRES: Final = ("postgres://", "postgresql://")
_KNOWN: Final = (
    "sqlite:///tasks.db, sqlite:////var/lib/agent/tasks.db, "
    f"postgres://user:password@host:5432/database, {_MEMORY}"
)


def open_store(url: str) -> TaskStore:
    """Return the store of an address; it still has to be opened.

    ``sqlite:///`` is followed by a path, relative unless it begins with a slash of its own.
    Raises UsageError for any other address, naming the known forms.
    """
    if url == _MEMORY:
        from dragoman.stores.memory.store import MemoryTaskStore  # noqa: PLC0415 - only when asked for

        return MemoryTaskStore()
    if is_postgres(url):
        try:
            from dragoman.stores.postgres.store import (  # noqa: PLC0415 - only when asked for
                PostgresTaskStore,
            )
        except ModuleNotFoundError as error:
            raise _missing(error) from error

        return PostgresTaskStore(url)
    path = database_path(url)
    from dragoman.stores.sqlite.store import SQLiteTaskStore  # noqa: PLC0415 - only when asked for

    return SQLiteTaskStore(path)


def open_maintenance(url: str, folder: Path) -> Maintenance:
    """Return what looks after the store of an address from outside, beside a server or without one.

    Args:
        folder: where relative paths begin.

    Raises UsageError for an address that names nothing that stays.
    """
    if url == _MEMORY:
        message = f"{url!r} is gone with its process; there is nothing to look at"
        raise UsageError(message)
    if is_postgres(url):
        try:
            from dragoman.stores.postgres.maintenance import (  # noqa: PLC0415 - only when asked for
                PostgresMaintenance,
            )
        except ModuleNotFoundError as error:
            raise _missing(error) from error

        return PostgresMaintenance(url)
    path = folder / database_path(url)
    from dragoman.stores.sqlite.maintenance import SQLiteMaintenance  # noqa: PLC0415 - only when asked for

    return SQLiteMaintenance(path)


def beside(url: str, name: str) -> str:
    """Return the address of a store like this one, for another agent of this name.

    Raises UsageError for a store that has nothing beside it.
    """
    if url == _MEMORY:
        return url
    if is_postgres(url):
        message = f"there is nothing beside a database: serve {name!r} by itself and call its URL"
        raise UsageError(message)
    path = database_path(url)
    word = "-".join(re.findall(r"[a-z0-9]+", name.lower())) or "agent"
    return f"sqlite:///{path.with_name(f'{path.stem}.{word}{path.suffix}')}"


def key_file(url: str) -> Path | None:
    """Return where the key to the secrets of a store is; None for one with nothing beside it."""
    if url == _MEMORY or is_postgres(url):
        return None
    path = database_path(url)
    return path.with_name(f"{path.name}.key")


def is_postgres(url: str) -> bool:
    """Tell whether an address is one of PostgreSQL."""
    return url.startswith(_POSTGRES)


def without_password(url: str) -> str:
    """Return an address as it may be shown, whatever it is."""
    scheme, separator, rest = url.partition("://")
    user, at, place = rest.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{place}" if at else url


def database_path(url: str) -> Path:
    """Return the file of a store that is one; raises UsageError for any other address."""
    prefix, separator, path = url.partition(":///")
    if prefix == "sqlite" and separator and path and not path.endswith("/"):
        return Path(path)
    message = f"{without_password(url)!r} is no store; known forms: {_KNOWN}"
    raise UsageError(message)


def _missing(error: ModuleNotFoundError) -> UsageError | ModuleNotFoundError:
    if error.name != "asyncpg":
        return error
    return UsageError("a store on PostgreSQL needs asyncpg: pip install 'dragoman[postgres]'")
