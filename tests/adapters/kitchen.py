"""An MCP server of our own, as a file to be started: tools with every habit that tools have."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("Kitchen", instructions="Cooks.")


class Seats(BaseModel):
    seats: int


async def how_many(day: str) -> Elicit[Seats]:
    return Elicit(f"How many on {day}?", Seats)


@server.tool()
async def cook(dish: str, ctx: Context) -> str:
    """Cook something."""
    await ctx.report_progress(1, 2, "chopping")
    return f"{dish} is ready"


@server.tool()
async def burn(dish: str) -> str:
    """Burn something."""
    raise ToolError(f"{dish} is burnt")


@server.tool()
async def reserve(day: str, seats: Annotated[Seats, Resolve(how_many)]) -> str:
    """Reserve a table."""
    return f"{seats.seats} on {day}"


@server.tool()
async def explode() -> str:
    """Die."""
    os._exit(3)


@server.tool()
async def simmer(notes: str) -> str:
    """Work until nobody wants it any more."""
    Path(notes).write_text("begun")  # noqa: ASYNC240 - one word
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        Path(notes).write_text("canceled")  # noqa: ASYNC240 - one word
        raise
    return ""


if __name__ == "__main__":
    server.run()
