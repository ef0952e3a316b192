"""Who may speak while somebody asks."""

import asyncio

import pytest

from dragoman.agent.floor import Floor
from dragoman.testing.turn import RecordingTurn

pytestmark = pytest.mark.anyio


async def passes() -> None:
    """Let everybody get as far as they can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def speak(floor: Floor, said: list[str], text: str, gate: asyncio.Event) -> None:
    async with floor.speaking():
        said.append(text)
        await gate.wait()


async def test_many_may_speak_at_once() -> None:
    floor, said, gate = Floor(RecordingTurn("hi")), list[str](), asyncio.Event()
    speaking = [asyncio.ensure_future(speak(floor, said, text, gate)) for text in "abc"]
    await passes()
    assert said == ["a", "b", "c"]
    gate.set()
    await asyncio.gather(*speaking)


async def test_who_asks_lets_those_finish_who_speak_and_nobody_else_begin() -> None:
    floor, said, gate = Floor(RecordingTurn("hi")), list[str](), asyncio.Event()
    first = asyncio.ensure_future(speak(floor, said, "a", gate))
    await passes()
    asking = asyncio.ensure_future(floor.take())
    await passes()
    assert not asking.done()
    second = asyncio.ensure_future(speak(floor, said, "b", gate))
    await passes()
    assert said == ["a"]
    gate.set()
    await asking
    await passes()
    assert (first.done(), second.done(), said) == (True, False, ["a"])
    floor.give_back()
    await second
    assert said == ["a", "b"]


async def test_who_stops_waiting_for_the_floor_does_not_have_it() -> None:
    floor, said, gate = Floor(RecordingTurn("hi")), list[str](), asyncio.Event()
    first = asyncio.ensure_future(speak(floor, said, "a", gate))
    await passes()
    asking = asyncio.ensure_future(floor.take())
    await passes()
    asking.cancel()
    await passes()
    gate.set()
    await asyncio.gather(first, speak(floor, said, "b", gate))
    assert said == ["a", "b"]
