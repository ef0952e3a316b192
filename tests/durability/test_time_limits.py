"""A turn that works for too long is ended; waiting and sleeping are no work."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dragoman import Agent, Context
from tests.support.serving import serving
from tests.support.wire import Wire, message

LIMIT_SECONDS = 0.3


def make_agent() -> Agent:
    agent = Agent("Limits")

    @agent.skill
    async def forever(text: str) -> str:
        await asyncio.Event().wait()
        return text

    @agent.skill(timeout=LIMIT_SECONDS)
    async def limited(text: str) -> str:
        return await forever(text)

    @agent.skill(timeout=LIMIT_SECONDS)
    async def patient(ctx: Context) -> str:
        await ctx.sleep(2 * LIMIT_SECONDS)
        return await ctx.ask("And?")

    @agent.skill(timeout=LIMIT_SECONDS)
    async def own(ctx: Context) -> str:
        del ctx
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()
        return "never"

    return agent


@pytest.mark.parametrize(
    ("skill", "settings"),
    [("limited", {}), ("forever", {"turn_timeout_seconds": LIMIT_SECONDS})],
)
async def test_a_turn_that_works_too_long_fails_and_says_so(
    skill: str, settings: dict[str, Any]
) -> None:
    agent = make_agent()
    async with serving(agent, **settings) as served, Wire(served.url) as wire:
        task = await wire.send("x", metadata={"skillId": skill})
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "more than 0.3 seconds" in task["status"]["message"]["parts"][0]["text"]


async def test_waiting_and_sleeping_are_no_work() -> None:
    async with serving(make_agent()) as served, Wire(served.url) as wire:
        task = await wire.send("x", metadata={"skillId": "patient"})
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        await asyncio.sleep(2 * LIMIT_SECONDS)
        answered = message("done", taskId=task["id"])
        task = (await wire.result("SendMessage", {"message": answered}))["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["parts"] == [{"text": "done"}]


async def test_a_limit_of_the_author_s_own_is_an_error_of_the_author_s() -> None:
    async with serving(make_agent()) as served, Wire(served.url) as wire:
        task = await wire.send("x", metadata={"skillId": "own"})
    assert "Error id" in task["status"]["message"]["parts"][0]["text"]
