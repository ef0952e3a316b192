"""a2a-lite as a ``calls.Caller``: an agent that hands work on to another."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from functools import partial

from a2a_lite import Agent
from calls import Heard, run


class Conversation:
    def __init__(self, url: str) -> None:
        self._url = url
        self._agent = Agent(name="Caller", description="Hands work on.")

    async def say(self, text: str) -> Heard:
        skill, _, rest = text.partition(" ")
        pieces = await self._agent.delegate(self._url, skill, stream=True, text=rest)
        told = [piece async for piece in pieces]
        answered = await self._agent.delegate(self._url, skill, discover=True, text=rest)
        return Heard(str(answered), told)


if __name__ == "__main__":
    run(lambda url: partial(Conversation, url))
