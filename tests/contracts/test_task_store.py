"""What every TaskStore promises, held against each of them.

A store joins by a line in ``STORES``: a name, and a function that makes an unopened store in a
directory.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Final

import pytest

from dragoman.errors import ConflictError, StoreError, StoreUnavailableError
from dragoman.model.documents import TaskDocument
from dragoman.model.tasks import TERMINAL, TaskState
from dragoman.stores.base import (
    InboxItem,
    JournalEntry,
    NewTask,
    Position,
    Scope,
    SendKey,
    SendRecord,
    StoredPage,
    StoredTask,
    TaskQuery,
    TaskStore,
    TaskWrite,
)
from dragoman.stores.memory import MemoryTaskStore
from dragoman.stores.sqlite.store import SQLiteTaskStore

pytestmark = pytest.mark.anyio

STORES: Final[dict[str, Callable[[Path], TaskStore]]] = {
    "memory": lambda _: MemoryTaskStore(),
    "sqlite": lambda directory: SQLiteTaskStore(directory / "tasks.db"),
}

ALICE: Final = Scope("", "alice")
BOB: Final = Scope("", "bob")
OTHER_TENANT: Final = Scope("acme", "alice")

WORKING: Final = TaskState.WORKING
COMPLETED: Final = TaskState.COMPLETED


@pytest.fixture(params=list(STORES))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TaskStore]:
    store = STORES[request.param](tmp_path)
    await store.open()
    yield store
    await store.close()


# --- values -------------------------------------------------------------------------------------


def message(text: str) -> bytes:
    return b'{"message":{"messageId":"%s"}}' % text.encode()


def event(text: str) -> bytes:
    return b'{"artifactUpdate":{"x":"%s"}}' % text.encode()


def snapshot(text: str) -> TaskDocument:
    return TaskDocument(b'{"id":"%s"}' % text.encode(), b"[]", b'[{"messageId":"m"}]')


def send(
    message_id: str, *, at_ms: int = 1000, scope: Scope = ALICE, task_id: str = "t1"
) -> SendRecord:
    key = SendKey(scope, message_id)
    return SendRecord(key=key, digest=b"digest", at_ms=at_ms, task_id=task_id, reply=b"")


def creation(
    task_id: str = "t1",
    *,
    scope: Scope = ALICE,
    context_id: str = "c1",
    state: TaskState = WORKING,
    at_ms: int = 1000,
    document: TaskDocument | None = None,
    record: SendRecord | None = None,
    alias: str = "",
) -> TaskWrite:
    return TaskWrite(
        task_id=task_id,
        epoch=1,
        expected_seq=0,
        created=NewTask(
            scope=scope,
            context_id=context_id,
            skill_id="echo",
            origin_dialect="1.0",
            created_ms=900,
            alias=alias,
        ),
        entries=(message("hello"), event("1")),
        events=1,
        state=state,
        status_at_ms=at_ms,
        snapshot=document,
        send=record,
    )


def chunk(
    seq: int,
    *,
    task_id: str = "t1",
    epoch: int = 1,
    entries: tuple[bytes, ...] | None = None,
    events: int = 1,
) -> TaskWrite:
    """A pure append: it leaves the state and the snapshot alone."""
    return TaskWrite(
        task_id=task_id,
        epoch=epoch,
        expected_seq=seq,
        entries=entries or tuple(event(str(seq + n + 1)) for n in range(events)),
        events=events,
    )


def move(
    seq: int,
    state: TaskState,
    *,
    task_id: str = "t1",
    epoch: int = 1,
    at_ms: int = 2000,
    document: TaskDocument | None = None,
    inbox_taken: int = 0,
) -> TaskWrite:
    return TaskWrite(
        task_id=task_id,
        epoch=epoch,
        expected_seq=seq,
        entries=(event(str(seq + 1)),),
        events=1,
        state=state,
        status_at_ms=at_ms,
        snapshot=document,
        inbox_taken=inbox_taken,
    )


# --- doing --------------------------------------------------------------------------------------


async def write_together(store: TaskStore, *writes: TaskWrite) -> list[StoreError | None]:
    """Hand over writes in one pass of the loop and return their outcomes in order of reporting."""
    outcomes: list[tuple[int, StoreError | None]] = []
    finished = asyncio.get_running_loop().create_future()

    def hear(number: int, outcome: StoreError | None) -> None:
        outcomes.append((number, outcome))
        if len(outcomes) == len(writes):
            finished.set_result(None)

    for number, write in enumerate(writes):
        store.append(write, lambda outcome, number=number: hear(number, outcome))
    async with asyncio.timeout(10):
        await finished
    assert [number for number, _ in outcomes] == list(range(len(writes)))
    return [outcome for _, outcome in outcomes]


async def write(store: TaskStore, *writes: TaskWrite) -> None:
    """Write one after the other; all must succeed."""
    for each in writes:
        assert await write_together(store, each) == [None]


async def remember(store: TaskStore, record: SendRecord) -> None:
    future: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()
    store.remember_send(record, future.set_result)
    assert await future is None


async def load(store: TaskStore, task_id: str = "t1", scope: Scope = ALICE) -> StoredTask:
    task = await store.load(scope, task_id)
    assert task is not None
    return task


async def events(store: TaskStore, after: int = 0, limit: int = 1000) -> list[tuple[int, bytes]]:
    return [(e.seq, e.json) for e in await store.read_events("t1", after=after, limit=limit)]


async def all_pages(store: TaskStore, limit: int, **conditions: object) -> list[StoredTask]:
    tasks: list[StoredTask] = []
    after: Position | None = None
    while True:
        page = await page_of(store, limit=limit, after=after, **conditions)
        tasks += page.tasks
        if not page.has_more:
            return tasks
        after = Position(tasks[-1].status_at_ms, tasks[-1].id)


async def page_of(store: TaskStore, **conditions: object) -> StoredPage:
    values: dict[str, object] = {"scope": ALICE, "limit": 50, **conditions}
    return await store.list_tasks(TaskQuery(**values))  # pyright: ignore[reportArgumentType] - checked by the Struct's users


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


# --- journal, inbox, lease ----------------------------------------------------------------------


def journal_entry(n: int) -> JournalEntry:
    return JournalEntry(n=n, kind="step", name=f"step {n}", result=b'{"n":%d}' % n)


def with_journal(seq: int, *numbers: int) -> TaskWrite:
    return TaskWrite(
        task_id="t1",
        epoch=1,
        expected_seq=seq,
        entries=(event(str(seq + 1)),),
        events=1,
        journal=tuple(journal_entry(n) for n in numbers),
    )


async def test_the_journal_is_read_oldest_first(store: TaskStore) -> None:
    await write(store, creation(), with_journal(1, 1, 2), with_journal(2, 3))
    assert await store.read_journal("t1") == (
        journal_entry(1),
        journal_entry(2),
        journal_entry(3),
    )


async def test_a_journal_number_is_used_once(store: TaskStore) -> None:
    await write(store, creation(), with_journal(1, 1))
    assert [type(o) for o in await write_together(store, with_journal(2, 1))] == [ConflictError]
    assert (await load(store)).seq == 2


async def test_inbox_numbers_grow_even_after_items_were_taken(store: TaskStore) -> None:
    await write(store, creation())
    assert await store.put_inbox("t1", b"a", None) == 1
    assert await store.put_inbox("t1", b"b", None) == 2
    await write(store, move(1, WORKING, inbox_taken=2))
    assert await store.put_inbox("t1", b"c", None) == 3
    assert (await load(store)).inbox == (InboxItem(3, b"c"),)


async def test_only_items_up_to_the_taken_number_leave_the_inbox(store: TaskStore) -> None:
    await write(store, creation())
    for body in (b"a", b"b", b"c"):
        await store.put_inbox("t1", body, None)
    await write(store, move(1, WORKING, inbox_taken=2))
    assert (await load(store)).inbox == (InboxItem(3, b"c"),)


async def test_inbox_messages_need_no_lease_and_no_number(store: TaskStore) -> None:
    await write(store, creation())
    numbers = await asyncio.gather(*(store.put_inbox("t1", b"x", None) for _ in range(20)))
    assert sorted(numbers) == list(range(1, 21))
    await write(store, chunk(1))


async def test_an_inbox_message_brings_its_send(store: TaskStore) -> None:
    await write(store, creation())
    await store.put_inbox("t1", b"a", send("m2"))
    assert await store.find_send(send("m2").key, 0) == send("m2")


async def test_an_inbox_message_for_an_unknown_task_is_refused_with_its_send(
    store: TaskStore,
) -> None:
    with pytest.raises(ConflictError):
        await store.put_inbox("t9", b"a", send("m2"))
    assert await store.find_send(send("m2").key, 0) is None


async def test_taking_over_fences_the_old_lease(store: TaskStore) -> None:
    await write(store, creation())
    assert await store.take_over("t1", 1) == 2
    assert [type(o) for o in await write_together(store, chunk(1))] == [ConflictError]
    await write(store, chunk(1, epoch=2))
    assert (await load(store)).epoch == 2


async def test_a_lease_is_taken_over_once(store: TaskStore) -> None:
    await write(store, creation())
    results = await asyncio.gather(
        store.take_over("t1", 1), store.take_over("t1", 1), return_exceptions=True
    )
    assert results[0] == 2
    assert isinstance(results[1], ConflictError)


async def test_a_take_over_comes_between_the_writes_before_and_after_it(store: TaskStore) -> None:
    await write(store, creation())
    outcomes: list[StoreError | None] = []
    store.append(chunk(1), outcomes.append)
    taking_over = asyncio.ensure_future(store.take_over("t1", 1))
    await asyncio.sleep(0)
    store.append(chunk(2), outcomes.append)
    assert await taking_over == 2
    await write(store, chunk(2, epoch=2))
    assert [type(outcome) for outcome in outcomes] == [type(None), ConflictError]


async def test_the_lease_of_an_unknown_task_cannot_be_taken_over(store: TaskStore) -> None:
    with pytest.raises(ConflictError):
        await store.take_over("t9", 1)


async def test_a_task_is_found_by_what_its_client_calls_it(store: TaskStore) -> None:
    await write_together(store, creation("t1", alias="mine"), creation("t2"))
    assert await store.find_alias(ALICE, "mine") == "t1"
    assert await store.find_alias(ALICE, "t1") is None
    assert await store.find_alias(ALICE, "") is None


async def test_what_one_owner_calls_a_task_means_nothing_to_another(store: TaskStore) -> None:
    await write(store, creation("t1", alias="mine"), creation("t2", scope=BOB, alias="mine"))
    assert await store.find_alias(ALICE, "mine") == "t1"
    assert await store.find_alias(BOB, "mine") == "t2"
    assert await store.find_alias(Scope("elsewhere", ALICE.owner), "mine") is None


async def test_a_new_task_takes_over_a_name_that_was_in_use(store: TaskStore) -> None:
    await write(store, creation("t1", alias="mine"), creation("t2", alias="mine"))
    assert await store.find_alias(ALICE, "mine") == "t2"


async def test_a_refused_creation_leaves_its_name_alone(store: TaskStore) -> None:
    await write(store, creation("t1", alias="mine"))
    await write_together(store, creation("t1", alias="other"))
    assert await store.find_alias(ALICE, "other") is None


async def test_unfinished_tasks_of_every_owner_are_listed_by_id(store: TaskStore) -> None:
    for number, state in enumerate(TaskState):
        scope = ALICE if number % 2 else BOB
        await write(store, creation(f"t{number}", scope=scope, state=state))
    await write(store, chunk(1, task_id="t1"))
    expected = [f"t{n}" for n, state in enumerate(TaskState) if state not in TERMINAL]
    tasks = await store.unfinished(after_id="", limit=100)
    assert [task.id for task in tasks] == expected
    assert tasks[1] == await load(store, "t1")
    rest = await store.unfinished(after_id=expected[0], limit=2)
    assert [task.id for task in rest] == expected[1:3]


# --- sends --------------------------------------------------------------------------------------


async def test_a_send_is_found_with_the_task_it_made(store: TaskStore) -> None:
    await write(store, creation(record=send("m1")))
    assert await store.find_send(send("m1").key, since_ms=1000) == send("m1")


async def test_a_send_that_was_answered_without_a_task_is_found(store: TaskStore) -> None:
    record = SendRecord(
        key=SendKey(ALICE, "m1"), digest=b"d", at_ms=5, reply=b'{"message":{"x":"\xc3\xa9"}}'
    )
    await remember(store, record)
    assert await store.find_send(record.key, 0) == record


async def test_a_send_before_the_window_is_not_found(store: TaskStore) -> None:
    await remember(store, send("m1", at_ms=1000))
    assert await store.find_send(send("m1").key, since_ms=1001) is None


async def test_the_newest_record_of_a_send_wins(store: TaskStore) -> None:
    await remember(store, send("m1", at_ms=1000))
    await remember(store, send("m1", at_ms=2000, task_id="t2"))
    assert await store.find_send(send("m1").key, 0) == send("m1", at_ms=2000, task_id="t2")


async def test_old_sends_are_forgotten_and_others_kept(store: TaskStore) -> None:
    for number in range(10):
        await remember(store, send(f"m{number}", at_ms=1000 + number))
    await store.forget_sends(before_ms=1005)
    found = [await store.find_send(SendKey(ALICE, f"m{n}"), 0) for n in range(10)]
    assert [record is not None for record in found] == [n >= 5 for n in range(10)]


async def test_the_same_message_id_of_two_owners_is_two_sends(store: TaskStore) -> None:
    await remember(store, send("m1"))
    await remember(store, send("m1", scope=BOB, task_id="t2"))
    assert await store.find_send(SendKey(ALICE, "m1"), 0) == send("m1")
    assert await store.find_send(SendKey(BOB, "m1"), 0) == send("m1", scope=BOB, task_id="t2")


# --- lists --------------------------------------------------------------------------------------


@pytest.fixture
async def many_tasks(store: TaskStore) -> TaskStore:
    """Forty tasks of Alice with many equal times, in four contexts and two states; one of Bob."""
    writes = [
        creation(
            f"t{n:02}",
            context_id=f"c{n % 4}",
            state=COMPLETED if n % 3 else WORKING,
            at_ms=1000 + n // 7,
            document=snapshot(str(n)),
        )
        for n in range(40)
    ]
    random.Random(7).shuffle(writes)  # noqa: S311 - a fixed order, no secret
    await write_together(store, *writes, creation("bob", scope=BOB))
    return store


def listed(tasks: list[StoredTask]) -> list[str]:
    return [task.id for task in tasks]


NEWEST_FIRST: Final = [f"t{n:02}" for n in reversed(range(40))]


@pytest.mark.parametrize("limit", [1, 3, 7, 39, 40, 41])
async def test_pages_show_every_task_once_newest_first(many_tasks: TaskStore, limit: int) -> None:
    assert listed(await all_pages(many_tasks, limit)) == NEWEST_FIRST


FILTERS: Final[dict[str, tuple[dict[str, object], Callable[[int], bool]]]] = {
    "state": ({"state": COMPLETED}, lambda n: n % 3 != 0),
    "context": ({"context_id": "c2"}, lambda n: n % 4 == 2),
    "time": ({"status_at_or_after_ms": 1003}, lambda n: n // 7 >= 3),
    "state and context": (
        {"state": WORKING, "context_id": "c1"},
        lambda n: n % 3 == 0 and n % 4 == 1,
    ),
    "state and time": (
        {"state": WORKING, "status_at_or_after_ms": 1002},
        lambda n: n % 3 == 0 and n // 7 >= 2,
    ),
    "context and time": (
        {"context_id": "c3", "status_at_or_after_ms": 1004},
        lambda n: n % 4 == 3 and n // 7 >= 4,
    ),
    "all three": (
        {"state": COMPLETED, "context_id": "c3", "status_at_or_after_ms": 1001},
        lambda n: n % 3 != 0 and n % 4 == 3 and n // 7 >= 1,
    ),
    "nothing fits": ({"state": TaskState.FAILED}, lambda _: False),
    "unknown context": ({"context_id": "c9"}, lambda _: False),
}


@pytest.mark.parametrize("name", FILTERS)
async def test_filters_hold_together_and_the_total_counts_what_fits(
    many_tasks: TaskStore, name: str
) -> None:
    conditions, fits = FILTERS[name]
    expected = [f"t{n:02}" for n in reversed(range(40)) if fits(n)]
    assert listed(await all_pages(many_tasks, 3, **conditions)) == expected
    first = await page_of(many_tasks, limit=2, **conditions)
    assert first.total == len(expected)
    if len(expected) > 2:
        after = Position(first.tasks[-1].status_at_ms, first.tasks[-1].id)
        second = await page_of(many_tasks, limit=2, after=after, **conditions)
        assert second.total == len(expected)


async def test_a_task_that_appears_meanwhile_does_not_shift_later_pages(
    many_tasks: TaskStore,
) -> None:
    first = await page_of(many_tasks, limit=10)
    await write(many_tasks, creation("t99", at_ms=5000))
    after = Position(first.tasks[-1].status_at_ms, first.tasks[-1].id)
    second = await page_of(many_tasks, limit=10, after=after)
    assert listed([*first.tasks, *second.tasks]) == NEWEST_FIRST[:20]


async def test_a_listed_task_is_the_task_that_is_loaded(many_tasks: TaskStore) -> None:
    await write(many_tasks, chunk(1, task_id="t39"))
    page = await page_of(many_tasks, limit=3)
    assert list(page.tasks) == [await load(many_tasks, task.id) for task in page.tasks]
    assert page.tasks[0].tail == (event("2"),)


async def test_a_change_of_state_moves_a_task_to_the_front(many_tasks: TaskStore) -> None:
    await write(many_tasks, move(1, COMPLETED, task_id="t00", at_ms=9000))
    assert (await page_of(many_tasks, limit=1)).tasks[0].id == "t00"
    assert (await page_of(many_tasks, state=WORKING)).total == 13
    assert (await page_of(many_tasks, state=COMPLETED)).total == 27


# --- both stores together -----------------------------------------------------------------------


class Script:
    """A seeded run of random operations, and what the tasks must look like."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - repeatable, no secret
        self.now = 1000
        self.known: dict[str, tuple[int, TaskState]] = {}

    def next_writes(self) -> list[TaskWrite]:
        return [self.next_write() for _ in range(self.chance.randrange(1, 12))]

    def next_write(self) -> TaskWrite:
        self.now += self.chance.randrange(3)
        running = [task_id for task_id, (_, state) in self.known.items() if state not in TERMINAL]
        if not running or self.chance.random() < 0.3:
            return self.create()
        task_id = self.chance.choice(running)
        seq, state = self.known[task_id]
        draw = self.chance.random()
        if draw < 0.1:
            # Stale on purpose; whatever happens, both stores must agree.
            return chunk(seq + self.chance.choice((-1, 1)), task_id=task_id)
        if draw < 0.5:
            count = self.chance.randrange(1, 4)
            self.known[task_id] = (seq + count, state)
            return chunk(seq, task_id=task_id, events=count)
        new_state = self.chance.choice(list(TaskState))
        self.known[task_id] = (seq + 1, new_state)
        keep = new_state in TERMINAL or self.chance.random() < 0.5
        return move(
            seq,
            new_state,
            task_id=task_id,
            at_ms=self.now,
            document=snapshot(f"{task_id}@{seq + 1}") if keep else None,
        )

    def create(self) -> TaskWrite:
        task_id = f"t{len(self.known):03}"
        state = self.chance.choice(list(TaskState))
        self.known[task_id] = (1, state)
        return creation(
            task_id,
            scope=self.chance.choice((ALICE, BOB)),
            context_id=self.chance.choice(("c1", "c2")),
            state=state,
            at_ms=self.now,
            document=snapshot(task_id) if state in TERMINAL else None,
            record=send(f"m-{task_id}", at_ms=self.now),
        )


