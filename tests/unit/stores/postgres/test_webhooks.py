"""Webhooks that several replicas share: what one does while another does the opposite."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from dragoman.stores.postgres.store import PostgresTaskStore
from dragoman.stores.webhooks import LetterKey, Webhook, WebhookKey
from tests.contracts.storing import (
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
from tests.durability.waiting import until
from tests.support.postgres import new_database
from tests.support.stores.postgres.looking import ask, handed_over, locked, waiting_for_locks

pytestmark = pytest.mark.anyio

KEY = WebhookKey("t1", "w1")


@pytest.fixture
def url() -> str:
    return new_database()


@asynccontextmanager
async def opened(url: str) -> AsyncGenerator[PostgresTaskStore]:
    store = PostgresTaskStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def take(store: PostgresTaskStore, limit: int = 10) -> tuple[Webhook, ...]:
    return await store.webhooks.take_due(now_ms=2000, until_ms=60_000, limit=limit, except_hosts=())


async def rest(store: PostgresTaskStore, taken: Webhook, seq: int = 1) -> Webhook | None:
    return await store.webhooks.advance(taken, seq=seq, state=WORKING, now_ms=3000, until_ms=60_000)


async def bury(store: PostgresTaskStore, taken: Webhook, seq: int) -> Webhook | None:
    return await store.webhooks.bury(
        taken, seq=seq, state=WORKING, attempts=9, finding="gone", now_ms=3000, until_ms=60_000
    )


async def stored(store: PostgresTaskStore) -> Webhook:
    webhook = await store.webhooks.get(KEY)
    assert webhook is not None
    return webhook


async def in_line(url: str, *steps: Callable[[], Awaitable[object]]) -> list[object]:
    """Have steps wait for the row of the task, one behind the other, and then go on."""
    async with locked(url):
        waiting: list[asyncio.Future[object]] = []
        for step in steps:
            waiting.append(asyncio.ensure_future(step()))
            await until(lambda: waiting_for_locks(url) == len(waiting))
    return await asyncio.gather(*waiting)


# --- events that come at the same moment --------------------------------------------------------


async def test_an_event_that_waits_for_a_registration_is_told(url: str) -> None:
    async with opened(url) as a, opened(url) as b:
        await write(a, creation())
        await in_line(
            url,
            lambda: a.webhooks.put("t1", registration()),
            lambda: handed_over(b, move(1, COMPLETED))[0],
        )
        webhook = await stored(a)
        assert (webhook.cursor, webhook.is_pending) == (1, True)


async def test_a_registration_that_waits_for_an_event_begins_after_it(url: str) -> None:
    async with opened(url) as a, opened(url) as b:
        await write(a, creation())
        await in_line(
            url,
            lambda: handed_over(b, move(1, COMPLETED))[0],
            lambda: a.webhooks.put("t1", registration()),
        )
        webhook = await stored(a)
        assert (webhook.cursor, webhook.state, webhook.is_pending) == (2, COMPLETED, False)


async def test_an_event_that_waits_for_the_last_to_be_noted_is_told(url: str) -> None:
    async with opened(url) as a, opened(url) as b:
        await write(a, with_webhook(creation(), registration()))
        (taken,) = await take(a)
        outcomes = await in_line(
            url, lambda: rest(a, taken), lambda: handed_over(b, move(1, COMPLETED))[0]
        )
        noted = outcomes[0]
        assert isinstance(noted, Webhook)
        # It had nothing left when that was noted; and has now.
        assert not noted.is_pending
        assert (await stored(a)).is_pending


async def test_who_waits_for_an_event_sees_it(url: str) -> None:
    async with opened(url) as a, opened(url) as b:
        await write(a, with_webhook(creation(), registration()))
        (taken,) = await take(a)
        outcomes = await in_line(
            url, lambda: handed_over(b, move(1, COMPLETED))[0], lambda: rest(a, taken)
        )
        noted = outcomes[1]
        assert isinstance(noted, Webhook)
        assert (noted.is_pending, noted.claimed_until_ms) == (True, 60_000)


async def test_a_letter_that_is_queued_while_the_last_is_noted_is_sent(url: str) -> None:
    async with opened(url) as a, opened(url) as b:
        await write(a, with_webhook(creation(), registration()), move(1, WORKING))
        (taken,) = await take(a)
        held = await bury(a, taken, 1)
        assert held is not None
        noted, queued = await in_line(
            url,
            lambda: rest(a, held, 2),
            # It does not wait for the task, but is done while the other does.
            lambda: _queue_and_wait(b),
        )
        assert queued == 1
        assert isinstance(noted, Webhook)
        assert (noted.is_pending, noted.letter_seq) == (True, 1)


async def _queue_and_wait(store: PostgresTaskStore) -> int:
    queued = await store.webhooks.retry([LetterKey("t1", "w1", 1)], 3000)
    # In line as well, so that whoever counts those who wait is content.
    handed = handed_over(store, chunk(2))
    assert await handed[0] is None
    return queued


# --- several who send ---------------------------------------------------------------------------


async def test_no_webhook_is_taken_by_two(url: str) -> None:
    async with opened(url) as a, opened(url) as b:
        made = [with_webhook(creation(f"t{n}"), registration()) for n in range(40)]
        assert await write_together(a, *made) == [None] * 40
        found = await asyncio.gather(*(take(store, 7) for store in (a, b) * 4))
        keys = [webhook.key for batch in found for webhook in batch]
        assert len(keys) == len(set(keys))
        rest_of_them = [*await take(a, 40), *await take(b, 40)]
        assert len(keys) + len(rest_of_them) == 40


async def test_a_store_that_is_opened_leaves_what_others_have_taken(url: str) -> None:
    async with opened(url) as a:
        await write(a, with_webhook(creation(), registration()))
        (taken,) = await take(a)
        async with opened(url) as b:
            assert await take(b) == ()
        assert await rest(a, taken) is not None


async def test_what_one_replica_removes_another_has_no_more(url: str) -> None:
    async with opened(url) as a, opened(url) as b:
        await write(a, with_webhook(creation(), registration()))
        (taken,) = await take(a)
        assert await b.webhooks.remove(KEY)
        assert await bury(a, taken, 1) is None
        assert await a.webhooks.dead_letters(after=None, limit=9) == ()


# --- what it costs ------------------------------------------------------------------------------


async def test_webhooks_cost_no_statement_of_their_own(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation("t0"), with_webhook(creation(), registration()))
        (taken,) = await take(store)
        await rest(store, taken)
        before = int(ask(url, "SELECT max(batch) FROM writers"))
        together = (
            with_webhook(creation("t2"), registration()),
            move(1, COMPLETED, document=snapshot("1")),
            chunk(1, task_id="t0"),
        )
        assert await write_together(store, *together) == [None] * 3
        assert int(ask(url, "SELECT max(batch) FROM writers")) == before + 1
        assert {webhook.key.task_id for webhook in await take(store)} == {"t1", "t2"}


# --- replicas of the version before, which know of no webhooks ----------------------------------


async def test_what_an_older_replica_writes_is_told_with_its_next_status(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation())
        await store.webhooks.put("t1", registration())
        ask(url, "UPDATE tasks SET seq = 2, state = 3, status_at_ms = 1500 WHERE id = 't1'")
        assert [webhook.cursor for webhook in await take(store)] == [1]


async def test_an_older_replica_removes_no_task_that_has_something_to_tell(url: str) -> None:
    async with opened(url) as store:
        await write(store, with_webhook(creation(), registration()), creation("t2"))
        ask(url, "DELETE FROM tasks")
        assert ask(url, "SELECT string_agg(id, ' ') FROM tasks") == "t1"
        (taken,) = await take(store)
        await bury(store, taken, 1)
        ask(url, "DELETE FROM tasks")
        assert await store.webhooks.overview() == await _empty_overview()


async def _empty_overview() -> object:
    async with opened(new_database()) as store:
        return await store.webhooks.overview()


# --- texts --------------------------------------------------------------------------------------


async def test_ids_may_have_any_character(url: str) -> None:
    async with opened(url) as store:
        await write(store, with_webhook(creation(), registration("a\x00b")))
        (taken,) = await take(store)
        assert taken.key.id == "a\x00b"
        await bury(store, taken, 1)
        key = LetterKey("t1", "a\x00b", 1)
        (letter,) = await store.webhooks.dead_letters(after=None, limit=9)
        assert letter.key == key
        assert await store.webhooks.retry([key], 5000) == 1
        assert await store.webhooks.drop([key]) == 1
        assert await store.webhooks.remove(taken.key)
