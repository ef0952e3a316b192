"""What every TaskStore promises of journals and plans: results, times to wake, attempts."""

import pytest

from dragoman.errors import ConflictError
from dragoman.model.tasks import TaskState
from dragoman.stores.base import JournalEntry, TaskStore, TaskWrite
from tests.contracts.storing import (
    ALICE,
    BOB,
    COMPLETED,
    WORKING,
    chunk,
    creation,
    event,
    events,
    journal_entry,
    load,
    message,
    move,
    plan,
    snapshot,
    write,
    write_together,
)

pytestmark = pytest.mark.anyio

INPUT_REQUIRED = TaskState.INPUT_REQUIRED


def results(seq: int, *entries: JournalEntry, task_id: str = "t1", epoch: int = 1) -> TaskWrite:
    """A write of results and nothing else."""
    return TaskWrite(
        task_id=task_id, epoch=epoch, expected_seq=seq, entries=(), events=0, journal=entries
    )


def result(n: int, *, seq: int = 0) -> JournalEntry:
    return JournalEntry(n=n, kind="step", name="pay", result=b'{"\xc3\xa9":%d}' % n, seq=seq)


# --- results without events -------------------------------------------------------------------


async def test_results_alone_are_recorded_and_leave_the_task_as_it_is(store: TaskStore) -> None:
    await write(store, creation(document=snapshot("one")), chunk(1))
    before = await load(store)
    await write(store, results(2, result(1, seq=1), result(2, seq=2)))
    assert await store.read_journal("t1") == (result(1, seq=1), result(2, seq=2))
    assert await load(store) == before


async def test_the_log_goes_on_after_results_alone_without_a_gap(store: TaskStore) -> None:
    await write(store, creation(), results(1, result(1)), chunk(1), results(2, result(2)), chunk(2))
    assert [seq for seq, _ in await events(store)] == [1, 2, 3]
    entries = await store.read_entries("t1", until=3)
    assert entries == (message("hello"), event("1"), event("2"), event("3"))
    assert (await load(store)).tail == entries


async def test_many_writes_of_one_commit_keep_their_order(store: TaskStore) -> None:
    outcomes = await write_together(
        store,
        creation(),
        results(1, result(1, seq=1)),
        chunk(1),
        results(2, result(2, seq=2)),
        move(2, INPUT_REQUIRED, document=snapshot("three")),
        results(3, result(3, seq=3)),
    )
    assert outcomes == [None] * 6
    assert [(e.n, e.seq) for e in await store.read_journal("t1")] == [(1, 1), (2, 2), (3, 3)]
    task = await load(store)
    assert (task.seq, task.state, task.snapshot, task.tail) == (
        3,
        INPUT_REQUIRED,
        snapshot("three"),
        (),
    )


async def test_results_under_an_old_lease_are_refused(store: TaskStore) -> None:
    await write(store, creation())
    await store.take_over("t1", 1)
    (outcome,) = await write_together(store, results(1, result(1)))
    assert isinstance(outcome, ConflictError)
    assert await store.read_journal("t1") == ()
    await write(store, results(1, result(1), epoch=2))


async def test_results_after_an_event_the_writer_does_not_know_are_refused(
    store: TaskStore,
) -> None:
    await write(store, creation(), chunk(1))
    (outcome,) = await write_together(store, results(1, result(1)))
    assert isinstance(outcome, ConflictError)
    assert await store.read_journal("t1") == ()


async def test_results_of_no_task_are_refused(store: TaskStore) -> None:
    (outcome,) = await write_together(store, results(0, result(1)))
    assert isinstance(outcome, ConflictError)


async def test_a_number_that_is_taken_is_refused_and_the_others_are_not(store: TaskStore) -> None:
    await write(store, creation(), results(1, result(1)), creation("t2"))
    outcomes = await write_together(
        store, results(1, journal_entry(1)), results(1, result(1), task_id="t2")
    )
    assert isinstance(outcomes[0], ConflictError)
    assert outcomes[1] is None
    assert await store.read_journal("t1") == (result(1),)
    assert await store.read_journal("t2") == (result(1),)


# --- when to wake -----------------------------------------------------------------------------


