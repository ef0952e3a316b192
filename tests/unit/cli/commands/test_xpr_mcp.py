"""``dragoman xpr mcp`` as MCP clients start it, with a chain over HTTP and a real agent."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from dragoman import Agent, Context
from dragoman.extensions.xpr import Chain, XprAuth, XprPresence
from tests.cli.calling import Cli
from tests.scenarios.xpr import ALICE, populate
from tests.support.chain_double import serving_chain
from tests.support.serving import serving

pytestmark = pytest.mark.timeout(90)


@pytest.fixture
async def node() -> AsyncIterator[str]:
    with serving_chain() as node:
        populate(node)
        chain = Chain(node.url)
        agent = Agent(
            "Pilot", "Pilots.", auth=[XprAuth(chain)], presence=XprPresence(chain, "pilot")
        )

        @agent.skill
        async def pilot(text: str, ctx: Context) -> str:
            """Pilot a ship."""
            return f"{ctx.user}: {text}"

        async with serving(agent) as place:
            node.put("agentcore", "agents", account="pilot", active=1, endpoint=place.url)
            yield node.url


def started(node: str, *arguments: str) -> StdioServerParameters:
    """The server of alice."""
    here = ("--allow", "127.0.0.1:*", "--allow-http")
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "dragoman", "xpr", "mcp", *here, *arguments],
        env={
            **os.environ,
            "XPR_RPC_ENDPOINT": node,
            "XPR_ACCOUNT": "alice",
            "XPR_PRIVATE_KEY": ALICE.wif,
        },
    )


async def test_a_model_calls_an_agent_by_its_account(node: str) -> None:
    async with Client(started(node)) as client:
        assert len((await client.list_tools()).tools) == 5
        card = await client.call_tool("xpr_a2a_discover", {"account": "pilot"})
        assert card.structured_content["xpr:account"] == "pilot"
        said = {"account": "pilot", "text": "ahoy"}
        sent = await client.call_tool("xpr_a2a_send_message", said)
        task = sent.structured_content
    assert task["artifacts"][0]["parts"][0]["text"] == "xpr:alice: ahoy"


async def test_read_only_leaves_the_tools_that_look(node: str) -> None:
    async with Client(started(node, "--read-only")) as client:
        listed = [tool.name for tool in (await client.list_tools()).tools]
    assert listed == ["xpr_a2a_discover", "xpr_a2a_get_task"]


def test_without_a_node_nothing_is_served(tmp_path: Path) -> None:
    refused = Cli(tmp_path)("xpr", "mcp")
    assert refused.code == 2
    assert "no node of the chain is named" in refused.err
