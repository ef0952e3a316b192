"""Looks at a database from outside, beside servers that may be using it. Changes nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from dragoman.errors import StoreError, UsageError
from dragoman.stores.postgres.connection import FAILURES, Connection, Database, reason_of
from dragoman.stores.postgres.schema import stored_version
from dragoman.stores.postgres.statements import QUERIES
from dragoman.stores.postgres.texts import readable_value, storable
from dragoman.stores.records import TaskRecord, record_of

__all__ = ("connected", "looking_at", "read_records")


@asynccontextmanager
async def connected(database: Database) -> AsyncGenerator[Connection]:
    """Connect to a database until the end of the block.

    Raises:
        UsageError: it cannot be reached.
        StoreError: PostgreSQL fails; also when that comes out within the block.
    """
    try:
        # What operators do may take long.
        connection = await database.connect(command_seconds=None)
    except FAILURES as error:
        message = (
            f"{database.name} cannot be reached ({reason_of(error)}); name another with --store"
        )
        raise UsageError(message) from error
    try:
        yield connection
    except FAILURES as error:
        raise StoreError(f"{database.name}: PostgreSQL failed: {reason_of(error)}") from error
    finally:
        connection.terminate()


@asynccontextmanager
async def looking_at(database: Database) -> AsyncGenerator[Connection]:
    """See a database as of one moment until the end of the block.

    It may be of another version: see ``check_current``. Raises as ``connected`` does, and a
    UsageError if there is no store in it.
    """
    async with connected(database) as connection:
        if not await stored_version(connection, database.name):
            message = f"there is no store in {database.name}; name another with --store"
            raise UsageError(message)
        await connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield connection


async def read_records(connection: Connection, ids: Sequence[str]) -> list[TaskRecord]:
    """Return all that is stored of tasks, in the order of their ids."""
    keys = [storable(task_id) for task_id in ids]
    snapshots = await _by_task(connection, "records_snapshots", keys)
    segments = await _by_task(connection, "records_segments", keys)
    journal = await _by_task(connection, "records_journal", keys)
    inbox = await _by_task(connection, "records_inbox", keys)
    return [
        record_of(
            [readable_value(value) for value in row],
            snapshots=snapshots[row[0]],
            segments=segments[row[0]],
            journal=[[readable_value(value) for value in entry] for entry in journal[row[0]]],
            inbox=inbox[row[0]],
        )
        for row in await connection.fetch(QUERIES["records_tasks"], keys)
    ]


async def _by_task(
    connection: Connection, query: str, keys: Sequence[str]
) -> dict[str, list[Sequence[object]]]:
    found: dict[str, list[Sequence[object]]] = defaultdict(list)
    for task_id, *row in await connection.fetch(QUERIES[query], keys):
        found[task_id].append(row)
    return found
