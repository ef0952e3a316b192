"""a2akit as a ``calls.Caller``: its own client, over both of its protocols."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import sys
from functools import partial

from a2akit import A2AClient
from calls import Heard, run


class Conversation:
    def __init__(self, url: str) -> None:
        protocol = "jsonrpc" if sys.argv[2] == "JSONRPC" else "http+json"
        self._client = A2AClient(url, protocol=protocol)
        self._ids = {}

    async def say(self, text: str) -> Heard:
        async with self._client as client:
            pieces = []
            if not self._ids:
                pieces = [piece async for piece in client.stream_text(text)]
            answered = await client.send(text, **self._ids)
        if answered.input_required:
            self._ids = {"task_id": answered.task_id, "context_id": answered.context_id}
        return Heard(answered.text or "", pieces)


if __name__ == "__main__":
    run(lambda url: partial(Conversation, url))
