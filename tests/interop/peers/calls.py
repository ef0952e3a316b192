"""What a framework's own client is made to do with an agent, and how it is run.

A driver beside this file (``call_adk.py`` and so on) says how its framework does what a ``Caller``
does, and is run by that framework's own python: ``python DRIVER URL BINDING SCENARIO...``, as told
in ``peer.py``. ``calls.mjs`` is the same for JavaScript. Nothing here knows dragoman.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import peer

__all__ = ("Caller", "Heard", "run")


class Heard(NamedTuple):
    """What the user of a framework gets: pieces as they come, and what is kept as the answer."""

    answer: str
    pieces: list[str]


class Caller(Protocol):
    """One conversation with the agent."""

    async def say(self, text: str) -> Heard: ...


async def plain(caller: Callable[[], Caller]) -> Any:
    return (await caller().say("shout hello"))._asdict()


async def streamed(caller: Callable[[], Caller]) -> Any:
    return (await caller().say("spell to be or not"))._asdict()


async def asked(caller: Callable[[], Caller]) -> Any:
    conversation = caller()
    question = await conversation.say("book Rome")
    return {"question": question.answer, **(await conversation.say("Monday"))._asdict()}


def run(connect: Callable[[str], Callable[[], Caller]]) -> None:
    """Play the scenarios that the command line names, or all."""

    async def connected(url: str, _binding: str) -> Callable[[], Caller]:
        return connect(url)

    peer.run(connected, (plain, streamed, asked))
