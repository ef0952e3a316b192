"""The agent of the replicas: it counts, and says with every number which run of it is counting.

A run is one call of the function. Replicas that take a task over run it anew, so the log of a task
shows who wrote it when: a number said by a run that had been replaced by then was written by a
replica that did not hold the task any more.
"""

from __future__ import annotations

import asyncio
import os
from itertools import count as numbers

from dragoman import Agent, Context

agent = Agent("Counting", "Counts, whatever happens.")

_start = os.urandom(4).hex()
_runs = numbers(1)


@agent.skill
async def count(text: str, ctx: Context) -> str:
    """Say every number below the one given; rest in between, in the function itself."""
    run = new_run()
    for number in range(int(text)):
        await ctx.say(f"{number} {run}")
        await ctx.step(rest)
    return f"done {run}"


@agent.skill
async def ponder(text: str, ctx: Context) -> str:
    """Do the same, and rest for long."""
    run = new_run()
    for number in range(int(text)):
        await ctx.say(f"{number} {run}")
        await ctx.step(rest_long)
    return f"done {run}"


@agent.skill
async def doze(text: str, ctx: Context) -> str:
    """Do the same, but sleep in between, which is waiting for a time."""
    run = new_run()
    for number in range(int(text)):
        await ctx.say(f"{number} {run}")
        await ctx.sleep(0.5)
    return f"done {run}"


@agent.skill
async def confirm(text: str, ctx: Context) -> str:
    """Ask before every number, and say it when the answer is there."""
    run = new_run()
    for number in range(int(text)):
        answer = await ctx.ask(f"{number}?")
        await ctx.say(f"{number} {run} {answer}")
    return f"done {run}"


async def rest() -> None:
    """Take the time that work takes."""
    await asyncio.sleep(0.5)


async def rest_long() -> None:
    """Take the time that much work takes."""
    await asyncio.sleep(5)


def new_run() -> str:
    """Return a name for one run, unlike that of any other in any process."""
    return f"{_start}.{next(_runs)}"
