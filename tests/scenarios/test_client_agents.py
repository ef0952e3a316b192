"""Our own client and agents of several kinds: that do not stream, with tenants, that restart."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman import Agent, AgentExtension, Context, RetryPolicy, TaskState, connect_sync
from dragoman.client.agent import RemoteAgent
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.errors import NoInterfaceError
from dragoman.errors import ExtendedAgentCardNotConfiguredError, ExtensionSupportRequiredError
from dragoman.model.cards import AgentCapabilities, AgentCard
from tests.scenarios.clients import WAYS, Way
from tests.support.serving import AgentProcess, Served, serving


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param


def add_skills(agent: Agent) -> Agent:
    @agent.skill
    async def talk(ctx: Context, text: str) -> str:
        """Say something, wait a little, ask."""
        await ctx.say("one")
        await asyncio.sleep(0.05)
        return f"{text} to {await ctx.ask('Which city?')}"

    @agent.skill
    async def whose(ctx: Context) -> str:
        """Tell the tenant."""
        return ctx.tenant or "nobody's"

    return agent


# --- without streams ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def quiet() -> AsyncIterator[Served]:
    agent = add_skills(Agent("Quiet", "Does not stream.", streaming=False))
    async with serving(agent, shutdown_grace_seconds=0) as served:
        yield served


async def test_an_agent_that_does_not_stream_is_followed_all_the_same(
    way: Way, quiet: Served
) -> None:
    async with way.connect(quiet.url, poll_seconds=0.01) as agent:
        stream = agent.stream("trip", skill="talk")
        states = [event.state async for event in stream]
        assert states[-1] is TaskState.INPUT_REQUIRED
        asked = stream.reply
        assert asked.text == "Which city?"
        done = await asked.answer("Rome")
        assert (done.state, done.text) == (TaskState.COMPLETED, "trip to Rome")
        assert (await agent.task(done.task_id).wait()).text == "trip to Rome"


# --- tenants, extensions, extended cards --------------------------------------------------------


@pytest.fixture(scope="module")
async def shared() -> AsyncIterator[Served]:
    agent = Agent(
        "Shared",
        "Has tenants.",
        tenants=["acme"],
        extensions=[AgentExtension(uri="urn:must", required=True)],
        extended_card=True,
    )
    async with serving(add_skills(agent), shutdown_grace_seconds=0) as served:
        yield served


@pytest.mark.requirement("R-4.4.6-3", "R-8.3.2-5")
@pytest.mark.parametrize("way", WAYS[:3], ids=str)
@pytest.mark.parametrize(("tenant", "whose"), [("acme", "acme"), ("", "nobody's")])
async def test_the_tenant_of_the_interface_goes_along(
    way: Way, shared: Served, tenant: str, whose: str
) -> None:
    async with way.connect(shared.url, tenant=tenant, extensions=["urn:must"]) as agent:
        assert (await agent.send("hi", skill="whose")).text == whose


async def test_a_tenant_that_is_not_served_is_told_before_anything_is_sent(
    shared: Served,
) -> None:
    with pytest.raises(NoInterfaceError, match="for the tenant 'other'"):
        async with WAYS[0].connect(shared.url, tenant="other"):
            pass


async def test_an_extension_that_is_required_must_be_known(way: Way, shared: Served) -> None:
    async with way.connect(shared.url, extensions=["urn:must"]) as agent:
        assert (await agent.send("hi", skill="whose")).text == "nobody's"
    async with way.connect(shared.url) as agent:
        with pytest.raises(ExtensionSupportRequiredError, match="urn:must"):
            await agent.send("hi", skill="whose")


@pytest.mark.parametrize("way", WAYS[:6], ids=str)
async def test_the_extended_card_is_asked_for(way: Way, shared: Served) -> None:
    async with way.connect(shared.url, extensions=["urn:must"]) as agent:
        with pytest.raises(ExtendedAgentCardNotConfiguredError):
            await agent.extended_card()


# --- in other places ----------------------------------------------------------------------------


def test_the_blocking_twin_talks_to_a_server(tmp_path: Path) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(PROGRAM)
    with (
        AgentProcess(agent, "--store", "memory:") as process,
        connect_sync(process.url, cards=CardCache()) as talker,
    ):
        assert talker.send("hi").text == "hi"
        words = [event.text for event in talker.stream("a b", skill="words") if event.text]
        assert "".join(words) == "a b "


WAITING = RetryPolicy(attempts=200, first_seconds=0.05, most_seconds=0.1)

PROGRAM = """
import asyncio
from collections.abc import AsyncIterator

from dragoman import Agent

agent = Agent("Echo", "Echoes.")


@agent.skill
async def echo(text: str) -> str:
    return text


@agent.skill
async def words(text: str) -> AsyncIterator[str]:
    for word in text.split():
        yield f"{word} "


@agent.skill
async def slow(text: str) -> AsyncIterator[str]:
    for number in range(300):
        await asyncio.sleep(0.01)
        yield f"{number} "


agent.skill(id="brittle", on_crash="fail")(slow)
"""


@pytest.mark.crash
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("skill", "state"), [("slow", TaskState.COMPLETED), ("brittle", TaskState.FAILED)]
)
async def test_a_stream_goes_on_after_the_agent_was_killed_and_started_again(
    tmp_path: Path, skill: str, state: TaskState
) -> None:
    program = tmp_path / "agent.py"
    await asyncio.to_thread(program.write_text, PROGRAM)
    process = AgentProcess(program, "--store", f"sqlite:///{tmp_path}/agent.db")
    await asyncio.to_thread(process.start)
    try:
        async with WAYS[0].connect(process.url, retry=WAITING) as agent:
            texts: list[str] = []
            numbers: list[int] = []
            async for event in (stream := agent.stream("x", skill=skill)):
                numbers.append(event.seq)
                if event.kind == "artifact":
                    texts.append(event.text)
                if len(texts) == 20:
                    await asyncio.to_thread(process.kill)
                    await asyncio.to_thread(process.start)
    finally:
        await asyncio.to_thread(process.kill)
    # What was acknowledged is there; what was under way is continued, or has ended honestly.
    assert texts[:20] == [f"{number} " for number in range(20)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert stream.reply.state is state
    if state is TaskState.COMPLETED:
        # The artifact was begun anew, so that every chunk is in it once.
        assert stream.reply.text == "".join(f"{number} " for number in range(300))


async def test_whatever_takes_a_service_takes_a_remote_agent(quiet: Served) -> None:
    """The face of the client works on any service: here on that of a server in this process."""
    service = await quiet.app.runtime.service()
    ids = iter(f"m-{number}" for number in range(9))
    card = AgentCard(
        name="Here",
        description="",
        supported_interfaces=(),
        version="1",
        capabilities=AgentCapabilities(),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )
    agent = RemoteAgent(service, card, lambda: next(ids))
    asked = await agent.send("trip", skill="talk")
    assert (await asked.answer("Rome")).text == "trip to Rome"
