"""Tests of the tea house. Run them with ``python -m pytest``."""

from pathlib import Path

import pytest
from tea import agent

from dragoman import TaskState
from dragoman.testing import FakeClock, Pairing, SyncPairing, Wire

GOLDEN = Path(__file__).with_name("tea.json")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def test_coffee_is_refused(agent_pair_sync: SyncPairing) -> None:
    with agent_pair_sync(agent) as client:
        reply = client.send("coffee")
    assert reply.state is TaskState.REJECTED
    assert reply.text == "This is a tea house."


def test_sugar_is_asked_for_until_it_is_a_number(agent_pair_sync: SyncPairing) -> None:
    with agent_pair_sync(agent) as client:
        question = client.send("mint tea")
        assert question.text == "How many spoons of sugar?"
        assert question.answer("plenty").needs_input
        assert question.answer("2").text == "mint tea, 2 spoons"


@pytest.mark.anyio
async def test_tea_comes_in_sips(agent_pair: Pairing) -> None:
    async with agent_pair(agent) as client:
        question = await client.send("mint tea")
        events = [event async for event in question.stream_answer("2")]
    sips = [event.text for event in events if event.kind == "artifact"]
    assert sips == ["mint tea", ", 2 spoons"]
    assert events[-1].state is TaskState.COMPLETED


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
def test_callers_of_every_kind_are_served(
    agent_pair_sync: SyncPairing, version: str, binding: str
) -> None:
    with agent_pair_sync(agent, version=version, binding=binding) as client:
        assert client.send("mint tea").answer("1").text == "mint tea, 1 spoons"


def test_a_guest_may_take_a_week_to_answer(
    agent_pair_sync: SyncPairing, agent_clock: FakeClock
) -> None:
    with agent_pair_sync(agent) as client:
        question = client.send("mint tea")
        agent_clock.advance(7 * 24 * 3600)
        assert question.answer("0").state is TaskState.COMPLETED


def test_the_conversation_is_the_one_we_know(
    agent_pair_sync: SyncPairing, agent_wire: Wire
) -> None:
    with agent_pair_sync(agent) as client:
        agent_wire.exchanges.clear()  # The card was read, which is not what we look at.
        client.send("mint tea").answer("2")
    agent_wire.assert_sent(
        {"method": "SendStreamingMessage", "params": {"message": {"taskId": ...}}}
    )
    agent_wire.assert_golden(GOLDEN)
