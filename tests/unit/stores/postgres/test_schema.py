import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

import pytest

from dragoman.errors import UsageError
from dragoman.stores.postgres.connection import FAILURES, Connection, Database
from dragoman.stores.postgres.maintenance import PostgresMaintenance
from dragoman.stores.postgres.schema import (
    MIGRATIONS,
    check_current,
    latest_version,
    migrate,
    stored_version,
)
from dragoman.stores.postgres.store import PostgresTaskStore
from tests.contracts.storing import creation, load, write
from tests.support.postgres import new_database
from tests.support.stores.postgres.looking import ask
from tests.support.stores.postgres.populated import populated

pytestmark = pytest.mark.anyio


@pytest.fixture
def url() -> str:
    return new_database()


async def open_and_close(url: str) -> None:
    store = PostgresTaskStore(url)
    await store.open()
    await store.close()


async def test_a_store_is_made_in_an_empty_database(url: str) -> None:
    await open_and_close(url)
    assert ask(url, "SELECT version, oldest FROM schema_version") == f"{latest_version()}|1"


async def test_an_empty_database_is_filled_at_once_or_not_at_all(url: str) -> None:
    # Replicas that start together must not find a store that is half made.
    halfway = "SELECT 1 / (SELECT version - 2 FROM schema_version)"
    async with connected(url) as connection:
        with pytest.raises(FAILURES, match="division by zero"):
            await migrate(connection, "it", migrations=(*MIGRATIONS[:2], halfway))
        assert await stored_version(connection, "it") == 0


async def test_several_may_open_an_empty_database(url: str) -> None:
    await asyncio.gather(*(open_and_close(url) for _ in range(4)))
    assert ask(url, "SELECT version FROM schema_version") == str(latest_version())


async def test_tables_of_others_are_left_alone(url: str) -> None:
    ask(url, "CREATE TABLE public.tasks (mine text)")
    await open_and_close(url)
    assert ask(url, "SELECT count(*) FROM public.tasks") == "0"


async def test_a_schema_of_another_program_is_refused(url: str) -> None:
    ask(url, "CREATE SCHEMA dragoman; CREATE TABLE dragoman.tasks (mine text)")
    with pytest.raises(UsageError, match="belongs to another program"):
        await open_and_close(url)


LATER: Final = (*MIGRATIONS, "CREATE TABLE later (n integer); INSERT INTO later VALUES (1)")


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[Connection]:
    connection = await Database(url).connect()
    yield connection
    await connection.close()


async def test_an_older_store_is_to_be_upgraded_first(url: str) -> None:
    await open_and_close(url)
    async with connected(url) as connection:
        with pytest.raises(UsageError, match=r"older version .*; run dragoman db upgrade --store"):
            await check_current(connection, "it", migrations=LATER)
        latest = latest_version()
        assert await migrate(connection, "it", migrations=LATER) == (latest, latest + 1)
        await check_current(connection, "it", migrations=LATER)
        assert await migrate(connection, "it", migrations=LATER) == (latest + 1, latest + 1)
    assert ask(url, "SELECT n FROM later") == "1"


@pytest.mark.parametrize("name", ["empty", "older"])
async def test_a_script_that_fails_leaves_nothing_behind(url: str, name: str) -> None:
    if name == "older":
        await open_and_close(url)
    wrong = "CREATE TABLE later (n integer); SELECT 1 / 0"
    scripts = (*MIGRATIONS, wrong) if name == "older" else (wrong,)
    async with connected(url) as connection:
        before = await stored_version(connection, "it")
        with pytest.raises(FAILURES, match="division by zero"):
            await migrate(connection, "it", migrations=scripts)
        assert await stored_version(connection, "it") == before
        await migrate(connection, "it")
    assert ask(url, "SELECT to_regclass('later') IS NULL") == "t"
    await open_and_close(url)


async def test_a_newer_store_is_used_if_it_can_be(url: str) -> None:
    await open_and_close(url)
    ask(url, "UPDATE schema_version SET version = version + 1")
    store = PostgresTaskStore(url)
    await store.open()
    await write(store, creation())
    assert (await load(store)).seq == 1
    await store.close()
    ask(url, "UPDATE schema_version SET oldest = version")
    with pytest.raises(UsageError, match="newer Dragoman"):
        await open_and_close(url)


def test_who_is_newer_is_not_taken_back(url: str) -> None:
    keeper = PostgresMaintenance(url)
    keeper.upgrade()
    ask(url, "UPDATE schema_version SET version = version + 1")
    newer = latest_version() + 1
    assert keeper.upgrade() == (newer, newer)


async def test_what_runs_is_not_disturbed_by_a_change_that_adds(url: str) -> None:
    """As a migration does it while replicas of the version before serve."""
    store = PostgresTaskStore(url)
    await store.open()
    await write(store, creation("t1"))
    await load(store, "t1")
    ask(
        url,
        "ALTER TABLE tasks ADD COLUMN more text NOT NULL DEFAULT ''; "
        "ALTER TABLE inbox ADD COLUMN more integer NOT NULL DEFAULT 0; "
        "CREATE INDEX more ON tasks (more)",
    )
    await write(store, creation("t2"))
    assert (await load(store, "t1")).seq == 1
    assert await store.put_inbox("t2", b"x", None) == 1
    await store.close()


def test_migrating_waits_for_another_who_does() -> None:
    url = populated()

    async def together() -> list[tuple[int, int]]:
        return await asyncio.gather(
            *(asyncio.to_thread(PostgresMaintenance(url).upgrade) for _ in range(3))
        )

    assert asyncio.run(together()) == [(latest_version(), latest_version())] * 3
