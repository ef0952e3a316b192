"""What every TaskStore promises of one task and its log, held against each of them."""

from typing import Final

import pytest

from dragoman.errors import ConflictError
from dragoman.model.tasks import TaskState
from dragoman.stores.base import (
    JournalEntry,
    Scope,
    SendKey,
    StoredTask,
    TaskStore,
    TaskWrite,
)
from tests.contracts.storing import (
    ALICE,
    BOB,
    COMPLETED,
    OTHER_TENANT,
    WORKING,
    chunk,
    creation,
    event,
    events,
    load,
    message,
    move,
    page_of,
    send,
    snapshot,
    write,
    write_together,
)

pytestmark = pytest.mark.anyio

# --- one task -----------------------------------------------------------------------------------


async def test_a_new_task_is_loaded_as_it_was_written(store: TaskStore) -> None:
    await write(store, creation(document=snapshot("one")))
    assert await load(store) == StoredTask(
        id="t1",
        scope=ALICE,
        context_id="c1",
        skill_id="echo",
        origin_dialect="1.0",
        created_ms=900,
        state=WORKING,
        status_at_ms=1000,
        epoch=1,
        seq=1,
        snapshot=snapshot("one"),
        snapshot_seq=1,
    )


async def test_a_task_without_a_snapshot_is_all_tail(store: TaskStore) -> None:
    await write(store, creation(), chunk(1))
    task = await load(store)
    assert (task.snapshot, task.snapshot_seq, task.seq) == (None, 0, 2)
    assert task.tail == (message("hello"), event("1"), event("2"))


async def test_the_tail_is_what_came_after_the_snapshot(store: TaskStore) -> None:
    await write(store, creation(), chunk(1, events=3), move(4, WORKING, document=snapshot("five")))
    await write(store, chunk(5, entries=(message("more"), event("6"))), chunk(6, events=2))
    task = await load(store)
    assert (task.snapshot, task.snapshot_seq, task.seq) == (snapshot("five"), 5, 8)
    assert task.tail == (message("more"), event("6"), event("7"), event("8"))


async def test_a_snapshot_in_the_middle_of_a_commit_ends_where_the_tail_begins(
    store: TaskStore,
) -> None:
    outcomes = await write_together(
        store,
        creation(),
        chunk(1),
        move(2, WORKING, document=snapshot("three")),
        chunk(3),
        chunk(4),
    )
    assert outcomes == [None] * 5
    task = await load(store)
    assert (task.snapshot, task.snapshot_seq, task.seq) == (snapshot("three"), 3, 5)
    assert task.tail == (event("4"), event("5"))
    assert await events(store) == [(n, event(str(n))) for n in range(1, 6)]


async def test_a_snapshot_without_a_state_keeps_the_state(store: TaskStore) -> None:
    await write(store, creation())
    snapshot_only = TaskWrite(
        task_id="t1",
        epoch=1,
        expected_seq=1,
        entries=(event("2"),),
        events=1,
        snapshot=snapshot("two"),
    )
    await write(store, snapshot_only)
    task = await load(store)
    assert (task.state, task.status_at_ms) == (WORKING, 1000)
    assert (task.snapshot, task.snapshot_seq, task.seq) == (snapshot("two"), 2, 2)


async def test_a_state_without_a_snapshot_keeps_the_snapshot(store: TaskStore) -> None:
    await write(store, creation(document=snapshot("one")), move(1, TaskState.INPUT_REQUIRED))
    task = await load(store)
    assert (task.state, task.status_at_ms, task.seq) == (TaskState.INPUT_REQUIRED, 2000, 2)
    assert (task.snapshot, task.snapshot_seq) == (snapshot("one"), 1)


async def test_an_ended_task_has_no_tail(store: TaskStore) -> None:
    await write(store, creation(), chunk(1), move(2, COMPLETED, document=snapshot("end")))
    task = await load(store)
    assert (task.state, task.seq, task.tail) == (COMPLETED, 3, ())
    assert task.snapshot == snapshot("end")


@pytest.mark.parametrize("state", list(TaskState))
async def test_every_state_is_stored(store: TaskStore, state: TaskState) -> None:
    await write(store, creation(state=state, document=snapshot("x")))
    assert (await load(store)).state is state


@pytest.mark.parametrize("scope", [BOB, OTHER_TENANT, Scope("", "")])
async def test_a_task_of_another_owner_does_not_exist(store: TaskStore, scope: Scope) -> None:
    await write(store, creation(record=send("m1")))
    assert await store.load(scope, "t1") is None
    assert await store.find_send(SendKey(scope, "m1"), 0) is None
    assert (await page_of(store, scope=scope)).total == 0


async def test_an_unknown_task_is_none(store: TaskStore) -> None:
    assert await store.load(ALICE, "t1") is None
    assert await events(store) == []
    assert await store.read_entries("t1", until=5) == ()
    assert await store.read_journal("t1") == ()


# --- compare and set ----------------------------------------------------------------------------

STALE_WRITES: Final = {
    "id that exists": creation(),
    "unknown task": chunk(0, task_id="t9"),
    "number already taken": chunk(1),
    "number inside a stored segment": chunk(3),
    "gap after the last event": chunk(5),
    "older lease": chunk(4, epoch=0),
    "newer lease than the stored one": chunk(4, epoch=2),
    "state change with a stale number": move(1, COMPLETED, document=snapshot("x")),
    "state change with a stale lease": move(4, COMPLETED, epoch=0, document=snapshot("x")),
}


