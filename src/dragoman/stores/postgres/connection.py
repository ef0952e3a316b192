"""Opens connections, alone or as a pool, and knows what PostgreSQL means by a refusal."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol, cast
from urllib.parse import unquote, urlsplit

import asyncpg  # type: ignore[import-untyped] - it declares no types

from dragoman.errors import StoreError, StoreUnavailableError, UsageError
from dragoman.stores.postgres.statements import QUERIES

__all__ = (
    "FAILURES",
    "SCHEMA",
    "Connection",
    "Database",
    "Pool",
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

MOST_CONNECTIONS: Final = 4
"""A replica does its work on one core; more would only wait at the database."""

_ATTEMPTS: Final = 4
_PAUSE_SECONDS: Final = 0.1
"""A read is tried again for about a second: a server that restarts is back by then."""

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
        self.name: Final = _shown(url)

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


class Pool:
    """Runs statements that may be repeated: they only read, or do the same when done twice."""

    def __init__(self, database: Database, *, connections: int = MOST_CONNECTIONS) -> None:
        self._database = database
        self._idle: list[Connection] = []
        self._connections = connections
        self._places = asyncio.Semaphore(connections)
        self._is_closed = False

    def open(self) -> None:
        """Run statements again, after ``close``."""
        self._is_closed = False

    async def close(self) -> None:
        """Wait for what is under way, then close all connections."""
        self._is_closed = True
        for _ in range(self._connections):
            await self._places.acquire()
        while self._idle:
            await close_politely(self._idle.pop())
        # Whoever comes now is told that it is closed, and does not wait.
        for _ in range(self._connections):
            self._places.release()

    async def fetch(self, statement: str, *values: object) -> list[Row]:
        """Run a statement and return its rows.

        Raises:
            StoreUnavailableError: PostgreSQL cannot be reached, or fails.
            StoreError: it will not take these values.
        """
        delay = _PAUSE_SECONDS
        for attempt in range(_ATTEMPTS):
            try:
                async with self._connection() as connection:
                    return await connection.fetch(statement, *values)
            except FAILURES as error:
                if not is_lost(error):
                    raise _error_of(error) from error
                self._drop_idle()
                if attempt == _ATTEMPTS - 1:
                    raise _error_of(error) from error
            await asyncio.sleep(delay * random.uniform(0.5, 1.0))  # noqa: S311 - no secret
            delay *= 2
        raise AssertionError(statement)

    @asynccontextmanager
    async def _connection(self) -> AsyncGenerator[Connection]:
        async with self._places:
            if self._is_closed:
                raise StoreUnavailableError("the store is closed")
            connection = self._take_idle() or await self._connect()
            try:
                yield connection
            except BaseException as error:
                if not isinstance(error, FAILURES) or is_lost(error):
                    # Somebody has stopped waiting for it, or it is gone.
                    connection.terminate()
                    raise
                self._idle.append(connection)
                raise
            self._idle.append(connection)

    async def _connect(self) -> Connection:
        connection = await self._database.connect()
        try:
            await connection.execute(QUERIES["keep_promise"])
        except BaseException:
            connection.terminate()
            raise
        return connection

    def _take_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
        return None

    def _drop_idle(self) -> None:
        """Where one connection was lost, the others are, too."""
        while self._idle:
            self._idle.pop().terminate()


def _error_of(error: BaseException) -> StoreError:
    # A value that does not fit: so says the client, or the server.
    if isinstance(error, ValueError) or code_of(error).startswith("22"):
        return StoreError(f"PostgreSQL does not take this: {reason_of(error)}")
    return StoreUnavailableError(f"PostgreSQL: {reason_of(error)}")
