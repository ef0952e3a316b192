"""The schema of the database: which version it has, and how it is brought up to date.

Its version is how many of the scripts in ``migrations/`` have been run. They only add, so that
replicas of the version before go on with it, and may even start; a script that cannot be such says
so, by setting ``oldest`` in the table ``schema_version``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dragoman.errors import UsageError
from dragoman.stores.postgres.connection import SCHEMA, Connection
from dragoman.stores.postgres.statements import QUERIES
from dragoman.stores.shared.sql import read_migrations
from dragoman.stores.shared.versions import newer, older

__all__ = (
    "MIGRATIONS",
    "check_current",
    "check_same",
    "latest_version",
    "migrate",
    "prepare",
    "stored_version",
)

MIGRATIONS: Final[Sequence[str]] = read_migrations("dragoman.stores.postgres")
"""The scripts, oldest first."""

_LOCK: Final = 0x4472_6167_6F6D_616E
"""Held while migrating ("Dragoman"), so that replicas that start together do it one by one."""


def latest_version() -> int:
    """Return the version that this Dragoman works with."""
    return len(MIGRATIONS)


async def stored_version(connection: Connection, name: str) -> int:
    """Return the version that a database has, 0 for an empty one.

    Raises UsageError if what is there is not ours; ``name`` is how people know the database.
    """
    has_schema, has_version = (await connection.fetch(QUERIES["find_schema"], SCHEMA))[0]
    if not has_schema:
        return 0
    if not has_version:
        message = f"the schema {SCHEMA} in {name} belongs to another program; use another --store"
        raise UsageError(message)
    return int(await connection.fetchval(QUERIES["select_version"]))


async def check_current(
    connection: Connection, name: str, *, migrations: Sequence[str] = MIGRATIONS
) -> None:
    """Raise UsageError if a database is of a version this Dragoman cannot use; says what to do."""
    version, latest = await stored_version(connection, name), len(migrations)
    if version < latest:
        raise older(name, name, version, latest)
    if version > latest and await connection.fetchval(QUERIES["select_oldest"]) > latest:
        raise newer(name, version, latest)


async def check_same(connection: Connection, name: str) -> None:
    """Raise UsageError if a database is not of the very version that this Dragoman knows.

    One that is newer can perhaps be used, but what must be true of it only a newer Dragoman knows:
    what looks wrong from here may be as it should be.
    """
    version, latest = await stored_version(connection, name), latest_version()
    if version < latest:
        raise older(name, name, version, latest, verb="checked")
    if version > latest:
        raise newer(name, version, latest, verb="checked")


async def prepare(connection: Connection, name: str) -> None:
    """Make a store in an empty database; raises UsageError for one that cannot be used."""
    if await stored_version(connection, name):
        await check_current(connection, name)
    else:
        await migrate(connection, name)


async def migrate(
    connection: Connection, name: str, *, migrations: Sequence[str] = MIGRATIONS
) -> tuple[int, int]:
    """Bring an empty database, or one of ours, up to date; return its version before and after.

    Each script is a transaction of its own, but for those of an empty database: replicas that start
    at once find nothing, or all of it. A database that is newer stays as it is. Raises UsageError
    for one that cannot be used.
    """
    await connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
    try:
        before = await stored_version(connection, name)
        if before > len(migrations):
            await check_current(connection, name, migrations=migrations)
            return before, before
        scripts = [
            f"{script};\n{QUERIES['set_version'].replace('{version}', str(number))}"
            for number, script in enumerate(migrations[before:], before + 1)
        ]
        if not before:
            scripts = [";\n".join([QUERIES["create_schema"].replace("{schema}", SCHEMA), *scripts])]
        for script in scripts:
            # Several statements in one message are one transaction.
            await connection.execute(script)
        return before, len(migrations)
    finally:
        if not connection.is_closed():
            await connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)
