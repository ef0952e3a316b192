"""Statements of which nobody has heard whether they were kept: the connection broke meanwhile.

A statement is planned when it is first seen, which takes an answer of its own. So each test sends
the like of it once before answers are lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from dragoman.errors import ConflictError, StoreError, StoreUnavailableError
from dragoman.stores.base import Placed
from dragoman.stores.postgres.store import PostgresTaskStore
from tests.contracts.storing import (
    WORKING,
    chunk,
    creation,
    events,
    load,
    page_of,
    plan,
    send,
    write,
    write_together,
)
from tests.durability.waiting import find, until
from tests.support.postgres import new_database
from tests.support.proxy import Proxy, proxied
from tests.support.stores.postgres.looking import (
    ask,
    handed_over,
    locked,
    name_of,
    waiting_for_locks,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def url() -> str:
    return new_database()


@asynccontextmanager
async def behind_a_proxy(url: str) -> AsyncGenerator[tuple[PostgresTaskStore, Proxy]]:
    async with proxied(url) as proxy:
        address = proxy.url.removeprefix("http://")
        store = PostgresTaskStore(f"postgresql://postgres@{address}/{name_of(url)}")
        await store.open()
        await store.join("a", lease_seconds=600)
        try:
            yield store, proxy
        finally:
            await store.close()


async def batches(url: str, number: int) -> None:
    """Wait until so many batches were kept."""

    async def look() -> bool | None:
        return int(ask(url, "SELECT max(batch) FROM writers")) == number or None

    await find(look)


async def test_a_commit_whose_answer_was_lost_is_reported_as_what_it_is(url: str) -> None:
    async with behind_a_proxy(url) as (store, proxy):
        await write(store, creation())
        await write_together(store, chunk(1), creation("t2", record=send("m2")))
        proxy.swallows_answers = True
        futures = handed_over(store, chunk(2), creation("t3", record=send("m3")))
        await batches(url, 3)
        assert not any(future.done() for future in futures)
        proxy.swallows_answers = False
        proxy.cut_all()
        assert await asyncio.gather(*futures) == [None, None]
        assert [seq for seq, _ in await events(store)] == [1, 2, 3]
        assert (await page_of(store)).total == 3
        assert ask(url, "SELECT batch FROM writers") == "3"
        await write(store, chunk(3))


async def test_a_write_that_never_arrived_is_sent_again(url: str) -> None:
    async with behind_a_proxy(url) as (store, proxy):
        await write(store, creation())
        proxy.swallows_questions = True
        (future,) = handed_over(store, chunk(1))
        await asyncio.sleep(0.05)
        assert not future.done()
        proxy.swallows_questions = False
        proxy.cut_all()
        assert await future is None
        assert [seq for seq, _ in await events(store)] == [1, 2]
        assert ask(url, "SELECT batch FROM writers") == "2"


async def test_writes_without_events_are_settled_as_well(url: str) -> None:
    async with behind_a_proxy(url) as (store, proxy):
        await write(store, creation(), plan(1, attempts=1))
        proxy.swallows_answers = True
        (future,) = handed_over(store, plan(1, wake_at_ms=5000, attempts=3))
        await batches(url, 3)
        proxy.swallows_answers = False
        proxy.cut_all()
        assert await future is None
        assert (await load(store)).attempts == 3
        assert ask(url, "SELECT batch FROM writers") == "3"


async def test_numbers_whose_answer_was_lost_are_found_again(url: str) -> None:
    async with behind_a_proxy(url) as (store, proxy):
        await write(store, creation())
        await store.put_inbox("t1", b"first", send("m1"))
        proxy.swallows_answers = True
        post = asyncio.ensure_future(store.post("t1", b"second", send("m2")))
        nowhere = asyncio.ensure_future(store.post("t9", b"nowhere", None))
        await batches(url, 3)
        proxy.swallows_answers = False
        proxy.cut_all()
        assert await post == Placed(2, WORKING, 1)
        with pytest.raises(ConflictError):
            await nowhere
        assert [item.n for item in (await load(store)).inbox] == [1, 2]


async def test_a_lease_whose_answer_was_lost_is_taken_once(url: str) -> None:
    async with behind_a_proxy(url) as (store, proxy):
        await write(store, creation())
        await store.take_over("t1", 1)
        proxy.swallows_answers = True
        taking = asyncio.ensure_future(store.take_over("t1", 2))
        await batches(url, 3)
        proxy.swallows_answers = False
        proxy.cut_all()
        assert await taking == 3
        assert (await load(store)).epoch == 3


async def test_a_statement_still_on_its_way_is_not_kept_behind_our_back(url: str) -> None:
    """The old connection's statement waits for a lock, while the new one sends the same again."""
    async with behind_a_proxy(url) as (store, proxy):
        await write(store, creation())
        async with locked(url):
            (future,) = handed_over(store, chunk(1))
            await until(lambda: waiting_for_locks(url) == 1)
            proxy.cut_all()
            await until(lambda: waiting_for_locks(url) == 2)
            assert not future.done()
        assert await future is None
        assert [seq for seq, _ in await events(store)] == [1, 2]
        await write(store, chunk(2))


async def test_what_nobody_can_settle_is_said_to_be_unclear(url: str) -> None:
    async with behind_a_proxy(url) as (store, proxy):
        await write(store, creation(), chunk(1))
        proxy.swallows_answers = True
        (future,) = handed_over(store, chunk(2))
        await batches(url, 3)
        ask(url, "DELETE FROM writers")
        proxy.swallows_answers = False
        proxy.cut_all()
        outcome = await future
        assert isinstance(outcome, StoreUnavailableError)
        assert "unclear" in str(outcome)
        await write(store, chunk(3))


async def test_two_replicas_that_lock_in_other_orders_both_get_through(url: str) -> None:
    async with behind_a_proxy(url) as (a, _), behind_a_proxy(url) as (b, _):
        ids = [f"t{n}" for n in range(40)]
        await write(a, *(creation(task_id) for task_id in ids))

        async def post(order: list[str]) -> None:
            await asyncio.gather(*(b.post(task_id, b"x", None) for task_id in order))

        async def append(seq: int, order: list[str]) -> list[StoreError | None]:
            return await asyncio.gather(
                *handed_over(a, *(chunk(seq, task_id=task_id) for task_id in order))
            )

        for seq in range(1, 6):
            results = await asyncio.gather(append(seq, ids), post(ids[::-1]))
            assert results[0] == [None] * len(ids)
        assert ask(url, "SELECT DISTINCT seq, inbox_n FROM tasks") == "6|5"


async def test_a_send_that_two_replicas_store_at_once_is_stored_by_one(url: str) -> None:
    async with behind_a_proxy(url) as (a, _), behind_a_proxy(url) as (b, _):
        for number in range(20):
            record = replace(send(f"m{number}"), since_ms=500)
            outcomes = await asyncio.gather(
                *handed_over(a, creation(f"a{number}", record=replace(record, task_id="a"))),
                *handed_over(b, creation(f"b{number}", record=replace(record, task_id="b"))),
            )
            winners = [name for name, o in zip("ab", outcomes, strict=True) if o is None]
            found = await a.find_send(record.key, 0)
            assert found is not None
            assert winners == [found.task_id]
        assert ask(url, "SELECT count(*) FROM tasks") == "20"