async def test_a_time_to_wake_is_kept_until_another_is_said(store: TaskStore) -> None:
    await write(store, creation())
    assert (await load(store)).wake_at_ms == 0
    await write(store, plan(1, wake_at_ms=5000), chunk(1), move(2, WORKING), results(3, result(1)))
    assert (await load(store)).wake_at_ms == 5000
    await write(store, plan(3, wake_at_ms=7000))
    assert (await load(store)).wake_at_ms == 7000
    await write(store, plan(3, wake_at_ms=0))
    assert (await load(store)).wake_at_ms == 0


async def test_the_last_plan_of_a_commit_holds(store: TaskStore) -> None:
    await write(store, creation())
    await write_together(
        store,
        plan(1, wake_at_ms=5000, attempts=1),
        plan(1, wake_at_ms=0),
        plan(1, attempts=2),
        chunk(1),
    )
    task = await load(store)
    assert (task.wake_at_ms, task.attempts) == (0, 2)


async def test_a_new_task_may_have_a_plan_at_once(store: TaskStore) -> None:
    outcomes = await write_together(store, creation(), plan(1, wake_at_ms=5000))
    assert outcomes == [None, None]
    assert [task.id for task in await store.due(now_ms=5000, limit=10)] == ["t1"]


async def test_those_that_are_due_longest_come_first_whoever_they_belong_to(
    store: TaskStore,
) -> None:
    times = {"t1": 3000, "t2": 1000, "t3": 4001, "t4": 2000, "t5": 4000}
    for number, (task_id, wake_at_ms) in enumerate(times.items()):
        scope = ALICE if number % 2 else BOB
        await write(store, creation(task_id, scope=scope), plan(1, task_id, wake_at_ms=wake_at_ms))
    due = await store.due(now_ms=4000, limit=10)
    assert [task.id for task in due] == ["t2", "t4", "t1", "t5"]
    assert [task.id for task in await store.due(now_ms=4000, limit=2)] == ["t2", "t4"]
    assert due[1] == await load(store, "t4")
    assert await store.due(now_ms=999, limit=10) == ()


async def test_a_task_that_waits_for_its_client_may_be_due(store: TaskStore) -> None:
    await write(store, creation(), move(1, INPUT_REQUIRED), plan(2, wake_at_ms=5000))
    assert [task.state for task in await store.due(now_ms=5000, limit=10)] == [INPUT_REQUIRED]


async def test_those_that_wait_or_sleep_are_not_at_work(store: TaskStore) -> None:
    await write(store, creation("t1", state=TaskState.SUBMITTED), creation("t2"))
    await write(store, creation("t3"), plan(1, "t3", wake_at_ms=5000))
    await write(store, creation("t4", state=INPUT_REQUIRED))
    await write(store, creation("t5", state=TaskState.AUTH_REQUIRED))
    await write(store, creation("t6"), move(1, COMPLETED, task_id="t6", document=snapshot("six")))
    assert [task.id for task in await store.at_work(after_id="", limit=10)] == ["t1", "t2"]
    await write(store, plan(1, "t3", wake_at_ms=0), move(1, WORKING, task_id="t4"))
    at_work = await store.at_work(after_id="t1", limit=10)
    assert [task.id for task in at_work] == ["t2", "t3", "t4"]


# --- attempts ---------------------------------------------------------------------------------


@pytest.mark.parametrize("attempts", [3, 0, -1])
async def test_a_take_over_may_set_the_attempts(store: TaskStore, attempts: int) -> None:
    await write(store, creation(), plan(1, attempts=2))
    assert await store.take_over("t1", 1, attempts=attempts) == 2
    task = await load(store)
    assert (task.epoch, task.attempts) == (2, attempts)


async def test_a_take_over_that_is_refused_sets_nothing(store: TaskStore) -> None:
    await write(store, creation(), plan(1, attempts=2))
    with pytest.raises(ConflictError):
        await store.take_over("t1", 7, attempts=0)
    assert (await load(store)).attempts == 2


async def test_a_plan_under_an_old_lease_is_refused(store: TaskStore) -> None:
    await write(store, creation())
    await store.take_over("t1", 1)
    (outcome,) = await write_together(store, plan(1, wake_at_ms=5000, attempts=2))
    assert isinstance(outcome, ConflictError)
    task = await load(store)
    assert (task.wake_at_ms, task.attempts) == (0, 0)


async def test_plans_do_not_touch_the_lists(store: TaskStore) -> None:
    await write(store, creation(at_ms=1000))
    await write(store, plan(1, wake_at_ms=5000, attempts=1))
    assert (await load(store)).status_at_ms == 1000
