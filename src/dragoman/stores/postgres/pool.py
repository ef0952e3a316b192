"""A few connections for whatever need not be in order: reads above all."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from dragoman.errors import StoreError, StoreUnavailableError
from dragoman.stores.postgres.connection import (
    FAILURES,
    Connection,
    Database,
    Row,
    close_politely,
    code_of,
    is_lost,
    reason_of,
)
from dragoman.stores.postgres.statements import QUERIES

__all__ = ("Pool",)

MOST_CONNECTIONS: Final = 4
"""A replica does its work on one core; more would only wait at the database."""

_ATTEMPTS: Final = 4
_PAUSE_SECONDS: Final = 0.1
"""A read is tried again for about a second: a server that restarts is back by then."""


class Pool:
    """Runs statements that may be repeated: they only read, or do the same when done twice."""

    def __init__(self, database: Database, *, connections: int = MOST_CONNECTIONS) -> None:
        self._database = database
        self._idle: list[Connection] = []
        self._connections = connections
        self._places = asyncio.Semaphore(connections)
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
