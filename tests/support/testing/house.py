"""The agent that these tests test with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dragoman import Agent, Context

__all__ = ("Gate", "tea_house")


class Gate:
    """Holds up the skill ``slow`` until a test opens it."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()
        self.is_left = False


def tea_house(gate: Gate | None = None, *, streaming: bool = True) -> Agent:
    """Return an agent that repeats by default, and can ask, stream, wait and fail."""
    agent = Agent("Tea house", "Brews tea.", streaming=streaming)

    @agent.skill
    async def echo(text: str) -> str:
        return text

    @agent.skill
    async def brew(ctx: Context, order: str) -> AsyncIterator[str]:
        spoons = await ctx.ask("How many spoons?", int)
        yield order
        yield f", {spoons} spoons"

    @agent.skill
    async def slow(text: str) -> AsyncIterator[str]:
        assert gate is not None
        yield f"{text} one"
        gate.reached.set()
        try:
            await gate.open.wait()
        finally:
            gate.is_left = True
        yield " two"

    @agent.skill
    async def broken() -> str:
        raise ValueError("the kettle")

    assert all((echo, brew, slow, broken))
    return agent
