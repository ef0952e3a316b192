"""An agent to be tested: it asks, it streams, and it refuses."""

from collections.abc import AsyncIterator

from dragoman import Agent, Context, Rejected

agent = Agent("Tea house", "Brews tea.")


@agent.skill
async def brew(ctx: Context, order: str) -> AsyncIterator[str]:
    """Brew a cup of tea."""
    if "coffee" in order:
        raise Rejected("This is a tea house.")
    spoons = await ctx.ask("How many spoons of sugar?", int)
    await ctx.say("Steeping.")
    yield order
    yield f", {spoons} spoons"
