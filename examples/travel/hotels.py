"""Finds hotels, and asks how good they are to be."""

from tracing import collect

from dragoman import Agent, Context

collect()
agent = Agent("Hotels", "Finds hotels.")


@agent.skill
async def hotel(ctx: Context, city: str) -> str:
    """Find a hotel."""
    stars = await ctx.ask(f"How many stars in {city}?", int)
    return f"{stars} stars in {city}"
