import asyncio
import threading

import pytest

from dragoman.clock import Clock
from dragoman.testing.clock import FakeClock


def test_a_fake_clock_is_a_clock() -> None:
    clock: Clock = FakeClock()
    assert clock.new_id()


def test_time_stands_still() -> None:
    clock = FakeClock(5)
    assert (clock.now_ms(), clock.now_ms()) == (5, 5)


def test_time_moves_by_seconds() -> None:
    clock = FakeClock(1000)
    clock.advance(1.5)
    assert clock.now_ms() == 2500


def test_time_moves_to_where_it_is_put() -> None:
    clock = FakeClock(1000)
    clock.move_to(7000)
    assert clock.now_ms() == 7000


def test_time_does_not_go_back() -> None:
    clock = FakeClock(1000)
    with pytest.raises(ValueError, match="never goes back: from 1000 to 999"):
        clock.move_to(999)


def test_ids_are_counted() -> None:
    clock = FakeClock()
    assert [clock.new_id() for _ in range(3)] == ["id-1", "id-2", "id-3"]


async def test_a_sleeper_goes_on_when_its_time_has_come() -> None:
    clock = FakeClock()
    async with asyncio.TaskGroup() as group:
        sleeper = group.create_task(clock.sleep(10))
        await clock.until_asleep()
        clock.advance(9.999)
        await asyncio.sleep(0)
        assert not sleeper.done()
        clock.advance(0.001)
    assert sleeper.done()


async def test_sleepers_wake_in_the_order_of_their_time_then_of_falling_asleep() -> None:
    clock = FakeClock()
    woken: list[str] = []

    async def sleep(name: str, seconds: float) -> None:
        await clock.sleep(seconds)
        woken.append(name)

    async with asyncio.TaskGroup() as group:
        for name, seconds in (("late", 3), ("early", 1), ("also early", 1), ("middle", 2)):
            group.create_task(sleep(name, seconds))
        await clock.until_asleep(4)
        clock.advance(3)
    assert woken == ["early", "also early", "middle", "late"]


async def test_a_sleeper_that_was_canceled_is_not_woken() -> None:
    clock = FakeClock()
    async with asyncio.TaskGroup() as group:
        sleeper = group.create_task(clock.sleep(1))
        await clock.until_asleep()
        sleeper.cancel()
    assert clock.sleepers == 0
    clock.advance(1)
    assert sleeper.cancelled()


async def test_a_sleep_of_nothing_only_lets_others_run() -> None:
    clock = FakeClock()
    await clock.sleep(0)
    assert clock.sleepers == 0


async def test_waiting_for_sleepers_who_sleep_already_returns_at_once() -> None:
    clock = FakeClock()
    async with asyncio.TaskGroup() as group:
        group.create_task(clock.sleep(1))
        await clock.until_asleep()
        await clock.until_asleep()
        clock.advance(1)


async def test_one_may_wait_for_more_sleepers_than_another() -> None:
    clock = FakeClock()
    async with asyncio.TaskGroup() as group:
        one = group.create_task(clock.until_asleep(1))
        two = group.create_task(clock.until_asleep(2))
        group.create_task(clock.sleep(1))
        await one
        assert not two.done()
        group.create_task(clock.sleep(1))
        await two
        clock.advance(1)


async def test_a_sleeper_is_woken_from_another_thread() -> None:
    clock = FakeClock()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(clock.sleep(10))
        await clock.until_asleep()
        mover = threading.Thread(target=clock.advance, args=(10,))
        mover.start()
    mover.join()
    assert clock.sleepers == 0
