"""An agent that is killed while others work for it goes on with the same children."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest

from dragoman import Agent, Context, connect
from dragoman.client.agent import RemoteAgent
from dragoman.client.errors import ClientError
from dragoman.client.results.reply import AgentReply
from dragoman.errors import UnavailableError
from dragoman.model.tasks import TaskState
from dragoman.testing import served
from tests.durability.checking import check_store
from tests.support.serving import AgentProcess

AGENT: Final = Path(__file__).with_name("trapped_travel.py")

IS_SOAK: Final = bool(os.environ.get("DRAGOMAN_SOAK"))
BOUNDARIES: Final = [
    f"{moment}:{number}" for number in range(1, 9) for moment in ("before", "after")
][:: 1 if IS_SOAK else 4]


def flights() -> Agent:
    """Return the agent that is called."""
    agent = Agent("Flights", "Finds flights.")

    @agent.skill
    async def find(ctx: Context, text: str) -> str:
        """Ask something that tells which it is, and find one."""
        return f"{text}: {await ctx.ask(f'Seat for {text}?')}"

    return agent


async def plan(client: RemoteAgent, message_id: str) -> str:
    """Have a flight planned, answering what is asked, however often the server dies."""
    reply: AgentReply | None = None
    while reply is None or reply.state is not TaskState.COMPLETED:
        with suppress(ClientError, UnavailableError):
            if reply is None:
                reply = await client.start("Rome", message_id=message_id)
            reply = await client.task(reply.task_id).wait()
            if reply.needs_input:
                reply = await answered(client, reply, f"{message_id}-{reply.text}")
        assert reply is None or reply.state is not TaskState.FAILED, reply
    return reply.text


async def answered(client: RemoteAgent, asked: AgentReply, message_id: str) -> AgentReply:
    """Answer, until it is known that the answer has come."""
    while True:
        with suppress(ClientError, UnavailableError):
            return await asked.answer(asked.text, message_id=message_id)
        await asyncio.sleep(0.05)


@pytest.mark.timeout(90)
@pytest.mark.parametrize("trap", BOUNDARIES)
async def test_children_survive_a_kill_of_their_parent_at_every_commit(
    trap: str, tmp_path: Path
) -> None:
    database = tmp_path / "travel.db"
    async with served(flights(), store="memory:") as called:
        process = AgentProcess(AGENT, "--store", f"sqlite:///{database}")
        await asyncio.to_thread(process.start, FLIGHTS_URL=called.url, TRAP=trap)
        kills = 0

        async def keep_up() -> None:
            nonlocal kills
            while True:
                await asyncio.to_thread(process.wait)
                kills += 1
                process.kill()
                await asyncio.to_thread(process.start, FLIGHTS_URL=called.url)

        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(keep_up())
                async with connect(process.url) as client:
                    text = await plan(client, "m-1")
                keeping.cancel()
            check_store(database)
        finally:
            process.kill()
        assert sorted(text.split(" | ")) == [
            "Rome back: Seat for Rome back?",
            "Rome there: Seat for Rome there?",
        ]
        async with connect(called.url) as agent:
            children = [reply async for reply in agent.tasks()]
        assert [child.state for child in children] == [TaskState.COMPLETED] * 2
        assert kills == 1, "the trap was never reached; there are fewer commits"
