"""The five tools through the official MCP client, against a real agent."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import CallToolResult, TextContent

from dragoman import Agent, Context
from dragoman.adapters.mcp.xpr import xpr_server
from dragoman.adapters.xpr_tool_table import TOOLS
from dragoman.adapters.xpr_tools import XprTools
from dragoman.egress import EgressPolicy
from dragoman.extensions.xpr import XprAuth, XprPresence, XprSigner
from dragoman.extensions.xpr.chain.rows import AgentRow, JobRow
from dragoman.extensions.xpr.settings import ToolMode
from dragoman.testing.chain import FakeChain
from tests.scenarios.xpr import ALICE
from tests.support.serving import serving

HERE = EgressPolicy.of("127.0.0.1:*", allow_http=True)


@asynccontextmanager
async def model(mode: str = "auto", tool_mode: ToolMode = "full") -> AsyncGenerator[Client]:
    """A model that has the tools of alice, where pilot is an agent."""
    chain = FakeChain({"alice": ALICE.public.text})
    chain.post(JobRow(id=42, title="Survey", amount=10_000))
    auth = XprAuth(chain, target="pilot", target_binding="required")
    agent = Agent("Pilot", "Pilots.", auth=[auth], presence=XprPresence(chain, "pilot"))

    @agent.skill
    async def pilot(text: str, ctx: Context) -> str:
        """Pilot a ship."""
        if text == "ask":
            return await ctx.ask("where to?")
        return f"{ctx.user}, job {ctx.metadata.get('xpr:jobId')}: {text}"

    async with serving(agent) as place:
        row = AgentRow(account="pilot", owner="alice", endpoint=place.url, active=True)
        chain.register(row, kyc=2, score=61)
        tools = XprTools(chain, XprSigner("alice", ALICE), policy=HERE, tool_mode=tool_mode)
        async with Client(xpr_server(tools), mode=mode) as client:
            yield client


def structured(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result
    assert result.structured_content is not None
    return cast("dict[str, Any]", result.structured_content)


def refusal(result: CallToolResult) -> str:
    assert result.is_error
    (said,) = result.content
    assert isinstance(said, TextContent)
    return said.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_tools_are_those_of_the_network(mode: str) -> None:
    async with model(mode) as client:
        listed = (await client.list_tools()).tools
    assert [tool.name for tool in listed] == [*TOOLS]
    for tool in listed:
        assert tool.input_schema == TOOLS[tool.name].schema
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (TOOLS[tool.name].kind == "read")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_model_finds_an_agent_talks_to_it_and_cancels(mode: str) -> None:
    async with model(mode) as client:
        card = structured(await client.call_tool("xpr_a2a_discover", {"account": "pilot"}))
        assert (card["name"], card["xpr:account"]) == ("Pilot", "pilot")
        said = {"account": "pilot", "text": "ahoy", "job_id": 7, "context_id": "c-1"}
        task = structured(await client.call_tool("xpr_a2a_send_message", said))
        assert task["artifacts"][0]["parts"][0]["text"] == "xpr:alice, job 7: ahoy"
        asked = {"account": "pilot", "text": "ask"}
        waiting = structured(await client.call_tool("xpr_a2a_send_message", asked))
        assert waiting["status"]["state"] == "input-required"
        named = {"account": "pilot", "task_id": waiting["id"]}
        looked = structured(await client.call_tool("xpr_a2a_get_task", named))
        assert looked["status"] == waiting["status"]
        ended = structured(await client.call_tool("xpr_a2a_cancel_task", named))
        assert ended["status"]["state"] == "canceled"


async def test_a_job_is_delegated_once_that_is_confirmed() -> None:
    wanted = {"account": "pilot", "job_id": 42, "instructions": "Count boats."}
    async with model() as client:
        asked = structured(await client.call_tool("xpr_a2a_delegate_job", wanted))
        assert asked["needs_confirmation"] is True
        done = await client.call_tool("xpr_a2a_delegate_job", {**wanted, "confirmed": True})
        text = structured(done)["artifacts"][0]["parts"][0]["text"]
    assert text.startswith("xpr:alice, job 42: ## Delegated job: Survey")


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("xpr_a2a_discover", {"account": "ghost"}, "Agent 'ghost' not found on-chain"),
        ("xpr_a2a_discover", {"account": "Pilot!"}, "account"),
        ("xpr_a2a_send_message", {"account": "pilot"}, "text is required"),
        ("xpr_a2a_send_message", {"account": "pilot", "text": "a", "to": "b"}, "no argument 'to'"),
        ("xpr_a2a_get_task", {"account": "pilot", "task_id": "none"}, "Task not found"),
        (
            "xpr_a2a_delegate_job",
            {"account": "pilot", "job_id": 9, "instructions": "x", "confirmed": True},
            "Job #9 not found",
        ),
    ],
)
async def test_what_goes_wrong_is_told_the_model(
    name: str, arguments: dict[str, Any], words: str
) -> None:
    async with model() as client:
        assert words in refusal(await client.call_tool(name, arguments))


async def test_a_read_only_model_cannot_do_more_than_look() -> None:
    async with model(tool_mode="readonly") as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
        assert listed == ["xpr_a2a_discover", "xpr_a2a_get_task"]
        with pytest.raises(MCPError, match="Unknown tool: xpr_a2a_send_message"):
            await client.call_tool("xpr_a2a_send_message", {"account": "pilot", "text": "ahoy"})
