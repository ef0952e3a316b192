from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dragoman import Agent
from dragoman.errors import UsageError

pytestmark = pytest.mark.timeout(60)

KITCHEN = (sys.executable, str(Path(__file__).parents[3] / "adapters" / "kitchen.py"))


def test_each_tool_is_a_skill() -> None:
    agent = Agent.from_mcp(KITCHEN)
    assert (agent.name, agent.description) == ("Kitchen", "Cooks.")
    assert [skill.id for skill in agent.skills] == ["cook", "burn", "reserve", "explode", "simmer"]
    assert agent.schemas["cook"]["required"] == ["dish"]


def test_the_author_may_choose_tools_and_words() -> None:
    agent = Agent.from_mcp(KITCHEN, name="Cook", description="Ours.", tools=["cook"], version="2")
    assert (agent.name, agent.description, agent.version) == ("Cook", "Ours.", "2")
    assert [skill.id for skill in agent.skills] == ["cook"]


def test_a_call_that_was_cut_off_is_made_again_only_if_the_tool_says_that_it_may_be() -> None:
    assert not Agent.from_mcp(KITCHEN, tools=["cook"]).worker.resumes("cook")
    time = (sys.executable, "-m", "mcp_server_time")
    assert Agent.from_mcp(time).worker.resumes("convert_time")


async def test_an_agent_may_be_made_while_a_loop_runs() -> None:
    assert Agent.from_mcp(KITCHEN, tools=["cook"]).skills


def test_a_tool_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no tool 'bake'; it has cook, burn"):
        Agent.from_mcp(KITCHEN, tools=["bake"])


@pytest.mark.parametrize("server", [["no-such-command"], "http://127.0.0.1:9/mcp"])
def test_a_server_that_cannot_be_had_is_told(server: str | list[str]) -> None:
    with pytest.raises(UsageError, match="cannot be asked for its tools"):
        Agent.from_mcp(server)
