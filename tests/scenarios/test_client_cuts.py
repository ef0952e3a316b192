"""Connections that are lost while a task is followed: every event comes once, and in order."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from itertools import count, pairwise

import pytest

from dragoman import Agent, Context, TaskState
from dragoman.client.errors import CutError, UnreachableError
from dragoman.client.retry import NEVER, RetryPolicy
from dragoman.model.operations import SubscribeToTaskRequest
from dragoman.service.service import Call
from tests.scenarios.clients import WAYS, Way
from tests.support.proxy import Proxy, proxied
from tests.support.serving import Served, serving

CUTS = 50 if os.environ.get("DRAGOMAN_SOAK") else 10
CHUNKS = 1000

_seeds = count(random.randrange(10**6))  # noqa: S311 - no secret

BYTES = {"1.0 over GRPC": 84_000, "0.3 over GRPC": 120_000}
"""How much the stream has in all; over HTTP 300,000."""

TASK_BYTES = 5_000
"""How large the task is in the end, with which each stream after a cut begins."""

CARD_BYTES = 8_000
"""What comes before the stream."""


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    async with serving(make_agent(), shutdown_grace_seconds=0, heartbeat_seconds=0.2) as served:
        yield served


CALLED = asyncio.Semaphore(0)
"""Released when ``once`` is called."""


def make_agent() -> Agent:
    agent = Agent("Counter", "Counts.")
    sends: dict[str, int] = {}

    @agent.skill
    async def number(text: str) -> AsyncIterator[str]:
        """Count as far as one says, not too fast."""
        for value in range(int(text)):
            if value % 10 == 0:
                await asyncio.sleep(0.002)
            yield f"{value} "

    @agent.skill
    async def talk(ctx: Context, text: str) -> str:
        """Say something, ask, say something more."""
        await ctx.say("one")
        await asyncio.sleep(0.05)
        city = await ctx.ask("Which?")
        await ctx.say("two")
        return f"{text} {city}"

    @agent.skill
    async def once(text: str) -> int:
        """Tell how often one was called with this text."""
        sends[text] = sends.get(text, 0) + 1
        CALLED.release()
        await asyncio.sleep(0.05)
        return sends[text]

    return agent


@pytest.fixture
async def chance(capsys: pytest.CaptureFixture[str]) -> random.Random:
    seed = next(_seeds)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    return random.Random(seed)  # noqa: S311 - no secret


def plan_of(way: Way, chance: random.Random, cuts: int = CUTS) -> list[int]:
    """Say after how many bytes each connection is cut: some of the stream remains for the last."""
    most = BYTES.get(str(way), 300_000) // (cuts + 2)
    plan = [chance.randint(most // 3, most) + TASK_BYTES * place // cuts for place in range(cuts)]
    plan[0] += CARD_BYTES
    return plan


@pytest.mark.parametrize("way", WAYS[:3], ids=str)
async def test_every_event_comes_once_and_in_order(
    way: Way, served: Served, chance: random.Random
) -> None:
    plan = plan_of(way, chance)
    # Some cuts come before the task itself is through, several in a row if chance will have it. Who
    # gives up after how many of those is another question.
    patient = RetryPolicy(attempts=CUTS + 2, first_seconds=0.02, most_seconds=0.1)
    async with (
        proxied(served.url, plan) as proxy,
        way.connect(proxy.url, retry=patient) as agent,
    ):
        stream = agent.stream(str(CHUNKS), skill="number")
        events = [event async for event in stream]
    chunks = [event.text for event in events if event.kind == "artifact"]
    assert chunks == [f"{value} " for value in range(CHUNKS)]
    numbers = [event.seq for event in events]
    assert all(after == before + 1 for before, after in pairwise(numbers))
    assert [event.kind for event in events].count("task") == 1
    assert stream.reply.text == "".join(chunks)
    assert proxy.cuts == CUTS


@pytest.mark.parametrize("way", WAYS[3:], ids=str)
async def test_nothing_is_lost_or_repeated_where_a_stream_cannot_be_resumed(
    way: Way, served: Served, chance: random.Random
) -> None:
    # What is told anew after a cut grows, so there are fewer cuts, and later ones let more through.
    plan = [size * (place + 1) // 2 for place, size in enumerate(plan_of(way, chance, 4))]
    async with proxied(served.url, plan) as proxy, way.connect(proxy.url) as agent:
        stream = agent.stream(str(CHUNKS), skill="number")
        events = [event async for event in stream]
    text = "".join(event.text for event in events if event.kind == "artifact")
    assert text == "".join(f"{value} " for value in range(CHUNKS))
    assert [event.kind for event in events].count("task") == 1
    assert events[-1].state is TaskState.COMPLETED
    assert stream.reply.text == text
    assert proxy.cuts >= 1


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_send_whose_answer_is_lost_is_not_done_twice(way: Way, served: Served) -> None:
    # 0.2 and 0.3 have the messageId, too; 0.1 has the name of the task.
    async with proxied(served.url) as proxy, way.connect(proxy.url) as agent:
        sending = asyncio.ensure_future(agent.send(f"t {way}", skill="once"))
        await CALLED.acquire()
        proxy.cut_all()
        assert (await sending).as_type(int) == 1


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_what_is_said_while_nobody_listens_is_told_later(way: Way, served: Served) -> None:
    async with proxied(served.url) as proxy, way.connect(proxy.url) as agent:
        said: list[str] = []
        async for event in agent.stream("trip", skill="talk"):
            if event.state is TaskState.WORKING and not proxy.cuts:
                proxy.cut_all()
            if event.kind == "status" and event.text:
                said.append(event.text)
    assert said[-1] == "Which?"
    # 0.1 shows what was said before only to those who ask for the history.
    assert said == ["one", "Which?"] or way.version == "0.1"


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_stream_that_is_resumed_ends_where_the_agent_asks(way: Way, served: Served) -> None:
    async with proxied(served.url) as proxy, way.connect(proxy.url) as agent:
        async with agent.stream("trip", skill="talk") as stream:
            async for _ in stream:
                if not proxy.cuts:
                    proxy.cut_all()
        asked = stream.reply
        assert (asked.state, asked.text) == (TaskState.INPUT_REQUIRED, "Which?")
        assert (await asked.answer("Rome")).text == "trip Rome"


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_an_agent_that_is_away_is_waited_for(way: Way, served: Served) -> None:
    async with proxied(served.url) as proxy, way.connect(proxy.url) as agent:
        proxy.is_refusing = True
        sending = asyncio.ensure_future(agent.send("5", skill="number"))
        await asyncio.sleep(0.1)
        proxy.is_refusing = False
        assert (await sending).text == "0 1 2 3 4 "


def go_away(proxy: Proxy) -> None:
    proxy.is_refusing = True
    proxy.cut_all()


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_an_agent_that_does_not_come_back_is_given_up(way: Way, served: Served) -> None:
    quick = RetryPolicy(attempts=3, first_seconds=0.001)
    async with proxied(served.url) as proxy, way.connect(proxy.url, retry=quick) as agent:
        stream = agent.stream("1000", skill="number", on_event=lambda _: go_away(proxy))
        with pytest.raises((CutError, UnreachableError)) as caught:
            await stream.wait()
    if isinstance(caught.value, CutError):
        assert caught.value.task_id == stream.task_id


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_who_wants_no_second_try_gets_none(way: Way, served: Served) -> None:
    async with proxied(served.url) as proxy, way.connect(proxy.url, retry=NEVER) as agent:
        go_away(proxy)
        before = proxy.connections
        with pytest.raises((CutError, UnreachableError)):
            await agent.task("t").get()
        assert proxy.connections - before <= 2


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
async def test_connections_are_used_again(way: Way, served: Served) -> None:
    async with proxied(served.url) as proxy, way.connect(proxy.url) as agent:
        for _ in range(5):
            await agent.send("3", skill="number")
        assert proxy.connections == 1


@pytest.mark.parametrize("way", WAYS[:2], ids=str)
async def test_silence_is_no_cut_while_the_agent_gives_a_sign_of_life(
    way: Way, served: Served
) -> None:
    async with way.connect(served.url) as agent:
        asked = await agent.send("trip", skill="talk")
        beats = 0
        stream = await agent.service.subscribe_to_task(
            SubscribeToTaskRequest(id=asked.task_id), Call()
        )
        async for batch in stream:
            beats += not batch
            if beats == 2:
                break
        await stream.aclose()
    assert beats == 2