@pytest.mark.parametrize("seed", range(8))
async def test_random_writes_leave_every_store_alike_and_its_counters_exact(
    store: TaskStore, seed: int
) -> None:
    reference = MemoryTaskStore()
    await reference.open()
    script = Script(seed)
    for _ in range(40):
        writes = script.next_writes()
        outcomes = await write_together(store, *writes)
        expected = await write_together(reference, *writes)
        assert [type(o) for o in outcomes] == [type(o) for o in expected]
    for task_id, (seq, state) in script.known.items():
        task = await store.load(ALICE, task_id) or await load(store, task_id, BOB)
        assert (task.seq, task.state) == (seq, state)
        assert await reference.load(task.scope, task_id) == task
        entries = await store.read_entries(task_id, until=seq)
        assert entries == await reference.read_entries(task_id, until=seq)
    for scope in (ALICE, BOB):
        for state in (None, *TaskState):
            tasks = await all_pages(store, 7, scope=scope, state=state)
            assert tasks == await all_pages(reference, 1000, scope=scope, state=state)
            assert (await page_of(store, scope=scope, state=state)).total == len(tasks)
    await reference.close()


# --- opening and closing ------------------------------------------------------------------------


async def test_a_store_is_available_while_open(tmp_path: Path) -> None:
    for make in STORES.values():
        store = make(tmp_path)
        assert not store.is_available
        await store.open()
        assert store.is_available
        await store.close()
        assert not store.is_available


