"""Plans a trip: two other agents do their part, and the caller's calendar is asked."""

import os

from tracing import collect

from dragoman import Agent, Context, Peer

collect()
FLIGHTS = Peer(os.environ["FLIGHTS_URL"], name="Flights")
HOTELS = Peer(os.environ["HOTELS_URL"], name="Hotels")

agent = Agent("Travel", "Plans a trip.", client_tools=True)


@agent.skill
async def trip(ctx: Context, city: str) -> str:
    """Plan a trip."""
    day = await ctx.use_tool("free_day", {"month": "May"})
    flight, hotel = await ctx.gather(
        ctx.call(FLIGHTS, f"echo {city} on {day}"),
        ctx.call(HOTELS, city),
    )
    return f"{flight.text}, {hotel.text}"
