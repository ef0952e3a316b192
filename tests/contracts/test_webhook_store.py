"""What every store promises about webhooks: registering, taking, going on, dead letters."""

import asyncio

import pytest
from msgspec.structs import replace

from dragoman.errors import ConflictError
from dragoman.model.tasks import TaskState
from dragoman.stores.base import TaskStore, TaskWrite
from dragoman.stores.webhooks import (
    LetterKey,
    Webhook,
    WebhookCounts,
    WebhookKey,
)
from tests.contracts.storing import (
    ALICE,
    BOB,
    COMPLETED,
    WORKING,
    chunk,
    creation,
    move,
    registration,
    snapshot,
    with_webhook,
    write,
    write_together,
)

pytestmark = pytest.mark.anyio

KEY = WebhookKey("t1", "w1")
UNTIL = 60_000


async def take(store: TaskStore, now_ms: int = 2000, **how: object) -> tuple[Webhook, ...]:
    values: dict[str, object] = {"until_ms": UNTIL, "limit": 10, "except_hosts": (), **how}
    return await store.webhooks.take_due(now_ms=now_ms, **values)  # pyright: ignore[reportArgumentType] - checked by the callers


async def take_one(store: TaskStore, now_ms: int = 2000) -> Webhook:
    (taken,) = await take(store, now_ms)
    return taken


async def stored(store: TaskStore, key: WebhookKey = KEY) -> Webhook:
    webhook = await store.webhooks.get(key)
    assert webhook is not None
    return webhook


async def go_on(store: TaskStore, taken: Webhook, seq: int) -> Webhook | None:
    return await store.webhooks.advance(
        taken, seq=seq, state=WORKING, now_ms=3000, until_ms=UNTIL + 1
    )


async def bury(store: TaskStore, taken: Webhook, seq: int) -> Webhook | None:
    return await store.webhooks.bury(
        taken, seq=seq, state=WORKING, attempts=20, finding="gone", now_ms=3000, until_ms=UNTIL + 1
    )


# --- registering --------------------------------------------------------------------------------


async def test_a_webhook_of_a_new_task_has_everything_to_tell(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration(), at_ms=1000))
    webhook = await stored(store)
    assert (webhook.scope, webhook.new) == (ALICE, registration())
    assert (webhook.cursor, webhook.state) == (0, None)
    assert webhook.pending_since_ms == 1000


async def test_a_task_that_is_refused_has_no_webhook(store: TaskStore) -> None:
    await write(store, creation())
    refused = with_webhook(creation(), registration())
    other = creation("t2")
    outcomes = await write_together(store, refused, other)
    assert isinstance(outcomes[0], ConflictError)
    assert await store.webhooks.get(KEY) is None


async def test_a_webhook_of_a_running_task_is_told_of_what_follows(store: TaskStore) -> None:
    await write(store, creation(), chunk(1), chunk(2))
    put = await store.webhooks.put("t1", registration())
    assert put == await stored(store)
    assert (put.cursor, put.state, put.is_pending) == (3, WORKING, False)
    await write(store, replace(move(3, COMPLETED), at_ms=4000))
    assert (await stored(store)).pending_since_ms == 4000


async def test_a_webhook_needs_a_task(store: TaskStore) -> None:
    with pytest.raises(ConflictError):
        await store.webhooks.put("t1", registration())


async def test_a_webhook_that_replaces_another_goes_on_where_it_stood(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()))
    taken = await take_one(store)
    assert await store.webhooks.postpone(taken, attempts=3, due_ms=9_000_000, finding="HTTP 500")
    new = registration(url="https://hooks.example/b", created_ms=7000)
    await store.webhooks.put("t1", new)
    webhook = await stored(store)
    assert webhook.new == replace(new, created_ms=500)
    assert (webhook.cursor, webhook.attempts, webhook.finding) == (0, 0, "")
    assert [each.key for each in await take(store, 7000)] == [KEY]


async def test_one_who_has_taken_the_webhook_that_was_replaced_has_it_no_more(
    store: TaskStore,
) -> None:
    await write(store, with_webhook(creation(), registration()))
    taken = await take_one(store)
    await store.webhooks.put("t1", registration(url="https://hooks.example/b"))
    assert await go_on(store, taken, 1) is None
    assert (await stored(store)).cursor == 0


async def test_to_register_the_same_again_changes_nothing(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()))
    taken = await take_one(store)
    await store.webhooks.put("t1", registration(created_ms=7000))
    assert await stored(store) == taken
    assert await go_on(store, taken, 1) is not None


