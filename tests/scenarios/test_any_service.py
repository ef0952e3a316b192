"""Whatever implements A2AService is served, over every version and binding."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from dragoman import Agent, TaskState
from dragoman.client.retry import RetryPolicy
from dragoman.errors import TaskNotFoundError, UnavailableError
from dragoman.server.assembly import build_service_app
from dragoman.testing import Served, served
from dragoman.testing.serving import served_app
from tests.scenarios.agents import make_agent
from tests.scenarios.clients import WAYS, Way
from tests.support.services import CannedService, forwarding

WORDS = "as ever"


def described() -> Agent:
    agent = Agent("Canned", "Says the same whatever you say.")

    @agent.skill
    async def answer(text: str) -> str:
        raise AssertionError(f"the service answers, not the agent: {text}")

    return agent


@pytest.fixture
async def canned() -> AsyncIterator[Served]:
    service = CannedService(WORDS)
    async with served_app(build_service_app(service, described(), {}, origins=service)) as place:
        yield place


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_canned_service_answers_every_version_and_binding(canned: Served, way: Way) -> None:
    async with way.connect(canned.url) as agent:
        reply = await agent.send("hello")
        assert (reply.text, reply.state) == (WORDS, TaskState.COMPLETED)
        assert (await agent.task(reply.task_id).get()).text == WORDS
        streamed = [event async for event in agent.stream("hello")]
        assert streamed
        with pytest.raises(TaskNotFoundError):
            await agent.task("no-such-task").get()


async def test_a_served_service_is_ready_and_has_no_metrics(canned: Served) -> None:
    assert canned.app.runtime.is_ready
    assert canned.app.card.name == "Canned"


@pytest.mark.parametrize("outer", WAYS, ids=str)
@pytest.mark.parametrize("inner", [WAYS[0], WAYS[-1]], ids=str)
async def test_a_service_that_forwards_translates_between_versions(inner: Way, outer: Way) -> None:
    async with (
        served(make_agent()) as behind,
        inner.connect(behind.url) as remote,
        served_app(build_service_app(forwarding(remote), described(), {})) as place,
        outer.connect(place.url) as agent,
    ):
        reply = await agent.send("through two servers")
        assert (reply.text, reply.state) == ("through two servers", TaskState.COMPLETED)
        # 0.1 calls a task by a name of its own, which this service does not keep.
        if outer.version != "0.1":
            assert (await agent.task(reply.task_id).get()).state == TaskState.COMPLETED


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_a_remote_agent_that_is_gone_makes_the_served_one_unavailable(way: Way) -> None:
    once = RetryPolicy(attempts=1)
    async with AsyncExitStack() as stack:
        behind = await stack.enter_async_context(served(make_agent()))
        async with (
            WAYS[0].connect(behind.url, retry=once) as remote,
            served_app(build_service_app(forwarding(remote), described(), {})) as place,
            way.connect(place.url, retry=once) as agent,
        ):
            await stack.aclose()
            with pytest.raises(UnavailableError, match="The agent behind this one does not answer"):
                await agent.send("hello")
