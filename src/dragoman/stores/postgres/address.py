"""Addresses of PostgreSQL databases: ``postgres://user:password@host:5432/database``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from dragoman.stores.base import TaskStore
    from dragoman.stores.maintenance import Maintenance

__all__ = ("PostgresAddress", "read_address")

_PREFIXES: Final = ("postgres://", "postgresql://")


def read_address(url: str) -> PostgresAddress | None:
    """Return the address; None if it has another form. What follows ``//`` is not looked at."""
    return PostgresAddress(url) if url.startswith(_PREFIXES) else None


class PostgresAddress:
    """One database, for any number of servers. See ``StoreAddress``."""

    is_shared: Final = True
    file: Final = None

    def __init__(self, url: str) -> None:
        self._url = url

    @property
    def bus(self) -> str:
        """The database itself: it has LISTEN and NOTIFY."""
        return self._url

    def open(self) -> TaskStore:
        """Return the store; raises UsageError when asyncpg is not installed."""
        try:
            from dragoman.stores.postgres.store import (  # noqa: PLC0415 - only when asked for
                PostgresTaskStore,
            )
        except ModuleNotFoundError as error:
            raise _missing(error) from error

        return PostgresTaskStore(self._url)

    def maintenance(self, folder: Path) -> Maintenance:
        """Return what looks after the database; raises UsageError when asyncpg is not installed."""
        del folder
        try:
            from dragoman.stores.postgres.maintenance import (  # noqa: PLC0415 - only when asked for
                PostgresMaintenance,
            )
        except ModuleNotFoundError as error:
            raise _missing(error) from error

        return PostgresMaintenance(self._url)

    def beside(self, name: str) -> str:
        """Raise UsageError: a database has nothing beside it."""
        message = f"there is nothing beside a database: serve {name!r} by itself and call its URL"
        raise UsageError(message)


def _missing(error: ModuleNotFoundError) -> UsageError | ModuleNotFoundError:
    if error.name != "asyncpg":
        return error
    return UsageError("a store on PostgreSQL needs asyncpg: pip install 'dragoman[postgres]'")
