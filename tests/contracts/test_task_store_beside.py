"""What every TaskStore promises beside the log: journal, inbox, lease, names and sends."""

import asyncio

import pytest

from dragoman.errors import ConflictError, StoreError
from dragoman.model.tasks import TaskState
from dragoman.stores.base import (
    WHOLE_INBOX,
    InboxItem,
    Scope,
    SendKey,
    SendRecord,
    TaskStore,
)
from tests.contracts.storing import (
    ALICE,
    BOB,
    WORKING,
    chunk,
    creation,
    journal_entry,
    load,
    move,
    plan,
    remember,
    send,
    with_journal,
    write,
    write_together,
)

pytestmark = pytest.mark.anyio

# --- journal, inbox, lease ----------------------------------------------------------------------


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
    await write(store, move(1, WORKING, inbox_taken=(1, 2)))
    assert await store.put_inbox("t1", b"c", None) == 3
    assert (await load(store)).inbox == (InboxItem(3, b"c"),)


async def test_only_items_that_are_taken_leave_the_inbox(store: TaskStore) -> None:
    await write(store, creation())
    for body in (b"a", b"b", b"c"):
        await store.put_inbox("t1", body, None)
    await write(store, move(1, WORKING, inbox_taken=(2,)))
    assert (await load(store)).inbox == (InboxItem(1, b"a"), InboxItem(3, b"c"))


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


async def test_the_whole_inbox_can_be_taken_up(store: TaskStore) -> None:
    await write(store, creation())
    for body in (b"a", b"b"):
        await store.put_inbox("t1", body, None)
    await write(store, move(1, WORKING, inbox_taken=(WHOLE_INBOX,)))
    assert (await load(store)).inbox == ()


async def test_a_message_that_comes_after_the_end_leaves_only_its_send(store: TaskStore) -> None:
    await write(store, creation(), move(1, TaskState.CANCELED))
    await store.put_inbox("t1", b"late", send("m2"))
    assert (await load(store)).inbox == ()
    assert await store.find_send(send("m2").key, 0) == send("m2")


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


async def test_tasks_at_work_of_every_owner_are_listed_by_id(store: TaskStore) -> None:
    for number, state in enumerate(TaskState):
        scope = ALICE if number % 2 else BOB
        await write(store, creation(f"t{number}", scope=scope, state=state))
    await write(store, creation("t8"), chunk(1, task_id="t8"), creation("t9"))
    at_work = {TaskState.SUBMITTED, WORKING}
    expected = [f"t{n}" for n, state in enumerate(TaskState) if state in at_work] + ["t8", "t9"]
    tasks = await store.at_work(after_id="", limit=100)
    assert [task.id for task in tasks] == expected
    assert tasks[2] == await load(store, "t8")
    rest = await store.at_work(after_id=expected[0], limit=2)
    assert [task.id for task in rest] == expected[1:3]


async def test_a_task_that_sleeps_is_due_when_its_time_has_come(store: TaskStore) -> None:
    for task_id, wake_at_ms in (("t1", 3000), ("t2", 2000), ("t3", 9000)):
        await write(store, creation(task_id), plan(1, task_id, wake_at_ms=wake_at_ms))
    assert await store.at_work(after_id="", limit=100) == ()
    assert [task.id for task in await store.due(now_ms=3000, limit=100)] == ["t2", "t1"]
    assert [task.id for task in await store.due(now_ms=3000, limit=1)] == ["t2"]
    await write(store, plan(1, "t2", wake_at_ms=0))
    assert [task.id for task in await store.due(now_ms=3000, limit=100)] == ["t1"]
    assert [task.id for task in await store.at_work(after_id="", limit=100)] == ["t2"]


async def test_attempts_are_kept_until_a_write_or_a_take_over_says_otherwise(
    store: TaskStore,
) -> None:
    await write(store, creation())
    await store.take_over("t1", 1, attempts=2)
    await store.take_over("t1", 2)
    await write(store, chunk(1, epoch=3))
    assert (await load(store)).attempts == 2
    await write(store, plan(2, "t1", epoch=3, attempts=0))
    assert (await load(store)).attempts == 0


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
