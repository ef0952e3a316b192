"""The play that every agent made with a Python SDK gives: what it does, by the first word it hears.

``play.mjs`` is the same for JavaScript. What a server beside this file adds is how its SDK does
what a ``Turn`` does. Nothing here knows dragoman.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any, Protocol

__all__ = ("NAME", "SKILL", "VERSION", "Turn", "perform")

NAME, VERSION = "Peer", "4.5.6"
SKILL = {"id": "play", "name": "Play", "description": "Does what it hears.", "tags": ["play"]}
PICTURE = (bytes(range(256)), "image/png", "grün.png")
DATA = {"city": "Zürich", "seats": 3, "deep": {"list": [1, 2.5, "three", True, None]}}

# Gates are opened by another message, so that a task works for as long as the caller wants it to.
_gates: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)


class Turn(Protocol):
    """One message to the agent, and what it can do about it.

    Attributes:
        words: the text of the message.
        parts: all that the message holds, as the SDK has it.
        is_answer: the agent has asked, and this is the answer.
    """

    words: str
    parts: list[Any]
    is_answer: bool

    async def begin(self) -> None:
        """Make the task known."""
        ...

    async def work(self, said: str) -> None: ...
    async def ask(self, question: str) -> None: ...
    async def fail(self, reason: str) -> None: ...
    async def complete(self) -> None: ...

    async def reply(self, text: str) -> None:
        """Answer with a message, without a task."""
        ...

    async def give(self, *parts: Any, append: bool = False, last: bool = True) -> None:
        """Give the artifact ``result``, or a chunk of it."""
        ...

    def text(self, text: str) -> Any: ...
    def file(self, content: bytes, media_type: str, filename: str) -> Any: ...
    def data(self, value: Any) -> Any: ...


async def perform(turn: Turn) -> None:
    """Do what a message says."""
    word, _, rest = turn.words.partition(" ")
    if turn.is_answer:
        await turn.work("Booking.")
        await turn.give(turn.text(f"To {turn.words}."))
        await turn.complete()
    elif word == "greet":
        await turn.reply(f"Hello, {rest}!")
    else:
        await turn.begin()
        await _perform_task(turn, word, rest)


async def _perform_task(turn: Turn, word: str, rest: str) -> None:
    match word:
        case "echo":
            await turn.give(*turn.parts)
        case "draw":
            await turn.give(turn.file(*PICTURE), turn.data(DATA))
        case "spell":
            await turn.work("Spelling.")
            await _give_chunks(turn, rest.split(" "))
        case "hold":
            await turn.give(turn.text("before "), last=False)
            await turn.work("Holding.")
            await _gates[rest].wait()
            await turn.give(turn.text("after"), append=True)
        case "open":
            _gates[rest].set()
        case "ask":
            return await turn.ask("Which city?")
        case _:
            return await turn.fail("No luck.")
    return await turn.complete()


async def _give_chunks(turn: Turn, words: list[str]) -> None:
    for index, word in enumerate(words):
        is_last = index == len(words) - 1
        await turn.give(turn.text(f"{word} "), append=index > 0, last=is_last)
