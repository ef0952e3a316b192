"""A bus that is away makes replicas slower, and nothing wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Final

import httpx2
import pytest

from tests.durability.following import Follower
from tests.durability.waiting import until
from tests.durability.witness import Witness
from tests.support.cluster import Replica, replicas
from tests.support.nats import nats_cluster, nats_server
from tests.support.postgres import database_for
from tests.support.proxy import proxied
from tests.support.wire import message

AGENT: Final = Path(__file__).with_name("counting_agent.py")
SETTINGS: Final = {"sweep_seconds": "0.5", "lease_seconds": "5"}
STEPS: Final = 8

pytestmark = [pytest.mark.crash, pytest.mark.timeout(90)]


@asynccontextmanager
async def client(replica: Replica) -> AsyncGenerator[httpx2.AsyncClient]:
    headers = {"A2A-Version": "1.0"}
    async with httpx2.AsyncClient(
        base_url=replica.url, headers=headers, timeout=15, trust_env=False
    ) as http:
        yield http


async def begin(http: httpx2.AsyncClient, witness: Witness) -> str:
    """Begin a task at one replica, which holds it then; return its id."""
    sent = message(str(STEPS), metadata={"skillId": "count"})
    witness.sends(sent)
    body = {"message": sent, "configuration": {"returnImmediately": True}}
    response = await http.post("/message:send", json=body)
    assert response.status_code == 200, response.text
    task_id = witness.hears(sent, response.content)
    assert task_id is not None
    return task_id


@asynccontextmanager
async def following_elsewhere(
    folder: Path, bus: str
) -> AsyncGenerator[tuple[Follower, asyncio.Task[None]]]:
    """Have a task held by one replica and followed at another; at the end it must have ended."""
    store = await asyncio.to_thread(database_for, folder)
    witness = Witness()
    options = ("--store", store, "--bus", bus)
    async with (
        replicas(AGENT, folder, *options, settings=SETTINGS, size=2) as (holder, other),
        client(holder) as near,
        client(other) as far,
    ):
        task_id = await begin(near, witness)
        follower = Follower(far, witness, Random(1), "count", STEPS)  # noqa: S311 - no secret
        follower.task_id, follower.cursor = task_id, 1
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            yield follower, group.create_task(follower.run())
        task = (await near.get(f"/tasks/{task_id}")).json()
        assert task["status"]["state"] == "TASK_STATE_COMPLETED"
        # The stream was never cut: the replica found what it was not told of.
        assert follower.connections == 1
        assert sorted(witness.task(task_id).events) == list(range(2, follower.cursor + 1))


async def test_events_come_through_while_the_network_to_the_bus_is_cut(tmp_path: Path) -> None:
    with nats_server() as server:
        async with (
            proxied(server.url) as proxy,
            following_elsewhere(tmp_path, proxy.url.replace("http:", "nats:")) as (follower, done),
        ):
            await until(lambda: follower.cursor > 3)
            proxy.is_refusing = True
            proxy.cut_all()
            seen = follower.cursor
            await until(lambda: follower.cursor > seen + 2)
            proxy.is_refusing = False
            attempts = proxy.connections
            await until(lambda: proxy.connections > attempts or done.done())


async def test_events_come_through_while_a_server_of_the_bus_dies(tmp_path: Path) -> None:
    with nats_cluster() as servers:
        bus = ",".join(server.url for server in servers)
        async with following_elsewhere(tmp_path, bus) as (follower, _):
            for server in servers[:2]:
                seen = follower.cursor
                await asyncio.to_thread(server.kill)
                await until(lambda: follower.cursor > seen + 1)  # noqa: B023 - called in this round
