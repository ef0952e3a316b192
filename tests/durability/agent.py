"""The agent that is killed and stopped: it streams, answers, and waits for files to appear.

Most of its tasks fail when the server stops in the midst of them, so that a test finds them at rest
after the next start. Those that go on have tests of their own (``test_durable_turns``).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from time import sleep

from dragoman import Agent, Context, Reply, SyncContext

agent = Agent("Durability", "Works until somebody stops it.")


@agent.skill(on_crash="fail")
async def echo(text: str) -> str:
    """Give the text back."""
    return text


@agent.skill
async def greet(text: str) -> Reply:
    """Greet without a task."""
    return Reply(f"Hello, {text}!")


@agent.skill(on_crash="fail")
async def chunks(text: str) -> AsyncIterator[str]:
    """Yield as many numbered lines as the text says."""
    for number in range(int(text)):
        yield f"{number}\n"
        if number % 7 == 0:
            # Long enough that the lines go out in many commits, not in one.
            await asyncio.sleep(0.001)


@agent.skill(on_crash="fail")
async def hold(text: str, ctx: Context) -> str:
    """Say so, and wait until there is a file of the name given; then tell what it holds."""
    await ctx.say("holding")
    return await content_of(text)


@agent.skill
async def hold_reply(text: str) -> Reply:
    """Wait like ``hold``, without a task; a file of another name says that this has begun."""
    touch(f"{text}.begun")
    return Reply(await content_of(text))


@agent.skill(on_crash="fail")
async def lag(text: str, ctx: Context) -> str:
    """Wait like ``hold``, and take a moment to stop when told to."""
    try:
        return await hold(text, ctx)
    finally:
        await asyncio.sleep(0.05)


@agent.skill(on_crash="fail")
def block(text: str, ctx: SyncContext) -> None:
    """Wait like ``hold``, in a thread that nothing can stop."""
    ctx.say("holding")
    while read(text) is None:
        sleep(0.02)


@agent.skill
async def outlast(text: str, ctx: Context) -> str:
    """Wait like ``hold``, whatever happens to the server meanwhile."""
    return await hold(text, ctx)


async def content_of(name: str) -> str:
    """Wait until there is a file, and return what it holds."""
    while True:
        content = read(name)
        if content is not None:
            return content
        await asyncio.sleep(0.02)


def read(name: str) -> str | None:
    """Return what a file holds, None if there is none."""
    file = Path(name)
    return file.read_text("utf-8") if file.is_file() else None


def touch(name: str) -> None:
    """Create a file."""
    Path(name).touch()
