"""What every TaskStore promises of lists, and that all stores are alike."""

import asyncio
import random
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from dragoman.errors import StoreError, StoreUnavailableError
from dragoman.model.tasks import TERMINAL, TaskState
from dragoman.stores.base import (
    Position,
    StoredTask,
    TaskStore,
    TaskWrite,
)
from dragoman.stores.memory.store import MemoryTaskStore
from tests.contracts.storing import (
    ALICE,
    BOB,
    COMPLETED,
    STORES,
    WORKING,
    all_pages,
    chunk,
    creation,
    event,
    events,
    journal_entry,
    load,
    move,
    page_of,
    send,
    snapshot,
    with_journal,
    write,
    write_together,
)

pytestmark = pytest.mark.anyio

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


@pytest.mark.parametrize("name", [name for name in STORES if "memory" not in name])
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
