"""Looking at a database past its store, and standing in its way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from dragoman.errors import StoreError
from dragoman.stores.base import TaskStore, TaskWrite
from dragoman.stores.postgres.connection import Database
from tests.support.postgres import postgres_server

__all__ = ("ask", "handed_over", "locked", "name_of", "waiting_for_locks")


def ask(url: str, statement: str) -> str:
    """Ask a database as an operator would, past the store."""
    return postgres_server().run_sql(f"SET search_path = dragoman; {statement}", name_of(url))


def name_of(url: str) -> str:
    return url.rpartition("/")[2]


def handed_over(store: TaskStore, *writes: TaskWrite) -> list[asyncio.Future[StoreError | None]]:
    loop = asyncio.get_running_loop()
    futures: list[asyncio.Future[StoreError | None]] = []
    for each in writes:
        futures.append(loop.create_future())
        store.append(each, futures[-1].set_result)
    return futures


@asynccontextmanager
async def locked(
    url: str, by: str = "SELECT FROM tasks WHERE id = 't1' FOR UPDATE"
) -> AsyncGenerator[None]:
    """Hold the row of a task, or what a statement holds until it is committed.

    Another statement that needs it is on its way for long.
    """
    connection = await Database(url).connect()
    await connection.execute(f"BEGIN; {by}")
    try:
        yield
    finally:
        await connection.execute("COMMIT")
        await connection.close()


def waiting_for_locks(url: str) -> int:
    return int(
        ask(
            url,
            "SELECT count(*) FROM pg_stat_activity "  # noqa: S608 - our own name
            f"WHERE datname = '{name_of(url)}' AND wait_event_type = 'Lock'",
        )
    )
