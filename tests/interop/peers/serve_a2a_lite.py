"""An agent made with a2a-lite."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio

from a2a_lite import Agent
from script import pieces
from stage import listen, serve

agent = Agent(name="Peer", description="An agent made with a2a-lite.")


@agent.skill("shout")
async def shout(text: str) -> str:
    """Give the text back in capitals."""
    return "".join([piece async for piece in pieces(f"shout {text}")])


@agent.skill("spell", streaming=True)
async def spell(text: str):
    """Give the text back word by word."""
    async for piece in pieces(f"spell {text}"):
        yield piece


async def main() -> None:
    listener, url = listen()
    # Its public call gives a card that names another port.
    app = agent._build_app(host="127.0.0.1", port=int(url.rpartition(":")[2]))  # noqa: SLF001 - it has no public way to get the app
    await serve(app, listener, url)


if __name__ == "__main__":
    asyncio.run(main())
