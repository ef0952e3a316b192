"""An agent made with a2a-sdk 0.2, over JSON-RPC."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio

from a2a.server.apps import A2AStarletteApplication
from a2a.types import AgentCard
from serve_v0 import card_facts, make_handler
from stage import listen, serve


async def main() -> None:
    listener, url = listen()
    card = AgentCard(url=f"{url}/", **card_facts("0.2"))
    await serve(A2AStarletteApplication(card, make_handler()).build(), listener, url)


if __name__ == "__main__":
    asyncio.run(main())
