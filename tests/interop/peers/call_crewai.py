"""crewai as a ``calls.Caller``: what an agent of CrewAI does to hand its work to another."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from functools import partial

from calls import Heard, run
from crewai.a2a.utils.delegation import aexecute_a2a_delegation


class Conversation:
    def __init__(self, url: str) -> None:
        self._url = url
        self._ids = {}

    async def say(self, text: str) -> Heard:
        told = await aexecute_a2a_delegation(
            self._url, auth=None, timeout=30, task_description=text, **self._ids
        )
        for message in told.get("history") or ():
            self._ids = {"task_id": message.task_id, "context_id": message.context_id}
        # A question is given as an error, whose status tells it apart.
        return Heard(told.get("result") or told.get("error") or "", [])


if __name__ == "__main__":
    run(lambda url: partial(Conversation, url))
