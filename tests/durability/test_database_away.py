"""The database of a replica goes away, and comes back."""

from __future__ import annotations

import asyncio
from typing import Final

import pytest

from dragoman import Agent
from dragoman.stores.postgres.store import PostgresTaskStore
from tests.durability.hosting import Hosted, hosting
from tests.durability.waiting import find
from tests.postgres import running_postgres

LEASE_SECONDS: Final = 1.5

pytestmark = [pytest.mark.timeout(60)]


def make_agent() -> Agent:
    agent = Agent("Echo")

    @agent.skill
    async def echo(text: str) -> str:
        return text

    return agent


async def until_ready(hosted: Hosted, status: int) -> None:
    async def is_so() -> bool | None:
        return (await hosted.http.get("/readyz")).status_code == status or None

    await find(is_so)


async def test_a_replica_that_has_nothing_to_write_knows_that_its_database_is_gone() -> None:
    with running_postgres() as server:
        store = PostgresTaskStore(server.url())
        async with hosting(make_agent(), store, lease_seconds=LEASE_SECONDS) as hosted:
            await until_ready(hosted, 200)
            await asyncio.to_thread(server.stop)
            await until_ready(hosted, 503)
            await asyncio.to_thread(server.start)
            await until_ready(hosted, 200)