async def test_webhooks_of_a_task_are_listed_oldest_first(store: TaskStore) -> None:
    await write(store, creation(), creation("t2"))
    for webhook_id, created_ms in (("b", 2), ("c", 1), ("a", 2), ("d", 3)):
        await store.webhooks.put("t1", registration(webhook_id, created_ms=created_ms))
    await store.webhooks.put("t2", registration("other"))
    first = await store.webhooks.of_task("t1", after=None, limit=2)
    assert [each.key.id for each in first] == ["c", "a"]
    rest = await store.webhooks.of_task("t1", after=first[-1].position, limit=10)
    assert [each.key.id for each in rest] == ["b", "d"]


async def test_to_remove_a_webhook_twice_does_no_harm(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()))
    taken = await take_one(store)
    assert await store.webhooks.remove(KEY)
    assert not await store.webhooks.remove(KEY)
    assert await store.webhooks.get(KEY) is None
    assert await go_on(store, taken, 1) is None
    assert not await store.webhooks.postpone(taken, attempts=1, due_ms=0, finding="")
    await write(store, move(1, COMPLETED))
    assert await take(store) == ()


async def test_webhooks_are_counted_by_task_and_by_owner(store: TaskStore) -> None:
    await write(store, creation(), creation("t2"), creation("t3", scope=BOB))
    for task_id, webhook_id in (("t1", "a"), ("t1", "b"), ("t2", "a"), ("t3", "a")):
        await store.webhooks.put(task_id, registration(webhook_id))
    assert await store.webhooks.count(ALICE, "t1") == WebhookCounts(2, 3)
    assert await store.webhooks.count(BOB, "t1") == WebhookCounts(2, 1)


async def test_a_webhook_counts_for_its_owner_until_all_was_sent(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()), move(1, COMPLETED))
    assert await store.webhooks.count(ALICE, "t1") == WebhookCounts(1, 1)
    assert await go_on(store, await take_one(store), 2) is not None
    assert await store.webhooks.count(ALICE, "t1") == WebhookCounts(1, 0)
    await store.webhooks.put("t1", registration("late"))
    assert await store.webhooks.count(ALICE, "t1") == WebhookCounts(2, 0)


# --- what makes a webhook pending ---------------------------------------------------------------


async def test_only_who_wants_artifacts_has_something_to_tell_of_them(store: TaskStore) -> None:
    await write(store, creation())
    await store.webhooks.put("t1", registration("plain"))
    await store.webhooks.put("t1", registration("all", wants=("states", "artifacts")))
    await write(store, replace(chunk(1), at_ms=1500))
    assert [each.key.id for each in await take(store)] == ["all"]
    await write(store, replace(move(2, COMPLETED), at_ms=1600))
    assert [each.key.id for each in await take(store)] == ["plain"]


async def test_a_write_without_events_makes_nothing_pending(store: TaskStore) -> None:
    await write(store, creation())
    await store.webhooks.put("t1", registration(wants=("artifacts",)))
    await write(
        store,
        TaskWrite(task_id="t1", epoch=1, expected_seq=1, entries=(), events=0, attempts=1, at_ms=5),
    )
    assert await take(store) == ()


async def test_a_webhook_is_pending_since_its_first_news(store: TaskStore) -> None:
    await write(store, creation())
    await store.webhooks.put("t1", registration())
    await write(store, replace(move(1, WORKING), at_ms=1500))
    await write(store, replace(move(2, WORKING), at_ms=1600))
    assert (await stored(store)).pending_since_ms == 1500


async def test_whoever_watches_is_woken_by_news(store: TaskStore) -> None:
    woken = asyncio.Event()
    store.webhooks.watch(woken.set)
    await write(store, creation(), chunk(1))
    await store.webhooks.put("t1", registration())
    await write(store, chunk(2))
    # All that was to be reported has been, once something later was.
    await write(store, creation("t2"))
    assert not woken.is_set()
    await write(store, move(3, COMPLETED))
    async with asyncio.timeout(10):
        await woken.wait()


async def test_whoever_watches_is_woken_by_a_webhook_that_comes_with_its_task(
    store: TaskStore,
) -> None:
    woken = asyncio.Event()
    store.webhooks.watch(woken.set)
    await write(store, with_webhook(creation(), registration()))
    async with asyncio.timeout(10):
        await woken.wait()


# --- taking -------------------------------------------------------------------------------------


async def test_what_was_taken_is_not_taken_again_before_its_time(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()))
    first = await take_one(store)
    assert first.claimed_until_ms == UNTIL
    assert await take(store, UNTIL - 1) == ()
    second = await take_one(store, UNTIL)
    assert second.claim != first.claim
    assert await go_on(store, first, 1) is None
    assert await go_on(store, second, 1) is not None


