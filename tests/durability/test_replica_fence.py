"""A replica that was paused until others took over cannot write when it comes back."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from time import monotonic
from typing import Final

import httpx2
import pytest

from tests.durability.following import Follower
from tests.durability.waiting import find
from tests.durability.witness import Witness, text_of
from tests.support.cluster import Replica, replicas
from tests.support.postgres import database_for, postgres_server
from tests.support.wire import message

AGENT: Final = Path(__file__).with_name("counting_agent.py")
REST_SECONDS: Final = 5
"""As long as the skill rests."""

SETTINGS: Final = {"lease_seconds": "1", "sweep_seconds": "0.3"}


def client(replica: Replica) -> httpx2.AsyncClient:
    headers = {"A2A-Version": "1.0"}
    return httpx2.AsyncClient(base_url=replica.url, headers=headers, timeout=15, trust_env=False)


async def said_so_far(http: httpx2.AsyncClient, task_id: str) -> list[str] | None:
    """Return number and run of what the agent said last; None if it has said nothing."""
    status = (await http.get(f"/tasks/{task_id}")).json()["status"]
    return text_of(status["message"]).split() if "message" in status else None


@pytest.mark.crash
@pytest.mark.timeout(90)
async def test_a_paused_replica_cannot_write_when_another_has_taken_over(tmp_path: Path) -> None:
    store = await asyncio.to_thread(database_for, tmp_path)
    witness = Witness()

    async def epoch(task_id: str) -> int:
        statement = f"SELECT epoch FROM dragoman.tasks WHERE id = '{task_id}'"  # noqa: S608 - our own id
        database = store.rpartition("/")[2]
        return int(await asyncio.to_thread(postgres_server().run_sql, statement, database))

    async with (
        replicas(AGENT, tmp_path, "--store", store, settings=SETTINGS, size=2) as (old, new),
        client(old) as near,
        client(new) as far,
    ):
        sent = message("2", metadata={"skillId": "ponder"})
        witness.sends(sent)
        body = {"message": sent, "configuration": {"returnImmediately": True}}
        task_id = witness.hears(sent, (await near.post("/message:send", json=body)).content)
        assert task_id is not None
        first = await find(lambda: said_so_far(far, task_id))
        began = monotonic()
        before = await epoch(task_id)
        old.pause()

        async def is_taken_over() -> bool | None:
            return await epoch(task_id) > before or None

        await find(is_taken_over)
        # Now the other rests anew and writes nothing, so the last event is still the one that the
        # paused one knows. When that comes back after its own rest, it writes before it learns
        # anything, and the epoch alone stands against it. Should this test be late, it shows less.
        await asyncio.sleep(began + REST_SECONDS + 0.3 - monotonic())
        old.resume()
        follower = Follower(far, witness, Random(1), "ponder", 2)  # noqa: S311 - no secret
        follower.task_id, follower.cursor = task_id, 1
        async with asyncio.timeout(60):
            await follower.run()
        said = [
            text_of(status["message"]).split()
            for _, event in sorted(witness.task(task_id).events.items())
            if (status := event.get("statusUpdate", {}).get("status", {})).get("message")
            and status["state"] == "TASK_STATE_WORKING"
        ]
        assert [number for number, _ in said] == ["0", "1"]
        assert said[0] == first
        assert said[1][1] != first[1], "the replica that was paused went on"
        # It knows, and shows what the other has written.
        assert (await near.get(f"/tasks/{task_id}")).content == (
            await far.get(f"/tasks/{task_id}")
        ).content
