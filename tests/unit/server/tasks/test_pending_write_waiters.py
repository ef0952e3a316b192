import asyncio

import pytest

from dragoman.errors import UnavailableError
from dragoman.server.tasks.pending_write import Waiters


def future() -> "asyncio.Future[None]":
    return asyncio.get_running_loop().create_future()


async def test_who_waits_for_a_mark_goes_on_when_it_is_reached() -> None:
    waiters = Waiters()
    one, two = future(), future()
    waiters.add_durable(1, one)
    waiters.add_durable(2, two)
    waiters.release(1, 1, is_settled=False)
    assert (one.done(), two.done(), waiters.is_any) == (True, False, True)
    waiters.release(2, 2, is_settled=False)
    assert (two.done(), waiters.is_any) == (True, False)


async def test_who_waits_for_a_stop_goes_on_at_one_that_is_not_before_its_event() -> None:
    waiters = Waiters()
    one = future()
    waiters.add_settled(3, [one])
    waiters.release(9, 2, is_settled=True)
    waiters.release(9, 3, is_settled=False)
    assert not one.done()
    waiters.release(9, 3, is_settled=True)
    assert one.done()


async def test_when_events_are_gone_the_next_stop_will_do() -> None:
    waiters = Waiters()
    one = future()
    waiters.add_settled(30, [one])
    waiters.forget_numbers()
    waiters.release(1, 1, is_settled=True)
    assert one.done()


async def test_all_are_told_that_they_wait_in_vain() -> None:
    waiters = Waiters()
    one, two, other, gone = future(), future(), future(), future()
    waiters.add_durable(1, one)
    waiters.add_settled(1, [two, gone])
    gone.cancel()
    waiters.fail(UnavailableError("no"), [other])
    assert not waiters.is_any
    for each in (one, two, other):
        with pytest.raises(UnavailableError):
            await each
