"""The official MCP client uses an A2A agent: over standard input and output, and over HTTP.

Both eras of MCP: with a handshake (2025), and without one (2026).
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ClientRequestContext
from mcp.types import (
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitResult,
    EmbeddedResource,
    TextContent,
)

from dragoman import Agent, Context, File, Rejected
from dragoman.testing import served

pytestmark = pytest.mark.timeout(90)

WAYS = [
    pytest.param(way, mode, id=f"{way}-{mode}")
    for way in ("stdio", "http")
    for mode in ("auto", "legacy")
]


class Shop:
    """An agent, and what has become of its work."""

    def __init__(self) -> None:
        self.canceled = asyncio.Event()
        self.agent = Agent("Shop", "Sells things.")

        @self.agent.skill(examples=["two lamps"])
        async def order(ctx: Context, item: str, count: int) -> dict[str, object]:
            """Order something."""
            await ctx.say("looking")
            return {"item": item, "count": count, "gift": await ctx.ask("As a gift?", bool)}

        @self.agent.skill
        async def bill(text: str) -> File:
            """Write a bill."""
            return File(content=text.encode(), name="bill.pdf", media_type="application/pdf")

        @self.agent.skill
        async def refuse(text: str) -> str:
            """Refuse."""
            raise Rejected(f"No {text} here")

        @self.agent.skill
        async def wait(ctx: Context) -> str:
            """Wait for ever."""
            await ctx.say("waiting")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.canceled.set()
                raise
            return ""


@asynccontextmanager
async def bridged(way: str, url: str) -> AsyncGenerator[StdioServerParameters | str]:
    """Run ``dragoman mcp serve`` for an agent; yield what the MCP client connects to."""
    command = [sys.executable, "-m", "dragoman", "mcp", "serve", url]
    environment = {**os.environ, "no_proxy": "*"}
    if way == "stdio":
        yield StdioServerParameters(command=command[0], args=command[1:], env=environment)
        return
    process = await asyncio.create_subprocess_exec(
        *command, "--http", "127.0.0.1:0", stdout=subprocess.PIPE, env=environment
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().split()[-1]
    finally:
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 0


@pytest.mark.parametrize(("way", "mode"), WAYS)
async def test_an_mcp_client_uses_the_skills_of_an_agent(way: str, mode: str) -> None:
    shop = Shop()
    questions: list[str] = []

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        del context
        assert isinstance(params, ElicitRequestFormParams)
        assert params.requested_schema["properties"]["answer"]["type"] == "boolean"
        questions.append(params.message)
        return ElicitResult(action="accept", content={"answer": True})

    told: list[str | None] = []
    begun = asyncio.Event()

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        del progress, total
        told.append(message)
        begun.set()

    async with (
        served(shop.agent) as place,
        bridged(way, place.url) as server,
        Client(server, mode=mode, elicitation_callback=answer) as client,
    ):
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["order", "bill", "refuse", "wait"]
        assert tools["order"].description == "Order something.\nFor example: two lamps"
        assert tools["order"].input_schema["required"] == ["count"]
        assert tools["bill"].input_schema["required"] == ["text"]

        lamp = {"text": "lamp", "count": 2}
        ordered = await client.call_tool("order", lamp, progress_callback=listen)
        assert ordered.structured_content == {"item": "lamp", "count": 2, "gift": True}
        assert (questions, told) == (["As a gift?"], ["looking"])

        (paper,) = (await client.call_tool("bill", {"text": "2 lamps"})).content
        assert isinstance(paper, EmbeddedResource)
        assert paper.resource.mime_type == "application/pdf"

        refused = await client.call_tool("refuse", {"text": "lamps"})
        assert refused.is_error
        assert refused.content == [TextContent(text="No lamps here")]

        begun.clear()
        call = asyncio.ensure_future(client.call_tool("wait", {}, progress_callback=listen))
        async with asyncio.timeout(30):
            await begun.wait()
            call.cancel()
            await shop.canceled.wait()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_client_that_cannot_be_asked_is_told_what_is_asked_and_by_which_task(
    mode: str,
) -> None:
    async with (
        served(Shop().agent) as place,
        bridged("http", place.url) as server,
        Client(server, mode=mode) as client,
    ):
        result = await client.call_tool("order", {"text": "lamp", "count": 2})
    assert result.is_error
    assert result.meta is not None
    task_id = result.meta["dev.dragoman/task"]["taskId"]
    assert result.content == [TextContent(text=f"Task {task_id} waits for an answer: As a gift?")]
