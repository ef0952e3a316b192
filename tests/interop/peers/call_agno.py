"""agno as a ``calls.Caller``: its own client, over both of its protocols."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import sys
from functools import partial

from agno.client.a2a import A2AClient
from calls import Heard, run


class Conversation:
    def __init__(self, url: str) -> None:
        protocol = "json-rpc" if sys.argv[2] == "JSONRPC" else "rest"
        self._client = A2AClient(url, protocol=protocol)
        self._context = None

    async def say(self, text: str) -> Heard:
        answered = await self._client.send_message(text, context_id=self._context)
        self._context = answered.context_id
        pieces = [
            event.content
            async for event in self._client.stream_message(text, context_id=self._context)
            if event.content
        ]
        return Heard(answered.content, pieces)


if __name__ == "__main__":
    run(lambda url: partial(Conversation, url))
