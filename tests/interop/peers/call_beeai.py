"""beeai-framework as a ``calls.Caller``: a remote agent, run as any agent of BeeAI is."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from functools import partial

from beeai_framework.adapters.a2a.agents import A2AAgent
from beeai_framework.memory import UnconstrainedMemory
from calls import Heard, run


class Conversation:
    def __init__(self, url: str) -> None:
        self._agent = A2AAgent(url=url, memory=UnconstrainedMemory())

    async def say(self, text: str) -> Heard:
        # What it tells while it runs are events of the SDK it is made with, not pieces of text.
        return Heard((await self._agent.run(text)).last_message.text, [])


if __name__ == "__main__":
    run(lambda url: partial(Conversation, url))
