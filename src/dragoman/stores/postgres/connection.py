"""Opens connections, and knows what PostgreSQL means when it refuses something."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Final, Protocol, cast
from urllib.parse import unquote, urlsplit

import asyncpg  # type: ignore[import-untyped] - it declares no types

from dragoman.errors import UsageError

__all__ = (
    "FAILURES",
    "SCHEMA",
    "Connection",
    "Database",
    "Row",
    "close_politely",
    "code_of",
    "is_lost",
    "reason_of",
)

SCHEMA: Final = "dragoman"
"""Where our tables are, so that the database may hold others as well."""

_CONNECT_SECONDS: Final = 10.0

_CLOSE_SECONDS: Final = 5.0

_COMMAND_SECONDS: Final = 20.0
"""How long a statement may take. Ours take milliseconds; but a network that swallows everything
must not hold us for ever."""

_SETTINGS: Final = {
    "search_path": SCHEMA,
    "application_name": "dragoman",
    # Every statement is small: to compile one takes longer than to run it.
    "jit": "off",
    # Where two replicas write to one row, the later sees what the earlier wrote.
    "default_transaction_isolation": "read committed",
}

_WRITER_SETTINGS: Final = {
    # Arrays of any length have one plan: by the index of the key. To plan anew takes longer than
    # to run it.
    "plan_cache_mode": "force_generic_plan",
    # That plan may be made while the tables are small, or before they were ever analyzed, and it
    # would read them as a whole: a new database would get slower with every task of its first
    # minute.
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_material": "off",
}

_CACHED_STATEMENTS: Final = 256

FAILURES: Final = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    OSError,
    TimeoutError,
)
"""All that a call may end with that is no defect of ours."""

_GONE: Final = ("08", "57P01", "57P02", "57P03", "57P05")
"""Codes, or how they begin, of connections that are lost: exceptions, and a server that stops."""

Row = Sequence[Any]


class Connection(Protocol):
    """As much of asyncpg's connection as is used here; asyncpg declares no types."""

    async def fetch(self, query: str, *args: object) -> list[Row]:
        """Run a statement and return its rows."""
        ...

    async def fetchval(self, query: str, *args: object) -> Any:
        """Run a statement and return the first value of its first row, None if there is none."""
        ...

    async def execute(self, query: str, *args: object) -> str:
        """Run a statement, or several without parameters."""
        ...

    def is_closed(self) -> bool:
        """Tell whether it is known to be of no use any more."""
        ...

    async def close(self) -> None:
        """Say good-bye; takes as long as the server does."""
        ...

    def terminate(self) -> None:
        """Close at once."""
        ...


class _Connect(Protocol):
    async def __call__(self, dsn: str, **options: object) -> Connection: ...


class Database:
    """Which database is meant.

    Attributes:
        name: its address without anything secret, for people.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self.name = _shown(url)

    def __repr__(self) -> str:
        """Never show what the address holds."""
        return f"Database({self.name!r})"

    async def connect(
        self, *, is_writer: bool = False, command_seconds: float | None = _COMMAND_SECONDS
    ) -> Connection:
        """Open a connection to a server that takes writes; raises one of FAILURES.

        Raises:
            UsageError: the address cannot be understood.
        """
        if _has_bare_at(self._url):
            # asyncpg would take the rest of the password for a part of the host.
            message = f"{self.name} has an @ in its user or password; write that one as %40"
            raise UsageError(message)
        connect = cast("_Connect", asyncpg.connect)  # type: ignore[no-untyped-call] - see Connection
        try:
            return await connect(
                self._url,
                timeout=_CONNECT_SECONDS,
                command_timeout=command_seconds,
                statement_cache_size=_CACHED_STATEMENTS,
                max_cached_statement_lifetime=0,
                server_settings=_SETTINGS | (_WRITER_SETTINGS if is_writer else {}),
                # Of several hosts, and after a failover, the one that takes writes.
                target_session_attrs="read-write",
            )
        except (ValueError, asyncpg.ClientConfigurationError):
            # What it says may quote a part of the address, and that may be a password.
            message = (
                f"{self.name} cannot be understood; known form: postgres://user@host:5432/name, "
                "where a password has %40 for @, %2F for /, %3F for ?, %23 for #"
            )
            raise UsageError(message) from None


def _shown(url: str) -> str:
    """Return an address without password and options."""
    try:
        parts = urlsplit(url)
        if "@" in url and "@" not in parts.netloc:
            # A password with a / or the like: what seems to be the host is a part of it.
            return "postgresql://…"
        user = f"{unquote(parts.username)}@" if parts.username else ""
        hosts = parts.netloc.rpartition("@")[2]
    except ValueError:
        return "postgresql://…"
    return f"postgresql://{user}{hosts}{parts.path}"


def _has_bare_at(url: str) -> bool:
    try:
        return urlsplit(url).netloc.count("@") > 1
    except ValueError:
        return False


async def close_politely(connection: Connection) -> None:
    """Close a connection; whatever goes wrong with that is of no matter."""
    try:
        async with asyncio.timeout(_CLOSE_SECONDS):
            await connection.close()
    except FAILURES:
        connection.terminate()


def code_of(error: BaseException) -> str:
    """Return the code that PostgreSQL gives for an error; "" if it is none of its own."""
    code = getattr(error, "sqlstate", None)
    return code if isinstance(code, str) else ""


def reason_of(error: BaseException) -> str:
    """Return what an error says, in one line: PostgreSQL has its details in a second one."""
    return " ".join(str(error).split()) or type(error).__name__


def is_lost(error: BaseException) -> bool:
    """Tell whether the connection is gone, so that nobody knows what became of the statement."""
    if isinstance(error, OSError | TimeoutError | asyncpg.InternalClientError):
        return True
    if isinstance(error, asyncpg.PostgresError):
        return code_of(error).startswith(_GONE)
    # Of the client's own errors, those about values concern the statement alone.
    return isinstance(error, asyncpg.InterfaceError) and not isinstance(error, ValueError)
