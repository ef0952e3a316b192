"""The five commands to agents of the XPR network, against a real agent and a chain over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman import Agent, Context
from dragoman.extensions.xpr import Chain, XprAuth, XprPresence
from tests.cli.calling import Cli, Result
from tests.scenarios.xpr import ALICE, populate
from tests.support.chain_double import ANYONE, serving_chain
from tests.support.serving import serving

HERE = ("--allow", "127.0.0.1:*", "--allow-http")


class Program:
    """The command line of alice, where an agent called pilot is on the chain."""

    def __init__(self, folder: Path, node: str) -> None:
        self._cli = Cli(folder)
        self.variables = {
            "XPR_RPC_ENDPOINT": node,
            "XPR_ACCOUNT": "alice",
            "XPR_PRIVATE_KEY": ALICE.wif,
        }

    async def __call__(self, *arguments: str) -> Result:
        """Run a command; it has a loop of its own."""
        return await asyncio.to_thread(self._cli, "xpr", *arguments, **self.variables)


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    with serving_chain() as node:
        populate(node)
        chain = Chain(node.url)
        agent = Agent(
            "Pilot",
            "Pilots ships.",
            auth=[XprAuth(chain, trust=ANYONE)],
            presence=XprPresence(chain, "pilot"),
        )

        @agent.skill
        async def pilot(text: str, ctx: Context) -> str:
            """Pilot a ship."""
            if text == "ask":
                return await ctx.ask("where to?")
            return f"{ctx.user}, job {ctx.metadata.get('xpr:jobId')}: {text}"

        async with serving(agent) as place:
            node.put("agentcore", "agents", account="pilot", active=1, endpoint=place.url)
            node.put("agentescrow", "jobs", id=42, title="Survey", amount=10_000)
            yield Program(tmp_path, node.url)


async def test_an_agent_is_found_and_its_card_shown(program: Program) -> None:
    shown = await program("discover", "pilot", *HERE)
    assert (shown.code, shown.field("xpr:account"), shown.field("name")) == (0, "pilot", "Pilot")
    assert (await program("discover", "pilot", *HERE, "-o", "json")).json["xpr:account"] == "pilot"


async def test_a_message_is_sent_and_its_task_shown_and_canceled(program: Program) -> None:
    sent = await program("send", "pilot", "ahoy", "--job", "7", *HERE, "-o", "json")
    assert sent.json["status"]["state"] == "completed"
    assert sent.json["artifacts"][0]["parts"][0]["text"] == "xpr:alice, job 7: ahoy"
    asked = await program("send", "pilot", "ask", *HERE, "-o", "json")
    got = await program("get-task", "pilot", asked.json["id"], *HERE, "-o", "json")
    assert got.json["status"]["state"] == "input-required"
    told = await program("send", "pilot", "home", "--task", asked.json["id"], *HERE, "-o", "json")
    assert told.json["status"]["state"] == "completed"
    waiting = await program("send", "pilot", "ask", "--context", "c-1", *HERE, "-o", "json")
    assert waiting.json["contextId"] == "c-1"
    ended = await program("cancel", "pilot", waiting.json["id"], *HERE, "-o", "json")
    assert ended.json["status"]["state"] == "canceled"


async def test_a_job_is_delegated_when_that_is_confirmed(program: Program) -> None:
    asked = await program("delegate", "pilot", "42", "Count boats.", *HERE, "-o", "json")
    assert (asked.code, asked.json["needs_confirmation"]) == (1, True)
    assert "Say --yes" in asked.err
    done = await program("delegate", "pilot", "42", "Count boats.", "--yes", *HERE, "-o", "json")
    assert done.code == 0
    text = done.json["artifacts"][0]["parts"][0]["text"]
    assert text.startswith("xpr:alice, job 42: ## Delegated job: Survey")


async def test_what_is_inside_is_called_only_if_that_is_said(program: Program) -> None:
    refused = await program("send", "pilot", "ahoy")
    assert refused.code == 1
    assert "may not be called" in refused.out + refused.err


async def test_whom_the_chain_does_not_know_is_told(program: Program) -> None:
    refused = await program("discover", "ghost", *HERE)
    assert refused.code != 0
    assert "Agent 'ghost' not found on-chain" in refused.out + refused.err
