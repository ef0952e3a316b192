"""When a turn has its slot and its time runs: while any of its strands is at work."""

import asyncio

import pytest

from dragoman.server.tasks.slots import Slot, Slots
from dragoman.server.tasks.working_time import WorkingTime

pytestmark = pytest.mark.anyio


async def begun() -> tuple[WorkingTime, Slots]:
    """Return a turn in the only slot there is."""
    slots = Slots(1, 10)
    shift = WorkingTime(Slot(slots))
    await shift.seated()
    return shift, slots


async def test_who_rests_has_no_slot() -> None:
    shift, slots = await begun()
    assert slots.running == 1
    shift.rest()
    assert (shift.is_resting, slots.running) == (True, 0)
    shift.join()
    await shift.seated()
    assert (shift.is_resting, slots.running) == (False, 1)


async def test_the_slot_is_held_while_any_strand_works() -> None:
    shift, slots = await begun()
    shift.join(2)
    for _ in range(2):
        shift.rest()
        assert slots.running == 1
    shift.rest()
    assert slots.running == 0


async def test_who_waits_for_the_slot_gets_it_though_another_strand_leaves_meanwhile() -> None:
    shift, slots = await begun()
    shift.join()
    shift.rest()
    shift.rest()
    somebody = Slot(slots)
    await somebody.taken()
    shift.join(2)
    back = asyncio.ensure_future(shift.seated())
    await asyncio.sleep(0)
    shift.rest()
    somebody.leave()
    await back
    assert shift.slot.is_taken


async def test_no_time_passes_while_all_rest() -> None:
    shift, _ = await begun()
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(100) as limit:
        shift.limit = limit
        end = limit.when()
        shift.join()
        shift.rest()
        await asyncio.sleep(0)
        # The other one works.
        assert limit.when() == end
        shift.rest()
        assert limit.when() is None
        shift.join()
        when = limit.when()
        assert when is not None
        assert when <= loop.time() + 100
        shift.join()
        assert limit.when() == when


async def test_a_turn_without_a_limit_rests_as_well() -> None:
    shift, _ = await begun()
    shift.rest()
    shift.join()
    assert shift.limit is None


async def test_a_limit_that_has_ended_the_turn_is_left_alone() -> None:
    shift, _ = await begun()

    async def work() -> None:
        async with asyncio.timeout(0) as shift.limit:
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await work()
    shift.rest()
    shift.join()
    assert shift.limit is not None
    assert shift.limit.expired()
