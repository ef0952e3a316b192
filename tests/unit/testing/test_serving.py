import asyncio
import subprocess
import sys

import httpx2
import pytest

from dragoman import TaskState, connect
from dragoman.testing.clock import FakeClock
from dragoman.testing.serving import served, served_sync
from tests.support.testing.house import Gate, tea_house


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
async def test_an_agent_is_served_over_every_binding(binding: str) -> None:
    async with served(tea_house()) as place, connect(place.url, binding=binding) as agent:
        assert (await agent.send("mint")).text == "mint"
        assert agent.interface is not None
        assert agent.interface.protocol_binding == binding


async def test_each_has_a_port_of_its_own() -> None:
    async with served(tea_house()) as one, served(tea_house()) as two:
        assert one.url != two.url


async def test_settings_and_clock_are_those_of_the_server() -> None:
    clock = FakeClock(0)
    async with (
        served(tea_house(), clock=clock, public_url="http://127.0.0.1:1") as place,
        connect(place.url) as agent,
    ):
        assert agent.card.supported_interfaces[0].url == "http://127.0.0.1:1/"
    assert place.app.runtime.clock is clock


async def test_an_agent_that_does_not_start_tells_why() -> None:
    agent = tea_house()

    @agent.on_startup
    async def fail() -> None:
        raise LookupError("no water")

    with pytest.raises(LookupError, match="no water"):
        async with served(agent):
            pass
    assert fail


async def test_stopping_does_not_wait_for_work_or_for_streams() -> None:
    gate = Gate()
    async with served(tea_house(gate)) as place, connect(place.url) as agent:
        stream = agent.stream("mint", metadata={"skillId": "slow"})
        await anext(aiter(stream))
        await gate.reached.wait()
        await stream.aclose()
    assert gate.is_left


async def test_nothing_is_left_running() -> None:
    before = asyncio.all_tasks()
    async with served(tea_house()) as place, connect(place.url) as agent:
        await agent.send("mint")
    assert asyncio.all_tasks() == before


def test_a_test_that_blocks_is_answered() -> None:
    with served_sync(tea_house()) as place:
        assert httpx2.get(f"{place.url}/healthz").json() == {"status": "ok"}


def test_another_program_is_answered() -> None:
    command = [sys.executable, "-m", "dragoman", "send", "mint", "-o", "json"]
    with served_sync(tea_house()) as place:
        done = subprocess.run([*command, "-a", place.url], capture_output=True, check=False)
    assert TaskState.COMPLETED.value.encode() in done.stdout, done.stderr
