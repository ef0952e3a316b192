"""The agent that frameworks call, with one skill for each way to answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

from dragoman import Agent, Context, Message

agent = Agent("Interop", "Does what a framework asks for, so that the framework can be watched.")


@agent.skill
async def shout(text: str) -> str:
    """Give the text back in capitals."""
    return text.partition(" ")[2].upper()


@agent.skill
async def spell(text: str) -> AsyncIterator[str]:
    """Give the text back word by word."""
    for word in text.split()[1:]:
        yield f"{word} "


@agent.skill
async def book(text: str, ctx: Context) -> str:
    """Ask for a day, and book."""
    day = await ctx.ask("Which day?")
    return f"Booked {text.partition(' ')[2]} on {day}."


@agent.route
def by_first_word(message: Message) -> str:
    # Some put the caller's words into a frame of their own.
    words = " ".join(part.text for part in message.parts if part.text)
    return next((name for name in ("spell", "book") if name in words), "shout")