async def test_closing_commits_what_was_handed_over(tmp_path: Path) -> None:
    for make in STORES.values():
        store = make(tmp_path)
        await store.open()
        outcomes: list[StoreError | None] = []
        for number in range(100):
            store.append(creation(f"t{number}"), outcomes.append)
        await store.close()
        assert outcomes == [None] * 100


async def test_a_write_after_closing_is_told_that_the_store_is_gone(tmp_path: Path) -> None:
    for make in STORES.values():
        store = make(tmp_path)
        await store.open()
        await store.close()
        future: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()
        store.append(creation(), future.set_result)
        assert isinstance(await future, StoreUnavailableError)


@pytest.mark.parametrize("name", [name for name in STORES if name != "memory"])
async def test_a_reopened_store_shows_the_same(name: str, tmp_path: Path) -> None:
    store = STORES[name](tmp_path)
    await store.open()
    await write(store, creation(record=send("m1")), chunk(1), with_journal(2, 1))
    await write(store, creation("t2", state=COMPLETED, document=snapshot("two")))
    await store.put_inbox("t1", b"waiting", send("m2"))
    before = [await load(store), await load(store, "t2"), await page_of(store)]
    await store.close()

    store = STORES[name](tmp_path)
    await store.open()
    assert [await load(store), await load(store, "t2"), await page_of(store)] == before
    assert await store.read_journal("t1") == (journal_entry(1),)
    assert await store.find_send(send("m1").key, 0) == send("m1")
    assert await store.find_send(send("m2").key, 0) == send("m2")
    assert await store.put_inbox("t1", b"next", None) == 2
    assert await events(store) == [(n, event(str(n))) for n in range(1, 4)]
    await store.close()
