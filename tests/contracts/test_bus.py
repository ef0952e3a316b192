"""What every bus promises: hints arrive while all is well, and nothing breaks while it is not."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from dragoman.bus.base import InboxFilled, Spent, TaskMoved, WorkReleased
from tests.contracts.hearing import NETWORKS, Ear, Network, hear_of, tell_until
from tests.durability.waiting import until

ODD_IDS = ("a.b", "with space", "*", ">", "ümlaut", "50%", 'quote"', "line\nbreak")


@pytest.fixture(params=list(NETWORKS))
async def network(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Network]:
    async with NETWORKS[request.param](tmp_path) as network:
        yield network


@pytest.fixture
async def three(network: Network) -> AsyncGenerator[tuple[Ear, Ear, Ear]]:
    async with AsyncExitStack() as stack:
        ears = tuple(Ear(network.bus(), f"replica-{name}") for name in "abc")
        for ear in ears:
            stack.push_async_callback(ear.bus.close)
            await ear.open()
        yield ears[0], ears[1], ears[2]


# --- what is heard ------------------------------------------------------------------------------


async def test_a_move_is_heard_where_the_task_is_followed(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, c = three
    b.follow("t1")
    c.follow("t2")
    await hear_of(a, b, "t1")
    await hear_of(a, c, "t2")
    assert {move.task_id for move in b.moves} == {"t1"}
    assert {move.task_id for move in c.moves} == {"t2"}


async def test_a_replica_does_not_hear_itself(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, _ = three
    a.follow("t1")
    b.follow("t1")
    await hear_of(a, b, "t1")
    await tell_until(a, WorkReleased(), lambda: bool(b.hints))
    # What comes back from the other came after all of its own.
    await tell_until(b, TaskMoved("t1", 7), lambda: a.latest("t1") == 7)
    assert {move.seq for move in a.moves} == {7}
    assert a.hints == []


async def test_the_last_of_many_moves_is_heard(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, _ = three
    b.follow("t1")
    await hear_of(a, b, "t1")
    for seq in range(1, 1001):
        a.bus.publish(TaskMoved("t1", seq))
    await until(lambda: b.latest("t1") == 1000)


async def test_all_followers_hear_until_they_leave(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, _ = three
    again: list[int] = []
    leave = b.follow("t1")
    b.bus.follow("t1", again.append)
    await hear_of(a, b, "t1")
    await until(lambda: bool(again))
    leave()
    leave()
    await tell_until(a, TaskMoved("t1", 9), lambda: 9 in again)
    assert b.latest("t1") == 1


async def test_a_task_that_is_followed_again_is_heard_again(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, _ = three
    leave = b.follow("t1")
    await hear_of(a, b, "t1")
    leave()
    b.follow("t1")
    await tell_until(a, TaskMoved("t1", 5), lambda: b.latest("t1") == 5)


async def test_a_filled_inbox_is_told_to_the_holder_alone(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, c = three
    await tell_until(a, InboxFilled("t1", "replica-b"), lambda: bool(b.hints))
    await tell_until(a, WorkReleased(), lambda: WorkReleased() in c.hints)
    assert b.hints[0] == InboxFilled("t1", "replica-b")
    assert set(c.hints) == {WorkReleased()}


async def test_without_a_holder_all_others_are_told(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, c = three
    await tell_until(a, InboxFilled("t1"), lambda: bool(b.hints and c.hints))
    assert {*b.hints, *c.hints} == {InboxFilled("t1")}
    assert a.hints == []


async def test_released_work_is_told_to_all_others(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, c = three
    await tell_until(a, WorkReleased(), lambda: bool(b.hints and c.hints))
    assert {*b.hints, *c.hints} == {WorkReleased()}
    assert a.hints == []


async def test_what_was_used_up_is_told_to_all_others(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, c = three
    await tell_until(a, WorkReleased(), lambda: bool(b.hints and c.hints))
    for units in (1, 2, 40):
        a.bus.publish(Spent("rate_limit/ü 1", units))

    def units_heard(ear: Ear) -> int:
        # Added up on the way, or not.
        return sum(hint.units for hint in ear.hints if isinstance(hint, Spent))

    await until(lambda: units_heard(b) == units_heard(c) == 43)
    assert {hint.allowance for hint in b.hints if isinstance(hint, Spent)} == {"rate_limit/ü 1"}
    assert a.hints == []


async def test_many_tasks_are_followed_at_once(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, _ = three
    ids = [f"0190a000-0000-7000-8000-{number:012d}" for number in range(1000)]
    for task_id in ids:
        b.follow(task_id)
    await hear_of(a, b, ids[-1])
    for number, task_id in enumerate(ids):
        a.bus.publish(TaskMoved(task_id, 10 + number))
    await until(lambda: all(b.latest(task_id) == 10 + n for n, task_id in enumerate(ids)))


@pytest.mark.parametrize("task_id", ODD_IDS)
async def test_any_id_can_be_followed(three: tuple[Ear, Ear, Ear], task_id: str) -> None:
    a, b, _ = three
    b.follow("other")
    b.follow(task_id)
    await hear_of(a, b, task_id)
    await tell_until(a, InboxFilled(task_id, "replica-b"), lambda: bool(b.hints))
    assert b.hints[0] == InboxFilled(task_id, "replica-b")
    assert {move.task_id for move in b.moves} == {task_id}


async def test_a_listener_that_fails_hinders_no_other(
    three: tuple[Ear, Ear, Ear], caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: int) -> None:
        raise ValueError("broken follower")

    a, b, _ = three
    b.bus.follow("t1", fail)
    b.follow("t1")
    await hear_of(a, b, "t1")
    await tell_until(a, TaskMoved("t1", 2), lambda: b.latest("t1") == 2)
    assert "broken follower" in caplog.text


# --- while all is not well ----------------------------------------------------------------------


async def test_after_a_cut_all_is_heard_again(
    network: Network, three: tuple[Ear, Ear, Ear], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    a, b, c = three
    b.follow("before")
    leave = b.follow("left")
    await hear_of(a, b, "before")
    network.cut()
    await until(lambda: not (a.bus.is_connected or b.bus.is_connected or c.bus.is_connected))
    for hint in (TaskMoved("before", 50), InboxFilled("t1", "replica-b"), WorkReleased()):
        a.bus.publish(hint)
    b.follow("meanwhile")
    leave()
    network.mend()
    await until(lambda: a.gaps == b.gaps == c.gaps == 1)
    assert a.bus.is_connected
    assert b.latest("before") == 1
    await tell_until(a, TaskMoved("before", 60), lambda: b.latest("before") == 60)
    await hear_of(a, b, "meanwhile")
    await tell_until(a, InboxFilled("t2", "replica-b"), lambda: bool(b.hints))
    assert b.latest("left") == 0
    assert set(b.hints) == {InboxFilled("t2", "replica-b")}


async def test_a_bus_that_is_opened_during_an_outage_connects_later(
    network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    a, b = (Ear(network.bus(), f"replica-{name}") for name in "ab")
    network.cut()
    for ear in (a, b):
        await ear.open()
        assert not ear.bus.is_connected
    b.follow("t1")
    a.bus.publish(TaskMoved("t1", 1))
    network.mend()
    await until(lambda: a.gaps == b.gaps == 1)
    await hear_of(a, b, "t1")
    await a.bus.close()
    await b.bus.close()


async def test_a_bus_is_closed_during_an_outage(
    network: Network, three: tuple[Ear, Ear, Ear], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    a, b, _ = three
    network.cut()
    await until(lambda: not a.bus.is_connected)
    await a.bus.close()
    network.mend()
    await until(lambda: b.gaps == 1)
    assert a.gaps == 0
    assert not a.bus.is_connected


async def test_before_and_after_its_time_a_bus_does_nothing(network: Network) -> None:
    ear = Ear(network.bus(), "replica-a")
    ear.bus.publish(WorkReleased())
    assert not ear.bus.is_connected
    await ear.bus.close()
    await ear.open()
    leave = ear.follow("t1")
    await ear.bus.close()
    await ear.bus.close()
    assert not ear.bus.is_connected
    ear.bus.publish(TaskMoved("t1", 1))
    leave()
    ear.follow("t2")()
    assert (ear.moves, ear.hints, ear.gaps) == ([], [], 0)


async def test_what_was_published_before_closing_is_sent(three: tuple[Ear, Ear, Ear]) -> None:
    a, b, _ = three
    await tell_until(a, InboxFilled("t1", "replica-b"), lambda: bool(b.hints))
    a.bus.publish(WorkReleased())
    await a.bus.close()
    await until(lambda: WorkReleased() in b.hints)
