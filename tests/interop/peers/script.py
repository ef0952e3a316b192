"""What the scripted model of every framework says, by the first word it hears.

A server beside this file (``serve_adk.py`` and so on) puts it into a model of its framework; no
network and no key is needed. Nothing here knows dragoman.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

__all__ = ("QUESTION", "pieces", "wants_to_ask")

QUESTION = "Which city?"


def wants_to_ask(heard: str) -> bool:
    """Tell whether the model asks its user; how it does so is the framework's."""
    return heard.startswith("ask")


async def pieces(*heard: str) -> AsyncIterator[str]:
    """Say something about the last of the user's messages in a conversation, piece by piece."""
    *before, last = heard
    if wants_to_ask(before[-1] if before else ""):
        yield f"To {last}."
        return
    word, _, rest = last.partition(" ")
    match word:
        case "spell":
            for each in rest.split():
                yield f"{each} "
        case "recall":
            yield " / ".join(heard[:-1])
        case "hold":
            yield "before "
            await asyncio.sleep(60)
            yield "after"
        case "fail":
            raise RuntimeError("No luck.")
        case _:
            yield rest.upper()
