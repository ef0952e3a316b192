"""Agents that call agents: children that progress, ask, fail, and end with their parents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman import Agent, Context, Peer, Rejected, connect
from dragoman.agent.children import sub_task_of
from dragoman.client.agent import RemoteAgent
from dragoman.client.errors import TaskNotCompletedError, TimedOutError
from dragoman.model.tasks import TaskState
from tests.support.serving import serving


def flights(canceled: asyncio.Queue[str] | None = None) -> Agent:
    """Return an agent to be called; it tells which of its tasks were canceled."""
    agent = Agent("Flights", "Finds flights.")

    @agent.skill
    async def find(ctx: Context, text: str) -> dict[str, object]:
        """Find one."""
        await ctx.say("looking")
        return {"to": text, "price": 99, "for": list(ctx.message.reference_task_ids)}

    @agent.skill
    async def choose(ctx: Context, text: str) -> str:
        """Ask before it finds one."""
        seat = await ctx.ask("Window or aisle?")
        return f"{text}, {seat}"

    @agent.skill
    async def refuse(text: str) -> str:
        """Decline."""
        raise Rejected(f"no flights to {text}")

    @agent.skill
    async def forever(ctx: Context, text: str) -> str:
        """Never end."""
        await ctx.say(text)
        await asyncio.Event().wait()
        return ""

    @agent.on_cancel
    async def note(ctx: Context) -> None:
        if canceled is not None:
            await canceled.put(ctx.task_id)

    return agent


@asynccontextmanager
async def calling(travel: Agent) -> AsyncGenerator[RemoteAgent]:
    """Serve an agent that calls others, and connect to it."""
    async with serving(travel, shutdown_grace_seconds=0) as served, connect(served.url) as client:
        yield client


async def test_a_child_does_its_part_and_knows_its_parent() -> None:
    travel = Agent("Travel", "Plans.")
    async with serving(flights()) as others:

        @travel.skill
        async def plan(ctx: Context, text: str) -> dict[str, object]:
            found = await ctx.call(others.url, text, skill="find", into=dict[str, object])
            return {**found, "parent": ctx.task_id}

        async with calling(travel) as client:
            reply = await client.send("Rome")
            data = reply.as_type(dict[str, object])
            assert data["price"] == 99
            assert data["for"] == [data["parent"]]
            assert reply.task is not None
            told = [message for message in reply.task.history if message.metadata]
            child = sub_task_of(told[0].metadata)
            assert child is not None
            assert child.agent == child.url == others.url
            async with connect(others.url) as flights_agent:
                own = await flights_agent.task(child.task_id).get()
                assert own.state is TaskState.COMPLETED
                assert any("looking" in str(message.parts) for message in told)


async def test_an_agent_of_the_same_process_is_called_without_a_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")
    others = flights()
    travel = Agent("Travel", "Plans.")

    @travel.skill
    async def plan(ctx: Context, text: str) -> str:
        return str((await ctx.call(others, text, skill="find")).data)

    async with calling(travel) as client:
        assert "'price': 99" in (await client.send("Rome")).text


async def test_a_question_goes_up_and_its_answer_down() -> None:
    travel = Agent("Travel", "Plans.")
    async with serving(flights()) as others:

        @travel.skill
        async def plan(ctx: Context, text: str) -> str:
            return (await ctx.call(others.url, text, skill="choose")).text

        async with calling(travel) as client:
            asked = await client.send("Rome")
            assert asked.state is TaskState.INPUT_REQUIRED
            assert asked.text == "Window or aisle?"
            assert (await asked.answer("window")).text == "Rome, window"


async def test_a_question_that_is_not_passed_on_fails_the_call() -> None:
    travel = Agent("Travel", "Plans.")
    async with serving(flights()) as others:

        @travel.skill
        async def plan(ctx: Context, text: str) -> str:
            with pytest.raises(TaskNotCompletedError, match="input required"):
                await ctx.call(others.url, text, skill="choose", pass_questions=False)
            return "went on"

        async with calling(travel) as client:
            assert (await client.send("Rome")).text == "went on"


async def test_a_child_that_declines_is_no_end_of_its_parent() -> None:
    travel = Agent("Travel", "Plans.")
    async with serving(flights()) as others:

        @travel.skill
        async def plan(ctx: Context, text: str) -> str:
            try:
                await ctx.call(others.url, text, skill="refuse")
            except TaskNotCompletedError as problem:
                return problem.text
            return "?"

        async with calling(travel) as client:
            assert (await client.send("Rome")).text == "no flights to Rome"


async def test_a_child_is_canceled_with_its_parent() -> None:
    travel = Agent("Travel", "Plans.")
    canceled: asyncio.Queue[str] = asyncio.Queue()
    async with serving(flights(canceled)) as others:

        @travel.skill
        async def plan(ctx: Context, text: str) -> str:
            return (await ctx.call(others.url, text, skill="forever")).text

        async with calling(travel) as client:
            stream = client.stream("Rome")
            async for event in stream:
                if event.text == "Rome":
                    break
            await client.cancel(stream.task_id)
            assert await canceled.get()


@pytest.mark.parametrize("version", ["1.0", "0.3", "0.2", "0.1"])
async def test_a_cancel_at_the_top_stops_everything_below(version: str) -> None:
    canceled: asyncio.Queue[str] = asyncio.Queue()
    async with serving(flights(canceled)) as bottom:
        middle = passing_on(Peer(bottom.url, version=version), "forever")
        async with serving(middle) as between:
            top = passing_on(Peer(between.url, version=version))
            async with calling(top) as client:
                stream = client.stream("Rome")
                async for event in stream:
                    if event.text == "Rome":
                        break  # It has come up from the bottom.
                await client.cancel(stream.task_id)
                stopped = await canceled.get()
                async with connect(between.url) as agent:
                    states = [reply.state async for reply in agent.tasks()]
                assert states == [TaskState.CANCELED]
        async with connect(bottom.url) as agent:
            assert (await agent.task(stopped).get()).state is TaskState.CANCELED


def passing_on(peer: Peer, skill: str = "") -> Agent:
    """Return an agent that lets another do everything."""
    agent = Agent("Passing on", "Calls another.")

    @agent.skill
    async def pass_on(ctx: Context, text: str) -> str:
        """Call the other."""
        return (await ctx.call(peer, text, skill=skill)).text

    return agent


async def test_a_child_that_takes_too_long_is_canceled() -> None:
    travel = Agent("Travel", "Plans.")
    canceled: asyncio.Queue[str] = asyncio.Queue()
    async with serving(flights(canceled)) as others:

        @travel.skill
        async def plan(ctx: Context, text: str) -> str:
            try:
                await ctx.call(others.url, text, skill="forever", timeout=0.2)
            except TimedOutError as problem:
                return str(problem)
            return "?"

        async with calling(travel) as client:
            assert "was not done in the time" in (await client.send("Rome")).text
            assert await canceled.get()


async def test_children_work_side_by_side_and_ask_one_after_the_other() -> None:
    travel = Agent("Travel", "Plans.")
    async with serving(flights()) as others:

        @travel.skill
        async def plan(ctx: Context, text: str) -> str:
            there, back, found = await ctx.gather(
                ctx.call(others.url, f"{text} there", skill="choose"),
                ctx.call(others.url, f"{text} back", skill="choose"),
                ctx.call(others.url, text, skill="find"),
            )
            return f"{there.text}; {back.text}; {found.data is not None}"

        async with calling(travel) as client:
            first = await client.send("Rome")
            assert first.text == "Window or aisle?"
            second = await first.answer("window")
            assert second.state is TaskState.INPUT_REQUIRED
            answers = sorted((await second.answer("aisle")).text.split("; "))
            assert answers in (
                sorted(["Rome there, window", "Rome back, aisle", "True"]),
                sorted(["Rome there, aisle", "Rome back, window", "True"]),
            )


async def test_a_child_of_the_same_process_is_not_in_the_branch_that_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # The child keeps its tasks in a file there.
    child = Agent("Child", "Takes its time.")

    @child.skill
    async def nap(ctx: Context, text: str) -> str:
        """Sleep, which is refused in a branch."""
        await ctx.sleep(0.01)
        return text

    parent = Agent("Parent", "Has others work.")

    @parent.skill
    async def both(ctx: Context, text: str) -> str:
        naps = await ctx.gather(ctx.call(child, f"{text} 1"), ctx.call(child, f"{text} 2"))
        return ", ".join(nap.text for nap in naps)

    async with calling(parent) as client:
        assert (await client.send("nap")).text == "nap 1, nap 2"


async def test_agents_that_call_each_other_in_a_circle_come_to_an_end() -> None:
    ring = Agent("Ring", "Calls itself.")

    @ring.skill
    async def again(ctx: Context, text: str) -> str:
        return (await ctx.call(url, text)).text

    async with serving(ring) as served:
        url = served.url
        async with connect(url) as client:
            reply = await client.send("round")
            assert reply.state is TaskState.FAILED
