"""An agent that takes its time, so that its callers would rather be told than wait."""

import asyncio

from dragoman import Agent

agent = Agent("Kiln", "Fires pots.")


@agent.skill
async def fire(pot: str) -> str:
    """Fire a pot."""
    await asyncio.sleep(0.2)
    return f"{pot}, fired"