@pytest.mark.parametrize("stale", STALE_WRITES.values(), ids=STALE_WRITES.keys())
async def test_a_stale_write_fails_alone_and_leaves_no_trace(
    store: TaskStore, stale: TaskWrite
) -> None:
    await write(store, creation(), chunk(1, events=3))
    before = await load(store)
    neighbours = creation("t2"), chunk(1, task_id="t2"), creation("t3", record=send("m3"))
    outcomes = await write_together(store, neighbours[0], stale, *neighbours[1:])
    assert [type(outcome) for outcome in outcomes] == [
        type(None),
        ConflictError,
        type(None),
        type(None),
    ]
    assert await load(store) == before
    assert (await load(store, "t2")).seq == 2
    assert (await page_of(store)).total == 3
    assert await store.find_send(send("m3").key, 0) == send("m3")


async def test_a_refused_write_stores_neither_its_send_nor_its_journal(store: TaskStore) -> None:
    await write(store, creation(record=send("m1", at_ms=1000)))
    refused = TaskWrite(
        task_id="t1",
        epoch=1,
        expected_seq=7,
        entries=(event("8"),),
        events=1,
        journal=(JournalEntry(n=1, kind="step", name="a", result=b"1"),),
        send=send("m1", at_ms=2000),
    )
    assert [type(o) for o in await write_together(store, refused)] == [ConflictError]
    assert await store.read_journal("t1") == ()
    assert await store.find_send(send("m1").key, 0) == send("m1", at_ms=1000)


async def test_of_two_writers_with_the_same_expectation_the_first_wins(store: TaskStore) -> None:
    await write(store, creation())
    first = chunk(1, entries=(event("first"),))
    second = chunk(1, entries=(event("second"),))
    outcomes = await write_together(store, first, second)
    assert [type(outcome) for outcome in outcomes] == [type(None), ConflictError]
    assert (await load(store)).tail[-1] == event("first")


async def test_writes_after_a_refused_one_of_the_same_task_are_refused_too(
    store: TaskStore,
) -> None:
    await write(store, creation())
    outcomes = await write_together(store, chunk(2), chunk(3), chunk(4))
    assert [type(outcome) for outcome in outcomes] == [ConflictError] * 3
    assert (await load(store)).seq == 1


async def test_writes_of_one_task_handed_over_together_are_kept_in_order(store: TaskStore) -> None:
    writes = [creation(), *(chunk(n) for n in range(1, 600))]
    assert await write_together(store, *writes) == [None] * 600
    assert await events(store) == [(n, event(str(n))) for n in range(1, 601)]


async def test_many_tasks_fit_into_one_commit(store: TaskStore) -> None:
    writes = [creation(f"t{n}", record=send(f"m{n}")) for n in range(700)]
    assert await write_together(store, *writes) == [None] * 700
    assert (await page_of(store)).total == 700
    assert await store.find_send(SendKey(ALICE, "m699"), 0) == send("m699")


# --- events and entries -------------------------------------------------------------------------


@pytest.fixture
async def five_events(store: TaskStore) -> TaskStore:
    """Two segments, 1 to 2 and 3 to 5, with a message before event 1 and one before event 4."""
    await write_together(store, creation(), chunk(1))
    await write(
        store, chunk(2, entries=(event("3"), message("again"), event("4"), event("5")), events=3)
    )
    return store


@pytest.mark.parametrize("after", range(7))
async def test_events_are_read_after_any_number(five_events: TaskStore, after: int) -> None:
    assert await events(five_events, after) == [
        (n, event(str(n))) for n in range(1, 6) if n > after
    ]


async def test_a_limit_still_returns_at_least_one_event(five_events: TaskStore) -> None:
    read = await events(five_events, after=0, limit=1)
    assert read[0] == (1, event("1"))
    assert len(read) < 5


async def test_reading_on_after_the_last_returned_event_finds_every_event(
    five_events: TaskStore,
) -> None:
    seen: list[tuple[int, bytes]] = []
    while read := await events(five_events, after=len(seen), limit=1):
        seen += read
    assert [seq for seq, _ in seen] == [1, 2, 3, 4, 5]


ENTRIES_UNTIL: Final = {
    0: (),
    1: (message("hello"), event("1")),
    2: (message("hello"), event("1"), event("2")),
    # The message before event 4 came with event 4.
    3: (message("hello"), event("1"), event("2"), event("3")),
    4: (message("hello"), event("1"), event("2"), event("3"), message("again"), event("4")),
}


@pytest.mark.parametrize("until", ENTRIES_UNTIL)
async def test_entries_are_read_up_to_an_event_and_not_beyond(
    five_events: TaskStore, until: int
) -> None:
    assert await five_events.read_entries("t1", until=until) == ENTRIES_UNTIL[until]


@pytest.mark.parametrize("until", [5, 99])
async def test_entries_up_to_the_last_event_are_all(five_events: TaskStore, until: int) -> None:
    entries = await five_events.read_entries("t1", until=until)
    assert entries == (*ENTRIES_UNTIL[4], event("5"))


async def test_events_stay_readable_after_the_end(store: TaskStore) -> None:
    await write(store, creation(), move(1, COMPLETED, document=snapshot("end")))
    assert await events(store, after=1) == [(2, event("2"))]
