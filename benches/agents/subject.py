"""The benchmark contract as a user of Dragoman would write it.

dragoman serve benches/agents/subject.py
"""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

from dragoman import Agent, Context, Message

# How long `fan` waits before its first chunk, so that its readers are all there. The same on
# every side.
FAN_DELAY_SECONDS = 1.5


def choose(message: Message) -> str:
    """Send a message to the skill its first word names."""
    word = (message.parts[0].text or "").partition(" ")[0]
    return word if word in {"stream", "fan", "hold"} else "echo"


async def echo(text: str) -> str:
    """Give back the text."""
    return text


async def stream(text: str) -> AsyncIterator[str]:
    """`stream N [gap_ms]`: send N stamped chunks, with a pause between them if asked."""
    _, count, *gap_ms = text.split(" ")
    gap_seconds = int(gap_ms[0]) / 1000 if gap_ms else 0
    for index in range(int(count)):
        if gap_seconds and index:
            await asyncio.sleep(gap_seconds)
        yield f"#{index:06d}@{time.perf_counter_ns():018d};"


async def fan(text: str) -> AsyncIterator[str]:
    """`fan N`: wait for the readers, then send N stamped chunks."""
    await asyncio.sleep(FAN_DELAY_SECONDS)
    for index in range(int(text.split(" ")[1])):
        yield f"#{index:06d}@{time.perf_counter_ns():018d};"


async def hold(ctx: Context, text: str) -> str:
    """Stay working until cancelled."""
    del ctx
    await asyncio.Event().wait()
    return text


def make_agent(**options: Any) -> Agent:
    """Return an agent that holds to the contract."""
    agent = Agent("Bench", "Benchmark agent.", **options)
    agent.route(choose)
    for skill in (echo, stream, fan, hold):
        agent.skill(skill)
    return agent


agent = make_agent()
