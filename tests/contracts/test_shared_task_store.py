"""What every SharedTaskStore promises beyond TaskStore: replicas, their leases, and posts.

Leases are short and run by the store's own clock, so these tests wait for what they wait for.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from msgspec.structs import replace

from dragoman.errors import ConflictError, SentBeforeError, UnreadError
from dragoman.model.tasks import TaskState
from dragoman.stores.base import CANCEL_ITEM, InboxItem, Placed, SharedTaskStore
from tests.contracts.sharing import SHARED_STORES
from tests.contracts.storing import (
    ALICE,
    COMPLETED,
    WORKING,
    chunk,
    creation,
    load,
    move,
    plan,
    send,
    snapshot,
    write,
    write_together,
)

pytestmark = pytest.mark.anyio

LONG = 60.0
SHORT = 0.2
INPUT_REQUIRED = TaskState.INPUT_REQUIRED

Join = Callable[..., Awaitable[SharedTaskStore]]


@pytest.fixture(params=list(SHARED_STORES))
async def join(request: pytest.FixtureRequest) -> AsyncIterator[Join]:
    """Give what opens a store on the same records as a replica of its own."""
    async with AsyncExitStack() as resources:
        make = await SHARED_STORES[request.param](resources)

        async def join(name: str, lease_seconds: float = LONG) -> SharedTaskStore:
            store = make()
            await store.open()
            resources.push_async_callback(store.close)
            await store.join(name, lease_seconds=lease_seconds)
            return store

        yield join


async def ids(tasks: Awaitable[tuple[object, ...]]) -> list[str]:
    return [getattr(task, "id", "") for task in await tasks]


async def at_work(store: SharedTaskStore) -> list[str]:
    return await ids(store.at_work(after_id="", limit=9))


async def test_the_next_lease_to_run_out_is_that_of_another_who_is_alive(join: Join) -> None:
    one = await join("one", SHORT)
    assert await one.next_lapse() is None
    two = await join("two", LONG)
    lapse = await one.next_lapse()
    assert lapse is not None
    assert SHORT < lapse <= LONG

    async def is_dead() -> bool:
        return await two.next_lapse() is None

    await until(is_dead)
    await two.leave()
    assert await one.next_lapse() is None


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await condition():  # noqa: ASYNC110 - the clock of a store tells nobody
            await asyncio.sleep(0.02)


async def until_dead(beside: SharedTaskStore, task_id: str = "t1") -> None:
    """Wait until the lease of the holder of a task has run out."""

    async def is_dead() -> bool:
        return not (await load(beside, task_id)).is_elsewhere

    await until(is_dead)


# --- who holds a task ---------------------------------------------------------------------------


async def test_a_new_task_is_held_by_the_replica_that_made_it(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    assert ((await load(a)).holder, (await load(a)).is_elsewhere) == ("a", False)
    assert ((await load(b)).holder, (await load(b)).is_elsewhere) == ("a", True)


async def test_a_task_that_has_ended_is_nowhere(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation(state=COMPLETED, document=snapshot("t1")))
    assert not (await load(b)).is_elsewhere


async def test_who_takes_a_task_over_from_the_dead_holds_it(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    await a.leave()
    assert await b.take_over("t1", 1) == 2
    assert (await load(a)).is_elsewhere
    assert not (await load(b)).is_elsewhere
    assert [type(o) for o in await write_together(a, chunk(1))] == [ConflictError]
    await write(b, chunk(1, epoch=2))


async def test_two_replicas_cannot_both_take_a_task_over(join: Join) -> None:
    a, b, c = await join("a"), await join("b"), await join("c")
    await write(a, creation())
    await a.leave()
    results = await asyncio.gather(
        b.take_over("t1", 1), c.take_over("t1", 1), return_exceptions=True
    )
    assert [type(result) for result in results if result != 2] == [ConflictError]
    assert 2 in results


async def test_a_released_task_is_held_by_nobody(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    await a.release("t1", 1)
    assert ((await load(b)).holder, (await load(b)).is_elsewhere) == ("", False)
    assert await at_work(a) == await at_work(b) == ["t1"]


async def test_who_was_fenced_off_cannot_release(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    await a.leave()
    await b.take_over("t1", 1)
    await a.release("t1", 1)
    assert (await load(a)).holder == "b"


async def test_tasks_under_another_lease_are_lost(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation("t1"), creation("t2"))
    await a.leave()
    await b.take_over("t2", 1)
    assert await a.lost({"t1": 1, "t2": 1, "t9": 1}) in (("t2", "t9"), ("t9", "t2"))
    assert await a.lost({}) == ()


# --- leases -------------------------------------------------------------------------------------


async def test_nothing_is_taken_from_a_replica_that_lives(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation("t1"), creation("t2"))
    await a.release("t2", 1)
    results = await asyncio.gather(
        b.take_over("t1", 1), b.take_over("t2", 1), return_exceptions=True
    )
    assert [type(results[0]), results[1]] == [ConflictError, 2]
    assert [(await load(b, name)).holder for name in ("t1", "t2")] == ["a", "b"]
    await write(a, chunk(1))


async def test_a_replica_that_came_back_in_time_keeps_what_others_have_seen_as_a_deads(
    join: Join,
) -> None:
    a, b = await join("a", SHORT), await join("b")
    await write(a, creation())
    await until_dead(b)
    assert await at_work(b) == ["t1"]
    a = await join("a")  # The same replica, under a lease that does not run out while this runs.
    with pytest.raises(ConflictError):
        await b.take_over("t1", 1)
    assert await a.take_over("t1", 1) == 2


async def test_who_was_late_knows_all_that_was_taken(join: Join) -> None:
    """Whichever comes first: the lease runs out, it is renewed, or the task is taken over."""
    a, b = await join("a", 0.05), await join("b")
    for number in range(40):
        task_id = f"t{number}"
        await write(a, creation(task_id))
        await a.beat()
        await asyncio.sleep(0.04 + number * 0.0005)
        in_time, taken = await asyncio.gather(
            a.beat(), b.take_over(task_id, 1), return_exceptions=True
        )
        assert isinstance(in_time, bool)
        lost = await a.lost({task_id: 1})
        assert (lost == (task_id,)) == (taken == 2), (lost, taken)
        assert not (in_time and lost), "told to be in time, and yet something was taken"


async def test_what_a_dead_replica_held_is_for_others(join: Join) -> None:
    a, b = await join("a", SHORT), await join("b")
    await write(a, creation())
    await until_dead(b)
    assert await at_work(b) == ["t1"]


async def test_a_replica_lives_while_it_beats(join: Join) -> None:
    a, b = await join("a", 1.0), await join("b", SHORT)
    await write(a, creation("t1"))
    await write(b, creation("t2"))

    async def is_b_dead() -> bool:
        assert await a.beat()
        return not (await load(a, "t2")).is_elsewhere

    await until(is_b_dead)
    assert (await load(b, "t1")).is_elsewhere
    assert await at_work(a) == ["t2"]


async def test_a_replica_that_beats_too_late_is_told_so_and_lives_again(join: Join) -> None:
    a, b = await join("a", SHORT), await join("b")
    await write(a, creation())
    await until_dead(b)
    assert not await a.beat()
    assert await a.beat()
    assert (await load(b)).is_elsewhere
    await write(a, chunk(1))


async def test_a_replica_that_leaves_leaves_all_it_held(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    assert await at_work(b) == []
    await a.leave()
    assert await at_work(b) == ["t1"]


async def test_a_replica_is_not_given_what_it_holds_itself_as_work(join: Join) -> None:
    a = await join("a")
    await write(a, creation())
    assert await at_work(a) == []


async def test_what_is_due_is_for_its_holder_while_that_lives(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation(), plan(1, wake_at_ms=500))
    assert await ids(a.due(now_ms=500, limit=9)) == ["t1"]
    assert await ids(b.due(now_ms=500, limit=9)) == []
    await a.release("t1", 1)
    assert await ids(b.due(now_ms=500, limit=9)) == ["t1"]


async def test_what_waits_for_its_client_is_for_its_holder_while_that_lives(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation(state=INPUT_REQUIRED))
    assert await ids(a.waiting(before_ms=5000, after_id="", limit=9)) == ["t1"]
    assert await ids(b.waiting(before_ms=5000, after_id="", limit=9)) == []
    await a.leave()
    assert await ids(b.waiting(before_ms=5000, after_id="", limit=9)) == ["t1"]


# --- posts --------------------------------------------------------------------------------------


async def test_a_post_is_in_the_inbox_of_its_task(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation(), move(1, INPUT_REQUIRED))
    assert await b.post("t1", b"hello", send("m2")) == Placed(1, INPUT_REQUIRED, 2)
    assert await b.post("t1", CANCEL_ITEM, None) == Placed(2, INPUT_REQUIRED, 2)
    assert await a.read_inbox("t1") == (InboxItem(1, b"hello"), InboxItem(2, CANCEL_ITEM))
    assert await a.find_send(send("m2").key, 0) == send("m2")
    assert (await load(a)).inbox_n == 2


async def test_numbers_of_posts_and_messages_follow_each_other_without_gaps(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    numbers = await asyncio.gather(
        *(a.put_inbox("t1", b"x", None) for _ in range(10)),
        *(b.post("t1", b"y", None) for _ in range(10)),
    )
    given = sorted(each if isinstance(each, int) else each.n for each in numbers)
    assert given == list(range(1, 21))


async def test_a_task_that_has_ended_takes_no_post_nor_its_send(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation(state=COMPLETED, document=snapshot("t1")))
    placed = await b.post("t1", b"late", send("m2"))
    assert (placed.n, placed.state) == (0, COMPLETED)
    assert await a.read_inbox("t1") == ()
    assert await a.find_send(send("m2").key, 0) is None


async def test_a_post_for_no_task_is_refused(join: Join) -> None:
    a = await join("a")
    with pytest.raises(ConflictError):
        await a.post("t9", b"hello", send("m2"))
    assert await a.find_send(send("m2").key, 0) is None
    assert await a.read_inbox("t9") == ()


async def test_tasks_that_something_waits_for_are_found_by_who_may_take_them(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation("t1"), creation("t2"), creation("t3"))
    await b.post("t2", b"x", None)
    await a.put_inbox("t3", b"x", None)
    await a.release("t3", 1)
    assert await a.filled() == ((ALICE, "t2"), (ALICE, "t3"))
    assert await b.filled() == ((ALICE, "t3"),)


async def test_an_end_that_does_not_know_of_a_post_is_refused(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation("t1"), creation("t2"))
    await b.post("t1", b"x", None)
    end = replace(move(1, COMPLETED, document=snapshot("t1")), inbox_seen=0)
    other = replace(end, task_id="t2", snapshot=snapshot("t2"))
    assert [type(o) for o in await write_together(a, end, other)] == [UnreadError, type(None)]
    assert (await load(a)).state is WORKING
    await write(a, replace(end, inbox_seen=1, inbox_taken=(1,)))
    assert (await load(a)).state is COMPLETED


async def test_an_end_under_an_old_lease_is_a_conflict_whatever_was_posted(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    await b.post("t1", b"x", None)
    await a.leave()
    await b.take_over("t1", 1)
    end = replace(move(1, COMPLETED, document=snapshot("t1")), inbox_seen=0)
    assert [type(o) for o in await write_together(a, end)] == [ConflictError]


async def test_a_message_for_a_task_that_another_replica_has_ended_is_not_kept(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    await a.leave()
    await b.take_over("t1", 1)
    await write(b, move(1, COMPLETED, document=snapshot("t1"), epoch=2))
    with pytest.raises(ConflictError):
        await a.put_inbox("t1", b"x", send("m2"), epoch=1)
    assert await a.find_send(send("m2").key, 0) is None
    assert await a.read_inbox("t1") == ()


async def test_a_message_for_a_task_that_was_ended_here_is_known_to_be_sent(join: Join) -> None:
    a = await join("a")
    await write(a, creation(), move(1, COMPLETED, document=snapshot("t1")))
    await a.put_inbox("t1", b"x", send("m2"), epoch=1)
    assert await a.find_send(send("m2").key, 0) == send("m2")
    assert await a.read_inbox("t1") == ()


async def test_a_message_for_a_task_that_goes_on_elsewhere_is_kept(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    await a.leave()
    await b.take_over("t1", 1)
    assert await a.put_inbox("t1", b"x", send("m2"), epoch=1) == 1
    assert [item.body for item in await b.read_inbox("t1")] == [b"x"]


# --- sends --------------------------------------------------------------------------------------


async def test_the_same_send_at_two_replicas_makes_one_task(join: Join) -> None:
    a, b = await join("a"), await join("b")
    first, second = (replace(send("m1", task_id=task_id), since_ms=500) for task_id in ("t1", "t2"))
    outcomes = [
        *await write_together(a, creation("t1", record=first)),
        *await write_together(b, creation("t2", record=second), creation("t3")),
    ]
    assert [type(outcome) for outcome in outcomes] == [type(None), SentBeforeError, type(None)]
    assert await b.load(ALICE, "t2") is None
    found = await b.find_send(first.key, 0)
    assert found is not None
    assert (found.task_id, found.at_ms) == ("t1", 1000)


@pytest.mark.parametrize(
    "change",
    [
        {"digest": b"other"},  # real clients reuse ids for other messages
        {"since_ms": 1001, "at_ms": 2000},  # the first was too long ago
        {"since_ms": 0},  # it does not matter who was first
    ],
)
async def test_another_send_of_the_same_id_replaces_the_record(
    join: Join, change: dict[str, object]
) -> None:
    a, b = await join("a"), await join("b")
    first = replace(send("m1", task_id="t1"), since_ms=500)
    second = replace(first, task_id="t2", **change)
    await write(a, creation("t1", record=first))
    await write(b, creation("t2", record=second))
    found = await a.find_send(first.key, 0)
    assert found is not None
    assert found.task_id == "t2"


async def test_a_post_that_was_sent_before_is_refused(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation())
    record = replace(send("m2"), since_ms=500)
    await a.put_inbox("t1", b"x", record)
    with pytest.raises(SentBeforeError):
        await b.post("t1", b"x", record)
    with pytest.raises(SentBeforeError):
        await b.put_inbox("t1", b"x", record)
    assert [item.n for item in await b.read_inbox("t1")] == [1]


async def test_an_answer_without_a_task_is_remembered_once(join: Join) -> None:
    a, b = await join("a"), await join("b")
    record = replace(send("m1", task_id=""), reply=b"{}", since_ms=500)
    outcomes: asyncio.Queue[object] = asyncio.Queue()
    a.remember_send(record, outcomes.put_nowait)
    assert await outcomes.get() is None
    b.remember_send(record, outcomes.put_nowait)
    assert isinstance(await outcomes.get(), SentBeforeError)


# --- following ----------------------------------------------------------------------------------


async def test_tasks_whose_log_got_longer_have_moved(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation("t1"), creation("t2"), chunk(1, task_id="t2", events=3))
    assert await b.moved({"t1": 1, "t2": 1, "t9": 0}) == ("t2",)
    assert await b.moved({"t2": 4}) == ()
    assert await b.moved({}) == ()


# --- what others remove ---------------------------------------------------------------------------


async def test_what_another_replica_has_removed_is_not_shown_for_long(join: Join) -> None:
    a, b = await join("a"), await join("b")
    await write(a, creation(state=COMPLETED, document=snapshot("t1")))
    assert (await load(a)).state is COMPLETED
    assert await b.delete_ended(10**9) == 1
    assert await a.delete_ended(10**9) == 0
    assert await a.load(ALICE, "t1") is None