async def test_the_longest_due_are_taken_first(store: TaskStore) -> None:
    for number, at_ms in enumerate((1300, 1100, 1200, 9000)):
        made = creation(f"t{number}")
        await write(store, with_webhook(made, registration(), at_ms=at_ms))
    assert [each.key.task_id for each in await take(store, limit=2)] == ["t1", "t2"]
    assert [each.key.task_id for each in await take(store, limit=2)] == ["t0"]


async def test_some_hosts_are_left_alone(store: TaskStore) -> None:
    for number, host in enumerate(("a.example", "b.example", "c.example")):
        made = creation(f"t{number}")
        await write(store, with_webhook(made, registration(host=host)))
    found = await take(store, except_hosts={"a.example", "c.example"})
    assert [each.new.host for each in found] == ["b.example"]


async def test_what_is_given_back_is_due_when_it_was_said(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()))
    taken = await take_one(store)
    assert await store.webhooks.postpone(taken, attempts=2, due_ms=5000, finding="HTTP 503")
    assert await take(store, 4999) == ()
    again = await take_one(store, 5000)
    assert (again.attempts, again.finding, again.cursor) == (2, "HTTP 503", 0)


# --- going on -----------------------------------------------------------------------------------


async def test_a_webhook_with_more_to_send_stays_taken(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()), move(1, COMPLETED))
    taken = await take_one(store)
    rest = await go_on(store, taken, 1)
    assert rest is not None
    assert rest == await stored(store)
    assert (rest.cursor, rest.state, rest.attempts) == (1, WORKING, 0)
    assert (rest.is_pending, rest.claimed_until_ms) == (True, UNTIL + 1)
    assert await take(store) == ()
    done = await go_on(store, rest, 2)
    assert done is not None
    assert (done.cursor, done.is_pending, done.claimed_until_ms) == (2, False, 0)


async def test_news_that_come_while_the_last_is_noted_are_not_overlooked(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()))
    taken = await take_one(store)
    outcome: asyncio.Future[object] = asyncio.get_running_loop().create_future()
    store.append(move(1, COMPLETED), outcome.set_result)
    rest = await go_on(store, taken, 1)
    assert await outcome is None
    assert rest is not None
    assert (await stored(store)).is_pending


async def test_after_the_last_the_next_news_count(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()))
    done = await go_on(store, await take_one(store), 1)
    assert done is not None
    assert not done.is_pending
    await write(store, replace(move(1, COMPLETED), at_ms=4000))
    taken = await take_one(store, 4000)
    assert (taken.cursor, taken.pending_since_ms) == (1, 4000)


# --- dead letters -------------------------------------------------------------------------------


async def test_a_dead_letter_is_kept_and_the_next_goes_on(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()), move(1, COMPLETED))
    rest = await bury(store, await take_one(store), 1)
    assert rest is not None
    assert (rest.cursor, rest.attempts, rest.is_pending) == (1, 0, True)
    (letter,) = await store.webhooks.dead_letters(after=None, limit=10)
    assert letter.key == LetterKey("t1", "w1", 1)
    assert (letter.host, letter.attempts, letter.finding) == ("hooks.example", 20, "gone")
    assert (letter.at_ms, letter.is_queued) == (3000, False)


async def buried(store: TaskStore) -> Webhook:
    """Have two dead letters, and nothing else to send."""
    await write(store, with_webhook(creation(), registration()), move(1, COMPLETED))
    rest = await bury(store, await take_one(store), 1)
    assert rest is not None
    done = await bury(store, rest, 2)
    assert done is not None
    assert not done.is_pending
    return done


async def test_dead_letters_are_sent_again_in_their_order(store: TaskStore) -> None:
    await buried(store)
    keys = [LetterKey("t1", "w1", 2), LetterKey("t1", "w1", 1), LetterKey("t1", "w1", 9)]
    assert await store.webhooks.retry(keys, 5000) == 2
    taken = await take_one(store, 5000)
    assert (taken.letter_seq, taken.cursor) == (1, 2)
    rest = await go_on(store, taken, 1)
    assert rest is not None
    assert (rest.letter_seq, rest.cursor, rest.state) == (2, 2, WORKING)
    done = await go_on(store, rest, 2)
    assert done is not None
    assert (done.letter_seq, done.is_pending) == (0, False)
    assert await store.webhooks.dead_letters(after=None, limit=10) == ()


