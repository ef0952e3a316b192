"""Finds flights. Any agent will do in its place, whatever it is made with."""

from tracing import collect

from dragoman import Agent

collect()
agent = Agent("Flights", "Finds flights.")


@agent.skill
async def flight(text: str) -> str:
    """Find a flight."""
    return text
