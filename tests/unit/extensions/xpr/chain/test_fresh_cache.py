"""Facts that are remembered, asked for once, and asked for anew."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from dragoman.extensions.xpr.chain.fresh_cache import FreshCache
from dragoman.extensions.xpr.errors import ChainError, ChainUnavailableError, UnknownAccountError
from dragoman.testing.clock import FakeClock


class Source:
    """Tells what it was given to tell, and counts how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.told: dict[str, str | Exception | None] = {}
        self.gate = asyncio.Event()
        self.gate.set()

    async def fetch(self, name: str) -> str | None:
        self.asked.append(name)
        await self.gate.wait()
        found = self.told.get(name)
        if isinstance(found, Exception):
            raise found
        return found


def made(most: int = 100) -> tuple[FreshCache[str | None], Source, FakeClock]:
    source, clock = Source(), FakeClock()
    return FreshCache(source.fetch, clock, most=most), source, clock


async def refusal(getting: Callable[[str], Awaitable[str | None]], name: str) -> ChainError:
    with pytest.raises(ChainError) as caught:
        await getting(name)
    return caught.value


async def test_a_fact_is_good_for_five_minutes() -> None:
    cache, source, clock = made()
    source.told["a"] = "one"
    assert await cache.get("a") == "one"
    source.told["a"] = "two"
    clock.advance(299.999)
    assert await cache.get("a") == "one"
    clock.advance(0.001)
    assert await cache.get("a") == "two"
    assert source.asked == ["a", "a"]


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        (None, 30.0),
        (UnknownAccountError("a"), 30.0),
        (ChainUnavailableError(("down",)), 2.0),
    ],
)
async def test_what_is_not_there_is_remembered_shortly(
    told: Exception | None, seconds: float
) -> None:
    cache, source, clock = made()
    source.told["a"] = told
    for _ in range(3):
        if told is None:
            assert await cache.get("a") is None
        else:
            assert await refusal(cache.get, "a") is told
    clock.advance(seconds - 0.001)
    source.told["a"] = "here"
    if told is None:
        assert await cache.get("a") is None
    else:
        assert await refusal(cache.get, "a") is told
    assert source.asked == ["a"]
    clock.advance(0.001)
    assert await cache.get("a") == "here"


async def test_an_error_that_is_raised_often_does_not_grow() -> None:
    cache, source, _ = made()
    source.told["a"] = UnknownAccountError("a")
    depths: list[int] = []
    for _ in range(20):
        trace, depth = (await refusal(cache.get, "a")).__traceback__, 0
        while trace is not None:
            trace, depth = trace.tb_next, depth + 1
        depths.append(depth)
    assert len(set(depths)) == 1


async def test_those_who_ask_at_the_same_time_ask_once() -> None:
    cache, source, _ = made()
    source.told["a"] = "one"
    source.gate.clear()
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(cache.get("a")) for _ in range(50)]
        await asyncio.sleep(0)
        source.gate.set()
    assert {task.result() for task in asking} == {"one"}
    assert source.asked == ["a"]


async def test_a_failure_is_told_to_all_who_wait() -> None:
    cache, source, _ = made()
    source.told["a"] = ChainUnavailableError(("down",))
    source.gate.clear()
    async with asyncio.TaskGroup() as group:
        asking = [group.create_task(refusal(cache.get, "a")) for _ in range(5)]
        await asyncio.sleep(0)
        source.gate.set()
    assert source.asked == ["a"]
    assert all(isinstance(task.result(), ChainUnavailableError) for task in asking)


async def test_who_goes_away_leaves_the_question_to_another() -> None:
    cache, source, _ = made()
    source.told["a"] = "one"
    source.gate.clear()
    async with asyncio.TaskGroup() as group:
        first = group.create_task(cache.get("a"))
        others = [group.create_task(cache.get("a")) for _ in range(3)]
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        others[2].cancel()
        source.gate.set()
    assert [task.result() for task in others[:2]] == ["one", "one"]
    assert first.cancelled()
    assert others[2].cancelled()
    assert source.asked == ["a", "a"]


async def test_a_fact_that_may_have_changed_is_asked_for_every_ten_seconds() -> None:
    cache, source, clock = made()
    source.told["a"] = "one"
    assert await cache.renewed("a") == "one"
    source.told["a"] = "two"
    for _ in range(100):
        assert await cache.renewed("a") == "one"
    clock.advance(10)
    assert await cache.renewed("a") == "two"
    assert await cache.get("a") == "two"
    assert source.asked == ["a", "a"]


async def test_the_memory_is_bounded() -> None:
    cache, source, _ = made(most=3)
    for name in ("a", "b", "c", "d"):
        source.told[name] = name
        await cache.get(name)
    assert await cache.get("d") == "d"
    assert await cache.get("a") == "a"
    assert source.asked == ["a", "b", "c", "d", "a"]


async def test_what_is_known_is_good_while_nothing_new_can_be_told() -> None:
    cache, source, clock = made()
    source.told["a"] = "one"
    await cache.get("a")
    source.told["a"] = ChainUnavailableError(("down",))
    clock.advance(10)
    for _ in range(3):
        assert await cache.renewed("a") == "one"
    assert source.asked == ["a", "a"]
    clock.advance(289.999)
    assert await cache.get("a") == "one"
    clock.advance(0.001)
    assert isinstance(await refusal(cache.get, "a"), ChainUnavailableError)