async def test_a_dead_letter_that_was_sent_again_in_vain_stays_one(store: TaskStore) -> None:
    await buried(store)
    await store.webhooks.retry([LetterKey("t1", "w1", 1)], 5000)
    done = await bury(store, await take_one(store, 5000), 1)
    assert done is not None
    assert (done.cursor, done.letter_seq, done.is_pending) == (2, 0, False)
    letters = await store.webhooks.dead_letters(after=None, limit=10)
    assert [(each.key.seq, each.is_queued) for each in letters] == [(1, False), (2, False)]


async def test_a_retry_wakes_whoever_watches(store: TaskStore) -> None:
    await buried(store)
    woken = asyncio.Event()
    store.webhooks.watch(woken.set)
    await store.webhooks.retry([LetterKey("t1", "w1", 1)], 5000)
    async with asyncio.timeout(10):
        await woken.wait()


async def test_dead_letters_can_be_dropped(store: TaskStore) -> None:
    await buried(store)
    key = LetterKey("t1", "w1", 1)
    assert await store.webhooks.drop([key, LetterKey("t1", "w1", 9)]) == 1
    assert await store.webhooks.retry([key], 5000) == 0
    (left,) = await store.webhooks.dead_letters(after=key, limit=10)
    assert left.key.seq == 2


async def test_a_dropped_letter_that_was_to_be_sent_is_not(store: TaskStore) -> None:
    await buried(store)
    key = LetterKey("t1", "w1", 1)
    await store.webhooks.retry([key], 5000)
    await store.webhooks.drop([key])
    assert (await take_one(store, 5000)).letter_seq == 0


async def test_a_dead_letter_outlasts_that_there_is_nothing_else_to_send(store: TaskStore) -> None:
    await buried(store)
    first = LetterKey("t1", "w1", 1)
    await store.webhooks.retry([first], 5000)
    await store.webhooks.drop([first])
    done = await go_on(store, await take_one(store, 5000), 2)
    assert done is not None
    assert not done.is_pending
    (left,) = await store.webhooks.dead_letters(after=None, limit=10)
    assert left.key.seq == 2


async def test_dead_letters_go_with_their_webhook(store: TaskStore) -> None:
    await buried(store)
    await store.webhooks.remove(KEY)
    assert await store.webhooks.dead_letters(after=None, limit=10) == ()


# --- for operators ------------------------------------------------------------------------------


async def test_all_webhooks_are_found_by_their_keys(store: TaskStore) -> None:
    await write(store, creation(), creation("t2", scope=BOB))
    for task_id, webhook_id in (("t2", "a"), ("t1", "b"), ("t1", "a")):
        await store.webhooks.put(task_id, registration(webhook_id))
    first = await store.webhooks.every(after=None, limit=2)
    assert [each.key for each in first] == [WebhookKey("t1", "a"), WebhookKey("t1", "b")]
    (last,) = await store.webhooks.every(after=first[-1].key, limit=2)
    assert last == await stored(store, WebhookKey("t2", "a"))


async def test_the_overview_counts_what_there_is(store: TaskStore) -> None:
    found = await store.webhooks.overview()
    assert (found.webhooks, found.pending, found.oldest_ms, found.dead_letters) == (0, 0, 0, 0)
    await buried(store)
    await write(store, with_webhook(creation("t2"), registration(), at_ms=1700))
    await write(store, with_webhook(creation("t3"), registration(), at_ms=1500))
    found = await store.webhooks.overview()
    assert (found.webhooks, found.pending, found.oldest_ms, found.dead_letters) == (3, 2, 1500, 2)


# --- age ----------------------------------------------------------------------------------------


async def test_a_task_with_something_to_tell_is_not_removed(store: TaskStore) -> None:
    await write(store, with_webhook(creation(), registration()), creation("t2"))
    await write(store, move(1, COMPLETED, document=snapshot("end")))
    await write(store, move(1, COMPLETED, task_id="t2", document=snapshot("end")))
    assert await store.delete_ended(9000) == 1
    assert (await stored(store)).is_pending
    rest = await bury(store, await take_one(store), 1)
    assert rest is not None
    assert await go_on(store, rest, 2) is not None
    assert await store.delete_ended(9000) == 1
    assert await store.webhooks.every(after=None, limit=10) == ()
    assert await store.webhooks.dead_letters(after=None, limit=10) == ()


async def test_tasks_in_other_states_are_told_of_as_well(store: TaskStore) -> None:
    await write(store, creation())
    await store.webhooks.put("t1", registration())
    await write(store, replace(move(1, TaskState.INPUT_REQUIRED), at_ms=1500))
    assert (await take_one(store)).cursor == 1
