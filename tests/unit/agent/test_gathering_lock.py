"""What may be published while a question is open."""

import asyncio

import pytest

from dragoman.agent.gathering import QuestionLock
from dragoman.testing.turn import RecordingTurn

pytestmark = pytest.mark.anyio


async def passes() -> None:
    """Let everybody get as far as they can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def publish(lock: QuestionLock, said: list[str], text: str, gate: asyncio.Event) -> None:
    async with lock.publishing():
        said.append(text)
        await gate.wait()


async def test_many_may_publish_at_once() -> None:
    lock, said, gate = QuestionLock(RecordingTurn("hi")), list[str](), asyncio.Event()
    publishing = [asyncio.ensure_future(publish(lock, said, text, gate)) for text in "abc"]
    await passes()
    assert said == ["a", "b", "c"]
    gate.set()
    await asyncio.gather(*publishing)


async def test_a_question_waits_for_what_is_being_published_and_lets_nothing_else_begin() -> None:
    lock, said, gate = QuestionLock(RecordingTurn("hi")), list[str](), asyncio.Event()
    first = asyncio.ensure_future(publish(lock, said, "a", gate))
    await passes()
    asking = asyncio.ensure_future(lock.acquire())
    await passes()
    assert not asking.done()
    second = asyncio.ensure_future(publish(lock, said, "b", gate))
    await passes()
    assert said == ["a"]
    gate.set()
    await asking
    await passes()
    assert (first.done(), second.done(), said) == (True, False, ["a"])
    lock.release()
    await second
    assert said == ["a", "b"]


async def test_who_stops_waiting_for_the_floor_does_not_have_it() -> None:
    lock, said, gate = QuestionLock(RecordingTurn("hi")), list[str](), asyncio.Event()
    first = asyncio.ensure_future(publish(lock, said, "a", gate))
    await passes()
    asking = asyncio.ensure_future(lock.acquire())
    await passes()
    asking.cancel()
    await passes()
    gate.set()
    await asyncio.gather(first, publish(lock, said, "b", gate))
    assert said == ["a", "b"]
