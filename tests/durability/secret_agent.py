"""An agent that asks for a secret, works on, and asks something else; to be killed meanwhile."""

import hashlib

from dragoman import Agent, Context

agent = Agent("Secret", "Asks for a secret.")


@agent.skill
async def unlock(ctx: Context, text: str) -> str:
    """Tell a hash of the secret, and nothing else of it."""
    key = await ctx.ask("Your key?", sensitive=True)
    await ctx.ask(f"Go on with {text}?")
    return hashlib.sha256(key.encode()).hexdigest()
