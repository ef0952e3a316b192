"""What every TaskStore promises about age: which tasks have waited long, and what is removed."""

import asyncio

import pytest

from dragoman.errors import ConflictError
from dragoman.model.tasks import TERMINAL, TaskState
from dragoman.stores.base import TaskStore
from tests.contracts.storing import (
    ALICE,
    BOB,
    COMPLETED,
    OTHER_TENANT,
    chunk,
    creation,
    load,
    move,
    page_of,
    plan,
    send,
    snapshot,
    with_journal,
    write,
    write_together,
)

pytestmark = pytest.mark.anyio

ASKED = TaskState.INPUT_REQUIRED

# --- waiting ------------------------------------------------------------------------------------


async def test_tasks_that_wait_for_their_client_are_found_by_id(store: TaskStore) -> None:
    for number, state in enumerate(TaskState):
        scope = ALICE if number % 2 else BOB
        await write(store, creation(f"t{number}", scope=scope, state=state))
    await write(store, creation("t8", scope=OTHER_TENANT, state=ASKED), chunk(1, task_id="t8"))
    waiting = [f"t{n}" for n, state in enumerate(TaskState) if state.is_interrupted] + ["t8"]
    found = await store.waiting(before_ms=1001, after_id="", limit=100)
    assert [task.id for task in found] == waiting
    assert found[-1] == await load(store, "t8", OTHER_TENANT)
    rest = await store.waiting(before_ms=1001, after_id=waiting[0], limit=1)
    assert [task.id for task in rest] == waiting[1:2]


async def test_a_task_that_waits_since_later_is_not_found(store: TaskStore) -> None:
    await write(store, creation("t1", state=ASKED, at_ms=1000))
    assert await store.waiting(before_ms=1000, after_id="", limit=100) == ()


async def test_a_task_that_was_answered_waits_no_more(store: TaskStore) -> None:
    await write(store, creation("t1", state=ASKED), move(1, TaskState.WORKING))
    assert await store.waiting(before_ms=9000, after_id="", limit=100) == ()


# --- removing -----------------------------------------------------------------------------------


async def test_only_tasks_that_ended_before_the_time_are_removed(store: TaskStore) -> None:
    for number, state in enumerate(TaskState):
        await write(store, creation(f"t{number}", state=state, at_ms=1000))
    await write(store, creation("late", state=COMPLETED, at_ms=2000))
    assert await store.delete_ended(2000) == len(TERMINAL)
    left = {f"t{n}" for n, state in enumerate(TaskState) if state not in TERMINAL}
    page = await page_of(store)
    assert {task.id for task in page.tasks} == {"late", *left}
    assert await store.delete_ended(2000) == 0


async def test_all_that_belongs_to_a_removed_task_goes_with_it(store: TaskStore) -> None:
    await write(store, creation(alias="mine", record=send("m1")), with_journal(1, 1, 2))
    await store.put_inbox("t1", b"a", send("m2"))
    await write(store, plan(2, wake_at_ms=5000))
    await write(store, move(2, COMPLETED, document=snapshot("end")))
    assert await store.delete_ended(3000) == 1
    assert await store.load(ALICE, "t1") is None
    assert await store.read_events("t1", after=0, limit=100) == ()
    assert await store.read_entries("t1", until=3) == ()
    assert await store.read_journal("t1") == ()
    assert await store.find_alias(ALICE, "mine") is None
    assert await store.find_send(send("m1").key, 0) is None
    assert await store.find_send(send("m2").key, 0) is None
    assert await store.due(now_ms=9000, limit=100) == ()
    with pytest.raises(ConflictError):
        await store.put_inbox("t1", b"b", None)


async def test_what_belongs_to_others_stays(store: TaskStore) -> None:
    await write(store, creation("t1", alias="mine", record=send("m1"), state=COMPLETED))
    await write(store, creation("t2", alias="yours", record=send("m2", task_id="t2")))
    await store.put_inbox("t2", b"a", None)
    before = await load(store, "t2")
    await store.delete_ended(5000)
    assert await load(store, "t2") == before
    assert len(before.tail) == 2
    assert await store.find_alias(ALICE, "yours") == "t2"
    assert await store.find_send(send("m2").key, 0) is not None


async def test_a_name_that_another_task_has_taken_over_stays(store: TaskStore) -> None:
    await write(store, creation("t1", alias="mine", state=COMPLETED), creation("t2", alias="mine"))
    await store.delete_ended(5000)
    assert await store.find_alias(ALICE, "mine") == "t2"


async def test_a_task_that_was_just_read_is_gone_as_well(store: TaskStore) -> None:
    await write(store, creation(), move(1, COMPLETED, document=snapshot("end")))
    await load(store)
    await store.delete_ended(5000)
    assert await store.load(ALICE, "t1") is None


async def test_totals_stay_right(store: TaskStore) -> None:
    await write(store, creation("t1", state=COMPLETED), creation("t2", state=COMPLETED))
    await write(store, creation("t3"), creation("t4", state=COMPLETED, at_ms=9000))
    await store.delete_ended(5000)
    assert (await page_of(store)).total == 2
    assert (await page_of(store, state=COMPLETED)).total == 1
    assert (await page_of(store, context_id="c1")).total == 2


async def test_more_tasks_than_go_in_one_commit_are_removed(store: TaskStore) -> None:
    # Long ones and short ones, and between them some that stay.
    tasks = [
        creation(f"t{n}", state=TaskState.WORKING if n % 7 == 0 else COMPLETED) for n in range(1200)
    ]
    assert set(await write_together(store, *tasks)) == {None}
    await write(store, creation("long"), chunk(1, task_id="long", events=5000))
    await write(store, move(5001, COMPLETED, task_id="long"))
    assert await store.delete_ended(5000) == 1201 - len(range(0, 1200, 7))
    assert (await page_of(store)).total == len(range(0, 1200, 7))


async def test_other_writes_come_in_between(store: TaskStore) -> None:
    tasks = [creation(f"t{n}", state=COMPLETED) for n in range(1200)]
    await write_together(store, *tasks)
    removing = asyncio.ensure_future(store.delete_ended(5000))
    await write(store, creation("new"), chunk(1, task_id="new"))
    assert await removing == 1200
    assert (await load(store, "new")).seq == 2


async def test_an_id_can_be_used_again_after_its_task_was_removed(store: TaskStore) -> None:
    await write(store, creation(state=COMPLETED))
    await store.delete_ended(5000)
    await write(store, creation(at_ms=6000))
    assert (await load(store)).seq == 1
