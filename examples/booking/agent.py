"""A booking agent: asks, searches, asks again, pays once. Kill it anywhere; it goes on."""

import os
from dataclasses import dataclass

import httpx2

from dragoman import Agent, Context

agent = Agent("Booking", "Books trains.")


@dataclass
class Route:
    origin: str
    destination: str


async def search(route: Route) -> dict[str, int]:
    return {f"{route.origin}-{route.destination} {hour}:00": 10 * hour for hour in (7, 9, 12)}


async def pay(price: int, idempotency_key: str) -> str:
    async with httpx2.AsyncClient(base_url=os.environ["PAYMENTS_URL"]) as payments:
        # The key is the same every time this step is tried, so the service can tell.
        answer = await payments.post("/", json={"price": price, "key": idempotency_key})
    receipt: str = answer.raise_for_status().json()["receipt"]
    return receipt


@agent.skill
async def book(ctx: Context) -> str:
    """Book a train."""
    route = await ctx.ask("Where from, and where to?", Route)
    await ctx.say(f"Looking for trains to {route.destination}")
    trains = await ctx.step(search, route)
    train = await ctx.ask("Which one? " + ", ".join(trains))
    receipt = await ctx.step(pay, trains[train])
    return f"{train}, receipt {receipt}"
