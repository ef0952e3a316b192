import asyncio

import pytest

from dragoman.errors import UnavailableError
from dragoman.server.slots import Seat, Slots


async def queued(slots: Slots, group: asyncio.TaskGroup) -> "asyncio.Task[None]":
    """Begin to wait for a slot."""
    task = group.create_task(slots.take())
    await asyncio.sleep(0)
    return task


async def full(running: int = 1, waiting: int = 10) -> Slots:
    """Return slots of which none is free."""
    slots = Slots(running, waiting)
    for _ in range(running):
        await slots.take()
    return slots


async def test_a_free_slot_is_taken_at_once() -> None:
    slots = Slots(2, 0)
    await slots.take()
    await slots.take()
    assert slots.waiting == 0


async def test_no_more_run_than_there_are_slots() -> None:
    slots = await full(2)
    async with asyncio.TaskGroup() as group:
        third = await queued(slots, group)
        assert not third.done()
        assert slots.waiting == 1
        slots.give_back()
    assert slots.waiting == 0


async def test_who_waits_longest_is_next() -> None:
    slots = await full()
    async with asyncio.TaskGroup() as group:
        first, second = await queued(slots, group), await queued(slots, group)
        slots.give_back()
        await first
        assert not second.done()
        slots.give_back()


async def test_a_slot_that_is_handed_over_is_not_free() -> None:
    slots = await full()
    async with asyncio.TaskGroup() as group:
        first = await queued(slots, group)
        slots.give_back()
        second = await queued(slots, group)
        await first
        assert not second.done()
        slots.give_back()


async def test_a_slot_nobody_waits_for_is_free_again() -> None:
    slots = await full()
    slots.give_back()
    await slots.take()


async def test_a_full_queue_refuses() -> None:
    slots = await full(1, 1)
    async with asyncio.TaskGroup() as group:
        slots.check()
        await queued(slots, group)
        with pytest.raises(UnavailableError, match="agent is busy"):
            slots.check()
        slots.give_back()
    slots.give_back()
    slots.check()


async def test_without_a_queue_a_free_slot_still_does() -> None:
    Slots(1, 0).check()


async def test_who_stops_waiting_leaves_the_queue() -> None:
    slots = await full(1, 1)
    async with asyncio.TaskGroup() as group:
        (await queued(slots, group)).cancel()
    assert slots.waiting == 0
    slots.check()


async def test_who_stopped_waiting_is_passed_over() -> None:
    slots = await full()
    async with asyncio.TaskGroup() as group:
        gone, next_in_line = await queued(slots, group), await queued(slots, group)
        gone.cancel()
        slots.give_back()  # Before the canceled one has even noticed.
        await next_in_line


async def test_who_is_canceled_while_being_handed_a_slot_hands_it_on() -> None:
    slots = await full()
    async with asyncio.TaskGroup() as group:
        unlucky, next_in_line = await queued(slots, group), await queued(slots, group)
        slots.give_back()
        unlucky.cancel()
        await next_in_line
    assert unlucky.cancelled()


async def test_a_seat_is_left_once() -> None:
    slots = Slots(1, 0)
    seat = Seat(slots)
    await seat.take()
    seat.leave()
    seat.leave()
    await slots.take()
    with pytest.raises(UnavailableError):
        slots.check()


async def test_a_seat_that_was_never_taken_gives_nothing_back() -> None:
    slots = await full(1, 0)
    Seat(slots).leave()
    with pytest.raises(UnavailableError):
        slots.check()


async def test_a_seat_may_be_taken_again() -> None:
    slots = Slots(1, 0)
    seat = Seat(slots)
    for _ in range(2):
        await seat.take()
        seat.leave()
    slots.check()
