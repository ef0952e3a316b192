"""MCP servers serve as A2A agents: one from PyPI, and one that has every habit."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from dragoman import Agent, InvalidParamsError, connect
from dragoman.model.tasks import TaskState
from dragoman.testing import pair, served
from tests.adapters.watching import until

pytestmark = pytest.mark.timeout(60)

TIME: Final = (sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC")
KITCHEN: Final = (sys.executable, str(Path(__file__).with_name("kitchen.py")))


@pytest.mark.parametrize("binding", ["JSONRPC", "GRPC"])
async def test_mcp_server_time_serves_as_an_agent(binding: str) -> None:
    agent = Agent.from_mcp(TIME)
    assert agent.name == "mcp-time"
    async with served(agent) as place, connect(place.url, binding=binding) as client:
        assert [skill.id for skill in client.card.skills] == ["get_current_time", "convert_time"]
        wanted = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        reply = await client.send(wanted, skill="convert_time")
        assert reply.state is TaskState.COMPLETED
        assert reply.as_type(dict[str, object])["time_difference"] == "+9.0h"
        said = await client.send("Asia/Tokyo", skill="get_current_time")
        assert said.as_type(dict[str, object])["timezone"] == "Asia/Tokyo"


async def test_arguments_are_checked_by_the_schema_of_the_tool() -> None:
    agent = Agent.from_mcp(TIME, tools=["convert_time"])
    assert agent.schemas["convert_time"]["required"] == [
        "source_timezone",
        "time",
        "target_timezone",
    ]
    async with pair(agent) as client:
        with pytest.raises(InvalidParamsError) as refused:
            await client.send({"source_timezone": 7, "time": "12:00"})
    assert [(each.field, each.description) for each in refused.value.violations] == [
        ("message.parts[0].data.source_timezone", "is invalid: 7 is not of type 'string'"),
        ("message.parts[0].data.target_timezone", "is required"),
    ]


async def test_what_the_tool_calls_an_error_fails_the_task_with_its_words() -> None:
    async with pair(Agent.from_mcp(TIME)) as client:
        reply = await client.send("Nowhere/At-all", skill="get_current_time")
    assert reply.state is TaskState.FAILED
    assert "Invalid timezone" in reply.text


async def test_progress_is_status() -> None:
    async with pair(Agent.from_mcp(KITCHEN)) as client:
        lines = [str(event) async for event in client.stream("soup", skill="cook")]
    assert lines[2:] == ["[working] chopping", "soup is ready", "[completed]"]


async def test_what_a_tool_asks_is_put_to_the_caller_until_it_is_answered() -> None:
    async with pair(Agent.from_mcp(KITCHEN)) as client:
        asked = await client.send("Monday", skill="reserve")
        assert asked.text == "How many on Monday?"
        again = await asked.answer("many")
        assert "is not of type 'integer'" in again.text
        done = await again.answer("4")
    assert done.text == "4 on Monday"


async def test_a_server_that_dies_fails_the_task_and_is_started_again_for_the_next() -> None:
    async with pair(Agent.from_mcp(KITCHEN)) as client:
        lost = await client.send("now", skill="explode")
        assert lost.state is TaskState.FAILED
        assert "died while it did explode" in lost.text
        next_one = await client.send("soup", skill="cook")
    assert next_one.text == "soup is ready"


async def test_cancel_cancels_the_call(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with pair(Agent.from_mcp(KITCHEN)) as client:
        begun = await client.start(str(notes), skill="simmer")
        await until(lambda: notes.exists() and notes.read_text() == "begun")
        assert (await client.cancel(begun.task_id)).state is TaskState.CANCELED
        await until(lambda: notes.read_text() == "canceled")
