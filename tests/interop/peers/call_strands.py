"""strands-agents as a ``calls.Caller``: a remote agent, used as any agent of Strands is."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from functools import partial

from calls import Heard, run
from strands.agent.a2a_agent import A2AAgent


class Conversation:
    def __init__(self, url: str) -> None:
        self._agent = A2AAgent(url)

    async def say(self, text: str) -> Heard:
        pieces, answer = [], ""
        async for event in self._agent.stream_async(text):
            if "data" in event:
                pieces.append(event["data"])
            if "result" in event:
                answer = str(event["result"])
        return Heard(answer, pieces)


if __name__ == "__main__":
    run(lambda url: partial(Conversation, url))
