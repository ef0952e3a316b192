"""Answers that must not be seen, given at a replica that does not hold the task."""

from pathlib import Path
from typing import Final

import pytest

from dragoman import Agent, Context
from dragoman.model.tasks import Task, TaskState
from dragoman.server.tasks.secrets import PLACEHOLDER
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import told
from tests.support.server.agency import send
from tests.support.server.fakes import SCOPE

pytestmark = pytest.mark.anyio

SECRET: Final = "-".join(("correct", "horse"))


def keeper() -> Agent:
    """Return an agent that asks for a secret, and tells of it only whether it is the right one."""
    agent = Agent("Keeper", "Keeps secrets.")

    @agent.skill
    async def unlock(ctx: Context) -> str:
        """Ask for a key, and then whether to go on."""
        key = await ctx.ask("Your key?", sensitive=True)
        await ctx.ask("Go on?")
        return "good" if key == SECRET else "bad"

    return agent


async def asked(replicas: Replicas, folder: Path) -> tuple[Member, Member, Task]:
    """Return two replicas that have one key, and a task of the first that waits for a secret."""
    a, b = [
        await replicas.serve(keeper(), secrets_key=str(folder / "common.key")) for _ in range(2)
    ]
    task = await a.send(send())
    assert task.status.state is TaskState.INPUT_REQUIRED
    return a, b, task


async def test_a_secret_is_answered_at_another_replica(replicas: Replicas, tmp_path: Path) -> None:
    a, b, task = await asked(replicas, tmp_path)
    answer = send(SECRET, message_id="m-2", task_id=task.id)
    further = await replicas.wait_for(b.send(answer))
    assert told(further)[-2:] == [PLACEHOLDER, "Go on?"]
    assert told(await replicas.wait_for(a.send(answer))) == told(further)
    entries = await b.store.read_entries(task.id, until=99)
    assert SECRET.encode() not in b"".join(entries)
    (secret,) = [n for n in range(9) if await b.store.read_secret(task.id, n) is not None]
    ended = await replicas.wait_for(b.send(send("yes", message_id="m-3", task_id=task.id)))
    assert ended.status.state is TaskState.COMPLETED
    assert ended.artifacts[0].parts[0].text == "good"
    assert await b.store.read_secret(task.id, secret) is None


async def test_a_secret_outlives_the_replica_that_it_was_for(
    replicas: Replicas, tmp_path: Path
) -> None:
    a, b, task = await asked(replicas, tmp_path)
    a.stand_still()
    answer = send(SECRET, message_id="m-2", task_id=task.id, return_immediately=True)
    left = await b.send(answer)
    assert SECRET not in str(left)
    stored = await b.store.load(SCOPE, task.id)
    assert stored is not None
    assert all(SECRET.encode() not in item.body for item in stored.inbox)

    async def is_taken_up() -> bool:
        return told(await b.get(task.id))[-1] == "Go on?"

    await replicas.until(is_taken_up)
    ended = await replicas.wait_for(b.send(send("yes", message_id="m-3", task_id=task.id)))
    assert ended.artifacts[0].parts[0].text == "good"
