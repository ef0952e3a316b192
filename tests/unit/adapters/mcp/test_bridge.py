from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequestParams, ElicitResult, InputRequiredResult, TextContent

from dragoman import Agent, Context
from dragoman.adapters.mcp.bridge import bridge
from dragoman.client.agent import RemoteAgent
from dragoman.model.tasks import TaskState
from dragoman.testing import pair

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])


def librarian() -> Agent:
    agent = Agent("Library", "Lends.")

    @agent.skill
    async def lend(ctx: Context, title: str) -> str:
        """Lend a book."""
        days = await ctx.ask("How many days?", int)
        name = await ctx.ask("Your name?")
        return f"{title} for {days} days to {name}"

    @agent.skill
    async def vault(ctx: Context) -> str:
        """Open the vault."""
        await ctx.require_auth("Show your card")
        return "open"

    @agent.skill
    async def burn(title: str) -> str:
        """Fail."""
        raise ValueError(title)

    return agent


class User:
    """Who answers what the agent asks."""

    def __init__(self, *answers: object) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        del context
        self.asked.append(params.message)
        answer: Any = self._answers.pop(0)
        if answer is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content={"answer": answer})


@asynccontextmanager
async def bridged(mode: str, user: User | None) -> AsyncGenerator[tuple[Client, RemoteAgent]]:
    async with (
        pair(librarian()) as agent,
        Client(bridge(agent), mode=mode, elicitation_callback=user) as client,
    ):
        yield client, agent


@MODES
async def test_questions_are_asked_until_there_are_none(mode: str) -> None:
    user = User(14, "Ann")
    async with bridged(mode, user) as (client, _):
        result = await client.call_tool("lend", {"text": "Emma"})
    assert result.content == [TextContent(text="Emma for 14 days to Ann")]
    assert user.asked == ["How many days?", "Your name?"]


@MODES
async def test_who_declines_cancels_the_task(mode: str) -> None:
    async with bridged(mode, User(None)) as (client, agent):
        result = await client.call_tool("lend", {"text": "Emma"})
        (task,) = [each async for each in agent.tasks()]
    assert result.is_error
    assert task.state is TaskState.CANCELED


@MODES
async def test_authorization_cannot_be_given_in_a_form(mode: str) -> None:
    async with bridged(mode, User()) as (client, _):
        result = await client.call_tool("vault", {"text": ""})
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text.endswith("waits for authorization: Show your card")


async def test_a_failure_says_no_more_than_the_agent_does() -> None:
    async with bridged("auto", None) as (client, _):
        result = await client.call_tool("burn", {"text": "Emma"})
    assert result.is_error
    assert "Emma" not in str(result.content)


async def test_an_unknown_tool_is_an_error_of_the_protocol() -> None:
    async with bridged("auto", None) as (client, _):
        with pytest.raises(MCPError, match="Unknown tool: steal"):
            await client.call_tool("steal", {})


async def test_a_note_that_is_not_ours_is_refused() -> None:
    async with bridged("auto", User()) as (client, agent):
        asked = await client.session.call_tool("lend", {"text": "Emma"}, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        (task,) = [each async for each in agent.tasks()]
        assert task.task_id not in str(asked.request_state)
        forged = f'{{"task_id":"{task.task_id}","context_id":"{task.context_id}"}}'
        with pytest.raises(MCPError):
            await client.session.call_tool("lend", {"text": "Emma"}, request_state=forged)
        # Nor does it open another call than the one it was given for.
        with pytest.raises(MCPError):
            await client.session.call_tool(
                "lend", {"text": "Ulysses"}, request_state=asked.request_state
            )


async def test_a_call_that_comes_again_without_an_answer_is_asked_again() -> None:
    async with bridged("auto", User()) as (client, _):
        session = client.session
        asked = await session.call_tool("lend", {"text": "Emma"}, allow_input_required=True)
        assert isinstance(asked, InputRequiredResult)
        again = await session.call_tool(
            "lend",
            {"text": "Emma"},
            request_state=asked.request_state,
            allow_input_required=True,
        )
    assert isinstance(again, InputRequiredResult)
    assert again.input_requests == asked.input_requests
