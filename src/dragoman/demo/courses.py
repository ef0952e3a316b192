"""Scenarios of how a task can go: quickly, slowly, with questions, and to every end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from dragoman.agent.context import Context
from dragoman.agent.results import Rejected
from dragoman.demo.faults import CUT, CUT_WITHOUT_IDS, UNSPECIFIED

__all__ = ("COURSES",)

_SLOW_SECONDS: Final = 1.0
_FAULT_SECONDS: Final = 0.5
_LONGEST_SECONDS: Final = 3600.0


async def slow(ctx: Context, text: str) -> str:
    """Take some time: one second, or as many as the message says ("slow 10")."""
    await ctx.say("at work")
    await asyncio.sleep(_seconds_in(text, _SLOW_SECONDS))
    return f"done: {text}"


async def forever(ctx: Context, text: str) -> str:
    """Take all the time in the world, or until the task is canceled."""
    del text
    await ctx.say("at work")
    await asyncio.Event().wait()
    return ""


async def ask(ctx: Context, text: str) -> str:
    """Ask a question, and finish with the answer (input required)."""
    del text
    return f"You said {await ctx.ask('Which city?')}."


async def authorize(ctx: Context, text: str) -> str:
    """Ask for an authorization, and wait for a message (auth required)."""
    del text
    await ctx.require_auth("Please sign in.", details={"url": "https://id.example/"})
    return "thanks"


async def consent(ctx: Context, text: str) -> str:
    """Ask for an authorization, and go on by itself after a second, or as many as are given."""
    try:
        async with asyncio.timeout(_seconds_in(text, _SLOW_SECONDS)):
            await ctx.require_auth("Please agree.", details={"url": "https://id.example/agree"})
    except TimeoutError:
        await ctx.say("somebody has agreed")
    return "agreed"


async def fail(text: str) -> str:
    """Fail: the task ends as failed."""
    raise RuntimeError(text)


async def reject(text: str) -> str:
    """Decline: the task ends as rejected."""
    raise Rejected(f"Not {text}.")


async def cut(ctx: Context, text: str) -> str:
    """Break the stream off in the middle, once; it can be resumed (not over gRPC)."""
    await ctx.say(CUT_WITHOUT_IDS if "bare" in text.split() else CUT)
    await asyncio.sleep(_FAULT_SECONDS)
    return "whole after all"


async def unspecified(ctx: Context, text: str) -> str:
    """Be in no state that the protocol knows for a while (not over gRPC)."""
    await ctx.say(UNSPECIFIED)
    await asyncio.sleep(_seconds_in(text, _FAULT_SECONDS))
    return "in order again"


def _seconds_in(text: str, default: float) -> float:
    """Return the first number of a text."""
    for word in text.split():
        try:
            return min(max(float(word), 0.0), _LONGEST_SECONDS)
        except ValueError:
            continue
    return default


COURSES: Final[Mapping[str, Callable[..., object]]] = {
    scenario.__name__: scenario
    for scenario in (slow, forever, ask, authorize, consent, fail, reject, cut, unspecified)
}
"""The scenarios by name."""
