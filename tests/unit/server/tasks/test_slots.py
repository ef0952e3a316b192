import asyncio

import pytest

from dragoman.errors import RateLimitedError, UnavailableError
from dragoman.server.tasks.slots import Slot, Slots


def full(running: int = 1, waiting: int = 10) -> Slots:
    """Return slots of which none is free."""
    slots = Slots(running, waiting)
    for _ in range(running):
        assert slots.take() is None
    return slots


def queued(slots: Slots) -> "asyncio.Future[None]":
    """Take a place in the queue."""
    waiter = slots.take()
    assert waiter is not None
    return waiter


# --- slots ------------------------------------------------------------------------------------


async def test_a_free_slot_is_taken_at_once() -> None:
    slots = Slots(2, 0)
    assert slots.take() is None
    assert slots.take() is None
    assert slots.waiting == 0


async def test_no_more_run_than_there_are_slots() -> None:
    slots = full(2)
    third = queued(slots)
    assert not third.done()
    assert (slots.running, slots.waiting) == (2, 1)
    slots.give_back()
    assert third.done()
    assert (slots.running, slots.waiting) == (2, 0)
    slots.give_back()
    assert slots.running == 1


async def test_who_waits_longest_is_next() -> None:
    slots = full()
    first, second = queued(slots), queued(slots)
    slots.give_back()
    assert (first.done(), second.done()) == (True, False)


async def test_a_slot_that_is_handed_over_is_not_free() -> None:
    slots = full()
    queued(slots)
    slots.give_back()
    assert not queued(slots).done()


async def test_a_slot_nobody_waits_for_is_free_again() -> None:
    slots = full()
    slots.give_back()
    assert slots.take() is None


async def test_a_full_queue_refuses() -> None:
    slots = full(1, 1)
    slots.check()
    queued(slots)
    with pytest.raises(UnavailableError, match="agent is busy"):
        slots.check()
    slots.give_back()
    slots.check()


async def test_without_a_queue_a_free_slot_still_does() -> None:
    Slots(1, 0).check()


async def test_who_stops_waiting_leaves_the_queue() -> None:
    slots = full(1, 1)
    slots.leave_queue(queued(slots))
    assert slots.waiting == 0
    slots.check()


async def test_who_stopped_waiting_is_passed_over() -> None:
    slots = full()
    gone, next_in_line = queued(slots), queued(slots)
    gone.cancel()
    slots.give_back()
    assert next_in_line.done()
    slots.leave_queue(gone)  # There is nothing left to leave.
    assert not queued(slots).done()


async def test_who_leaves_after_being_handed_a_slot_hands_it_on() -> None:
    slots = full()
    unlucky, next_in_line = queued(slots), queued(slots)
    slots.give_back()
    slots.leave_queue(unlucky)
    assert next_in_line.done()


# --- seats ------------------------------------------------------------------------------------


def is_free(slots: Slots) -> bool:
    """Tell whether a slot can be had at once; if so, it is taken."""
    waiter = slots.take()
    if waiter is not None:
        slots.leave_queue(waiter)
    return waiter is None


async def test_a_claim_counts_before_its_turn_runs() -> None:
    slots = Slots(1, 1)
    Slot(slots).claim()
    slots.check()
    Slot(slots).claim()
    with pytest.raises(UnavailableError):
        slots.check()


async def test_a_seat_is_claimed_once() -> None:
    slots = Slots(2, 0)
    slot = Slot(slots)
    slot.claim()
    slot.claim()
    await slot.taken()
    assert is_free(slots)


async def test_who_has_not_claimed_does_so_by_waiting() -> None:
    slots = Slots(1, 0)
    slot = Slot(slots)
    await slot.taken()
    assert slot.is_taken
    assert not is_free(slots)


async def test_a_seat_is_taken_once_its_slot_is_there() -> None:
    slots = full()
    slot = Slot(slots)
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(slot.taken())
        await asyncio.sleep(0)
        assert (waiting.done(), slot.is_taken) == (False, False)
        slots.give_back()
    assert slot.is_taken


async def test_a_seat_is_left_once() -> None:
    slots = Slots(1, 0)
    slot = Slot(slots)
    await slot.taken()
    slot.leave()
    slot.leave()
    assert not slot.is_taken
    assert is_free(slots)
    assert not is_free(slots)


async def test_a_seat_that_was_never_taken_gives_nothing_back() -> None:
    slots = full(1, 0)
    Slot(slots).leave()
    assert not is_free(slots)


async def test_a_seat_may_be_taken_again() -> None:
    slots = Slots(1, 0)
    slot = Slot(slots)
    for _ in range(2):
        await slot.taken()
        slot.leave()
    slots.check()


async def test_a_claim_that_is_given_up_leaves_the_queue() -> None:
    slots = full()
    slot = Slot(slots)
    slot.claim()
    slot.leave()
    assert slots.waiting == 0


async def canceled_while_waiting(slot: Slot) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(slot.taken())
        await asyncio.sleep(0)
        waiting.cancel()
    assert waiting.cancelled()


async def test_who_is_canceled_while_waiting_keeps_its_place_until_it_leaves() -> None:
    slots = full()
    slot = Slot(slots)
    await canceled_while_waiting(slot)
    assert (slot.is_taken, slots.waiting) == (False, 1)
    slot.leave()
    assert slots.waiting == 0


async def test_who_is_handed_a_slot_after_being_canceled_gives_it_back() -> None:
    slots = full()
    slot = Slot(slots)
    await canceled_while_waiting(slot)
    slots.give_back()
    assert not is_free(slots)
    slot.leave()
    assert is_free(slots)


# --- of one owner ---------------------------------------------------------------------------------


async def test_one_owner_has_no_more_turns_than_one_may() -> None:
    slots = Slots(10, 10, per_owner=2)
    seats = [Slot(slots, "alice") for _ in range(2)]
    for slot in seats:
        slots.check("alice")
        slot.claim()
    with pytest.raises(RateLimitedError, match="You have 2 turns at work or waiting at once"):
        slots.check("alice")
    slots.check("bob")
    seats[0].leave()
    slots.check("alice")


async def test_a_turn_that_waits_for_a_slot_counts_as_well() -> None:
    slots = Slots(0, 10, per_owner=1)
    slot = Slot(slots, "alice")
    slot.claim()
    assert slots.waiting == 1
    with pytest.raises(RateLimitedError):
        slots.check("alice")
    slot.leave()
    slots.check("alice")


async def test_a_seat_that_was_left_does_not_count_until_it_is_taken_again() -> None:
    slots = Slots(10, 10, per_owner=1)
    slot = Slot(slots, "alice")
    slot.claim()
    slot.leave()
    slot.leave()
    slots.check("alice")
    await slot.taken()
    with pytest.raises(RateLimitedError):
        slots.check("alice")


async def test_callers_whom_nobody_knows_have_the_turns_of_all() -> None:
    slots = Slots(10, 10, per_owner=1)
    for _ in range(5):
        slots.check()
        Slot(slots).claim()
