"""An agent that calls another, in a process that dies at a given commit (``trap``)."""

import os

from dragoman import Agent, Context
from tests.durability.trap import lay

FLIGHTS = os.environ["FLIGHTS_URL"]

agent = Agent("Travel", "Plans.")


@agent.skill
async def plan(ctx: Context, text: str) -> str:
    """Have two flights found at once, each of which asks something."""
    there, back = await ctx.gather(
        ctx.call(FLIGHTS, f"{text} there"),
        ctx.call(FLIGHTS, f"{text} back"),
    )
    return f"{there.text} | {back.text}"


lay()
