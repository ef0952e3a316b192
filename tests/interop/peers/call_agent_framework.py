"""agent-framework-a2a as a ``calls.Caller``: a remote agent, run as any agent of it is."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from functools import partial

from agent_framework_a2a import A2AAgent
from calls import Heard, run


class Conversation:
    def __init__(self, url: str) -> None:
        self._agent = A2AAgent(url=url, name="interop")
        self._session = self._agent.create_session()

    async def say(self, text: str) -> Heard:
        stream = self._agent.run(text, stream=True, session=self._session)
        pieces = [update.text async for update in stream if update.text]
        return Heard((await stream.get_final_response()).text, pieces)


if __name__ == "__main__":
    run(lambda url: partial(Conversation, url))
