"""The agent whose tasks outlive a version of the store: it has one in every state there is.

Its skills may not change: ``tests/vectors/postgres`` has tasks of theirs, some in the midst of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dragoman import Agent, Context, Rejected

agent = Agent("Lasting", "Leaves tasks in every state.")


@agent.skill
async def finish(text: str, ctx: Context) -> AsyncIterator[str]:
    """End, after some chunks and results."""
    for number in range(3):
        yield f"{await ctx.step(str.upper, text)} {number}\n"


@agent.skill
async def fail(text: str) -> str:
    """Fail."""
    raise ValueError(text)


@agent.skill
async def refuse(text: str) -> str:
    """Reject the task."""
    raise Rejected(text)


@agent.skill
async def ask(text: str, ctx: Context) -> str:
    """Wait for an answer."""
    chosen = await ctx.step(str.upper, text)
    return f"{chosen} {await ctx.ask('which one?')}"


@agent.skill
async def login(text: str, ctx: Context) -> str:
    """Wait until somebody has signed in."""
    await ctx.require_auth("sign in first")
    return f"{text} in"


@agent.skill
async def work(text: str, ctx: Context) -> str:
    """Work for a while, step by step."""
    for number in range(3):
        await ctx.say(f"{text} {number}")
        await ctx.step(rest)
    return f"{text} done"


@agent.skill
async def sleep(text: str, ctx: Context) -> str:
    """Wait for a time."""
    await ctx.sleep(20)
    return f"{text} awake"


@agent.skill
async def hold(text: str) -> str:
    """Work without end."""
    await asyncio.Event().wait()
    return text


async def rest() -> None:
    """Take the time that work takes."""
    await asyncio.sleep(1)
