"""A database grows with the versions of Dragoman, under the hands of those who use it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Final

import pytest

from dragoman.stores.postgres.connection import Database
from dragoman.stores.postgres.schema import latest_version
from tests.durability.crowd import Crowd, Inspection
from tests.durability.waiting import find, until
from tests.durability.witness import TERMINAL, check_log, text_of
from tests.support.balancer import balanced
from tests.support.cluster import PATIENCE_SECONDS, THIS_VERSION, Replica, dragoman, replicas
from tests.support.postgres import database_for
from tests.support.wire import Json, Wire, message

HERE: Final = Path(__file__).parent
FIRST_SCHEMA: Final = HERE.parent / "vectors" / "postgres" / "0001.sql"
COUNTING: Final = HERE / "counting_agent.py"
NEXT_VERSION: Final = (str(HERE / "next_version.py"),)

WAITING: Final = ("TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED")
CLIENTS: Final = 24
FEW: Final = 8
"""Tasks that must have ended before the next thing happens: somebody served meanwhile."""

SETTINGS: Final = {
    # What the first version has left ended long ago.
    "retention_days": "0",
    "lease_seconds": "2",
    "sweep_seconds": "1",
    "shutdown_grace_seconds": "1",
    "max_attempts": "20",
}


LEFT: Final = range(1, 9)
"""The states of tasks in the first schema: all that there are."""

ENDS: Final = Counter(
    {
        ("COMPLETED", "FINISH 0\nFINISH 1\nFINISH 2\n"): 1,
        ("COMPLETED", "NAMED 0\nNAMED 1\nNAMED 2\n"): 1,
        ("FAILED", ""): 1,
        ("REJECTED", ""): 1,
        ("CANCELED", ""): 1,
        # One had its answer before.
        ("COMPLETED", "ASK this one"): 2,
        ("COMPLETED", "login in"): 1,
        ("COMPLETED", "sleep awake"): 1,
        # One was at work and had been sent a second message, the other had not begun.
        ("COMPLETED", "work doneand this done"): 1,
        ("COMPLETED", "next done"): 1,
    }
)
"""How they end, and with which result."""


async def first_schema(folder: Path) -> str:
    """Return the address of a database as the first version left it."""
    store = await asyncio.to_thread(database_for, folder)
    connection = await Database(store).connect()
    try:
        await connection.execute(FIRST_SCHEMA.read_text("utf-8"))
        states = await connection.fetch("SELECT DISTINCT state FROM dragoman.tasks ORDER BY state")
        assert [state for (state,) in states] == list(LEFT)
    finally:
        await connection.close()
    return store


async def upgrade(store: str, program: Sequence[str] = THIS_VERSION) -> tuple[int, int]:
    """Run ``dragoman db upgrade``; return the version of the schema before and after."""
    done = await dragoman("db", "upgrade", "--store", store, "-o", "json", program=program)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    return said["schemaBefore"], said["schemaAfter"]


async def check(store: str, program: Sequence[str] = THIS_VERSION) -> None:
    """Hold a database against all rules of a version."""
    done = await dragoman("db", "check", "--store", store, program=program)
    assert done.returncode == 0, done.stdout + done.stderr


async def tasks_at(wire: Wire) -> list[Json]:
    """Return all tasks."""
    response = await wire.http.get("/tasks", params={"includeArtifacts": "true"})
    page = response.json()
    assert page["totalSize"] == len(page["tasks"])
    return page["tasks"]


def end_of(task: Json) -> tuple[str, str]:
    result = "".join(text_of(artifact) for artifact in task.get("artifacts", ()))
    return task["status"]["state"].removeprefix("TASK_STATE_"), result


async def check_history(wire: Wire, task: Json) -> None:
    """Read a task from its first event on: that leads to where it is."""
    path = f"/tasks/{task['id']}:subscribe"
    async with wire.stream("GET", path, **{"Last-Event-ID": "1"}) as frames:
        log = [frame async for frame in frames]
    check_log(log, (await wire.http.get(f"/tasks/{task['id']}")).json())


@pytest.mark.crash
@pytest.mark.timeout(180)
async def test_what_the_first_version_left_is_finished_by_this_one(tmp_path: Path) -> None:
    store = await first_schema(tmp_path)
    assert await upgrade(store) == (1, latest_version())
    await check(store)
    async with (
        replicas(
            HERE / "lasting_agent.py", tmp_path, "--store", store, settings=SETTINGS, size=2
        ) as (one, other),
        Wire(one.url) as near,
        Wire(other.url) as far,
    ):
        waiting = [task for task in await tasks_at(near) if task["status"]["state"] in WAITING]
        assert len(waiting) == len(WAITING)
        for task in waiting:
            body = {"message": message("this one", taskId=task["id"])}
            answered = await far.http.post("/message:send", json=body)
            assert answered.json()["task"]["status"]["state"] == "TASK_STATE_COMPLETED"

        async def ended() -> list[Json] | None:
            tasks = await tasks_at(near)
            return tasks if all(task["status"]["state"] in TERMINAL for task in tasks) else None

        tasks = await find(ended, patience_seconds=PATIENCE_SECONDS)
        assert Counter(map(end_of, tasks)) == ENDS
        for task in tasks:
            await check_history(far, task)
    await check(store)


async def ended_by(crowd: Crowd, count: int) -> None:
    """Wait until so many more clients have seen a task to its end."""
    before = sum(follower.is_over for follower in crowd.followers)
    await until(
        lambda: sum(each.is_over for each in crowd.followers) >= before + count,
        patience_seconds=PATIENCE_SECONDS,
    )


async def refuses(store: str, program: Sequence[str]) -> bool:
    """Whether a version will not serve from a database before it is upgraded."""
    serve = ("serve", str(COUNTING), "--port", "0", "--store", store)
    done = await dragoman(*serve, program=program)
    return done.returncode != 0 and "run dragoman db upgrade" in done.stderr


@pytest.mark.crash
@pytest.mark.timeout(300)
async def test_new_replicas_roll_in_while_old_ones_serve(tmp_path: Path) -> None:
    """The old ones are of this version, the new ones of a version with one migration more."""
    chance = Random(8)  # noqa: S311 - no secret
    store = await asyncio.to_thread(database_for, tmp_path)
    async with (
        replicas(COUNTING, tmp_path, "--store", store, settings=SETTINGS) as members,
        balanced([member.port for member in members]) as balancer,
    ):
        crowd = Crowd(balancer.url, chance, size=CLIENTS)
        async with crowd.busy():
            await ended_by(crowd, FEW)
            assert await refuses(store, NEXT_VERSION)
            latest = latest_version()
            assert await upgrade(store, NEXT_VERSION) == (latest, latest + 1)
            await ended_by(crowd, FEW)
            # One that stumbles in the meantime comes back as what it was.
            members[0].kill()
            members[0].begin(SETTINGS)
            await members[0].wait_until_ready()
            await ended_by(crowd, FEW)
            for member in members:
                await roll(member)
                await ended_by(crowd, FEW)
        async with Wire(chance.choice(members).url) as wire:
            taken_over = await Inspection(crowd.witness, wire, chance).look_at_all()
        assert taken_over > 0, "nothing was ever handed over"
        await check(store, NEXT_VERSION)
        for member in members:
            assert await member.stop() == 0
            assert "Traceback" not in member.log.read_text(), member.log


async def roll(member: Replica) -> None:
    """Stop a replica as a deployment does, and start the next version in its place."""
    assert await member.stop() == 0
    member.begin(SETTINGS, program=NEXT_VERSION)
    await member.wait_until_ready()
