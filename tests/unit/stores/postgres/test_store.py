"""What PostgreSQL may do to a store, and what the store makes of it."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from dragoman.errors import ConflictError, StoreError, StoreUnavailableError, UsageError
from dragoman.stores.base import InboxItem, Scope, SendKey
from dragoman.stores.postgres.commits import MOST_BYTES, MOST_WRITES
from dragoman.stores.postgres.connection import MOST_CONNECTIONS
from dragoman.stores.postgres.store import PostgresTaskStore
from tests.contracts.storing import (
    ALICE,
    BOB,
    chunk,
    creation,
    events,
    load,
    page_of,
    remember,
    send,
    write,
    write_together,
)
from tests.durability.waiting import until
from tests.support.postgres import PostgresServer, new_database, postgres_server, running_postgres
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
async def opened(url: str) -> AsyncGenerator[PostgresTaskStore]:
    store = PostgresTaskStore(url)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def end_backends(url: str) -> None:
    ask(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "  # noqa: S608 - our own name
        f"WHERE datname = '{name_of(url)}' AND pid <> pg_backend_pid()",
    )


# --- lost connections ---------------------------------------------------------------------------


async def test_a_lost_connection_is_replaced_and_nobody_hears_of_it(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation())
        end_backends(url)
        await write(store, chunk(1))
        end_backends(url)
        assert [seq for seq, _ in await events(store)] == [1, 2]
        assert store.is_available


async def test_a_connection_that_was_lost_while_nobody_wrote_is_no_outage(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(url) as store:
        await write(store, creation())
        end_backends(url)
        caplog.set_level(logging.INFO)
        futures: list[asyncio.Future[StoreError | None]] = []
        # The first finds out; for the others, which come meanwhile, somebody waits as well.
        for number in range(2, 52):
            futures += handed_over(store, creation(f"t{number}"))
            await asyncio.sleep(0)
            assert store.is_available
        assert await asyncio.gather(*futures) == [None] * 50
    lines = [(record.levelno, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in lines] == [logging.INFO]
    assert lines[0][1].endswith("; it was replaced")


async def test_a_connection_that_cannot_be_replaced_is_told_with_the_reason(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened(url) as store:
        await write(store, creation())
        ask(url, f"ALTER DATABASE {name_of(url)} SET default_transaction_read_only = on")
        end_backends(url)
        (said,) = handed_over(store, chunk(1))
        await until(lambda: not store.is_available)
        postgres_server().run_sql(
            f"ALTER DATABASE {name_of(url)} RESET default_transaction_read_only"
        )
        assert await said is None
    first, last = [record.getMessage() for record in caplog.records]
    assert "and there is no other (" in first
    assert first.endswith("; trying until it works")
    assert last.endswith(": it works again")


async def test_nothing_is_lost_and_nothing_doubled_while_connections_break(url: str) -> None:
    count = 400
    async with opened(url) as store:
        await write(store, creation("log"))

        async def append() -> None:
            for seq in range(1, count):
                await write(store, chunk(seq, task_id="log"))

        async def create() -> None:
            for number in range(count):
                await write(store, creation(f"t{number}", record=send(f"m{number}")))

        async def break_connections() -> None:
            for _ in range(5):
                await asyncio.sleep(0.1)
                end_backends(url)

        async with asyncio.TaskGroup() as group:
            for work in (append, create, break_connections):
                group.create_task(work())
        assert (await page_of(store)).total == count + 1
    assert ask(url, "SELECT count(*), min(seq), max(seq) FROM events WHERE task_id = 'log'") == (
        f"{count}|1|{count}"
    )
    assert ask(url, "SELECT count(*), count(DISTINCT task_id) FROM events") == (
        f"{2 * count}|{count + 1}"
    )
    assert ask(url, "SELECT sum(n) FROM counters") == str(count + 1)


async def test_reads_are_tried_again_on_another_connection(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation(record=send("m1")))
        await asyncio.gather(*(store.load(ALICE, "t1") for _ in range(10)))
        end_backends(url)
        tasks = await asyncio.gather(*(store.load(ALICE, "t1") for _ in range(10)))
        assert None not in tasks
        end_backends(url)
        assert await store.find_send(send("m1").key, 0) == send("m1")


async def test_a_writer_that_was_removed_by_somebody_begins_anew(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation())
        ask(url, "DELETE FROM writers")
        await write(store, chunk(1), chunk(2))
        assert [seq for seq, _ in await events(store)] == [1, 2, 3]
        assert ask(url, "SELECT batch FROM writers") == "2"


async def test_a_statement_that_somebody_cancels_is_run_again(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation())
        async with locked(url):
            (future,) = handed_over(store, chunk(1))
            await until(lambda: waiting_for_locks(url) == 1)
            ask(
                url,
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "  # noqa: S608 - our own name
                f"WHERE datname = '{name_of(url)}' AND wait_event_type = 'Lock'",
            )
        assert await future is None
        assert (await load(store)).seq == 2


# --- leases that run out and are renewed at one moment -------------------------------------------


async def test_a_lease_that_is_just_being_renewed_is_waited_for(url: str) -> None:
    async with opened(url) as a, opened(url) as b:
        await a.join("a", lease_seconds=0)
        await b.join("b", lease_seconds=60)
        await write(a, creation())
        renewal = "UPDATE replicas SET lease_until = now() + interval '1 hour' WHERE id = 'a'"
        async with locked(url, by=renewal):
            taking = asyncio.ensure_future(b.take_over("t1", 1))
            await until(lambda: waiting_for_locks(url) == 1)
        with pytest.raises(ConflictError):
            await taking
        await write(a, chunk(1))


async def test_who_renews_a_lease_while_its_tasks_are_taken_is_told_afterwards(url: str) -> None:
    async with opened(url) as a, opened(url) as b:
        await a.join("a", lease_seconds=0)
        await b.join("b", lease_seconds=60)
        await write(a, creation())
        async with locked(url):
            taking = asyncio.ensure_future(b.take_over("t1", 1))
            await until(lambda: waiting_for_locks(url) == 1)
            beating = asyncio.ensure_future(a.beat())
            await until(lambda: waiting_for_locks(url) == 2)
        assert await taking == 2
        assert not await beating
        assert await a.lost({"t1": 1}) == ("t1",)


async def test_a_lease_is_renewed_however_long_reads_take(url: str) -> None:
    async with opened(url) as store:
        await store.join("a", lease_seconds=60)
        await write(store, creation())
        async with locked(url, by="LOCK TABLE tasks IN ACCESS EXCLUSIVE MODE"):
            reads = [asyncio.ensure_future(load(store)) for _ in range(20)]
            await until(lambda: waiting_for_locks(url) == MOST_CONNECTIONS)
            assert await store.beat()
            assert not any(read.done() for read in reads)
        await asyncio.gather(*reads)


async def test_a_renewal_that_takes_too_long_is_given_up(url: str) -> None:
    async with opened(url) as store:
        await store.join("a", lease_seconds=1)
        async with locked(url, by="LOCK TABLE replicas IN ACCESS EXCLUSIVE MODE"):
            with pytest.raises(StoreUnavailableError, match="too long to renew"):
                await store.beat()
        # It may have been kept nevertheless; in any case there is a lease again.
        await store.beat()
        assert await store.beat()


# --- a server that is gone ----------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server of the test's own, to be stopped at will."""
    with running_postgres() as server:
        yield server


@pytest.mark.timeout(60)
async def test_a_server_that_crashes_has_kept_what_was_acknowledged(
    server: PostgresServer, caplog: pytest.LogCaptureFixture
) -> None:
    store = PostgresTaskStore(server.url())
    await store.open()
    await write(store, creation(), chunk(1))
    server.stop(immediately=True)

    # Somebody waits for a new task, so that is refused; what a turn says waits.
    (said,) = handed_over(store, chunk(2))
    await until(lambda: not store.is_available)
    (outcome,) = await write_together(store, creation("t2"))
    assert isinstance(outcome, StoreUnavailableError)
    with pytest.raises(StoreUnavailableError):
        await store.load(ALICE, "t1")
    assert not said.done()

    server.start()
    assert await said is None
    assert store.is_available
    await write(store, creation("t2"))
    assert [seq for seq, _ in await events(store)] == [1, 2, 3]
    await store.close()
    assert "it works again" in caplog.text


@pytest.mark.timeout(60)
async def test_closing_while_the_server_is_gone_does_not_hang(server: PostgresServer) -> None:
    store = PostgresTaskStore(server.url())
    await store.open()
    await write(store, creation())
    server.stop(immediately=True)
    first, second = handed_over(store, chunk(1), chunk(2))
    await until(lambda: not store.is_available)
    await store.close()
    assert isinstance(first.result(), StoreUnavailableError)
    assert isinstance(second.result(), StoreUnavailableError)


async def test_a_database_that_takes_no_writes_fails_the_batch_until_it_does(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation())
        # As after a failover, when the old primary has become a copy.
        ask(url, f"ALTER DATABASE {name_of(url)} SET default_transaction_read_only = on")
        end_backends(url)
        (said,) = handed_over(store, chunk(1))
        await until(lambda: not store.is_available)
        postgres_server().run_sql(
            f"ALTER DATABASE {name_of(url)} RESET default_transaction_read_only"
        )
        assert await said is None


async def test_a_table_that_is_gone_makes_the_store_unavailable(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation())
        ask(url, "ALTER TABLE events RENAME TO elsewhere")
        (outcome,) = await write_together(store, chunk(1))
        assert isinstance(outcome, StoreUnavailableError)
        ask(url, "ALTER TABLE elsewhere RENAME TO events")
        await until(lambda: store.is_available)
        await write(store, chunk(1))


# --- what may be stored -------------------------------------------------------------------------

NUL = "a\x00b\x1ac\x1a0"


async def test_ids_may_hold_every_character(url: str) -> None:
    scope = Scope(NUL, f"{NUL} owner")
    async with opened(url) as store:
        record = send(NUL, scope=scope)
        await write(store, creation(scope=scope, context_id=NUL, alias=NUL, record=record))
        task = await load(store, scope=scope)
        assert (task.scope, task.context_id) == (scope, NUL)
        assert await store.find_alias(scope, NUL) == "t1"
        assert await store.find_send(SendKey(scope, NUL), 0) == record
        assert (await page_of(store, scope=scope, context_id=NUL)).total == 1
        assert await store.load(scope, NUL) is None
        assert await store.find_alias(ALICE, "a\x1a0b") is None


async def test_what_cannot_be_stored_fails_alone(url: str) -> None:
    async with opened(url) as store:
        bad = creation("t2", scope=Scope("", "\ud800"))
        large = replace(creation("t3"), status_at_ms=2**70)
        outcomes = await write_together(store, creation(), bad, large, creation("t4", scope=BOB))
        assert [type(outcome) for outcome in outcomes] == [
            type(None),
            StoreError,
            StoreError,
            type(None),
        ]
        with pytest.raises(StoreError):
            await store.load(Scope("", "\ud800"), "t1")
        answers = await asyncio.gather(
            store.find_send(SendKey(ALICE, "\ud800"), 0),
            store.find_send(SendKey(ALICE, "m1"), 0),
            return_exceptions=True,
        )
        assert isinstance(answers[0], StoreError)
        assert answers[1] is None


async def test_a_send_is_looked_up_for_all_who_ask_at_once(url: str) -> None:
    async with opened(url) as store:
        for number in range(20):
            await remember(store, send(f"m{number}"))
        keys = [SendKey(ALICE, f"m{number % 25}") for number in range(1200)]
        found = await asyncio.gather(*(store.find_send(key, 0) for key in keys))
        expected = [send(key.message_id) if n % 25 < 20 else None for n, key in enumerate(keys)]
        assert found == expected


async def test_nobody_waits_for_a_store_that_is_closed(url: str) -> None:
    async with opened(url) as store:
        pass
    with pytest.raises(StoreUnavailableError):
        await store.find_send(SendKey(ALICE, "m1"), 0)
    with pytest.raises(StoreUnavailableError):
        await store.load(ALICE, "t1")
    with pytest.raises(StoreUnavailableError):
        await store.put_inbox("t1", b"x", None)


# --- one statement ------------------------------------------------------------------------------


async def test_a_batch_is_one_round_trip_whatever_is_in_it(url: str) -> None:
    async with opened(url) as store:
        await write(store, *(creation(f"t{n}") for n in range(3)))
        before = batches(url)
        outcomes = await write_together(
            store,
            creation("t9", record=send("m9")),
            chunk(1, task_id="t0"),
            chunk(2, task_id="t0"),
            chunk(1, task_id="t1", events=5),
        )
        assert outcomes == [None] * 4
        assert batches(url) == before + 1


async def test_a_refused_write_costs_a_few_round_trips_not_one_for_each(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation())
        before = batches(url)
        outcomes = await write_together(store, *(creation(f"t{n}") for n in range(1, 257)))
        assert [type(o) for o in outcomes if o is not None] == [ConflictError]
        assert batches(url) - before <= 10
        assert (await page_of(store)).total == 256


def batches(url: str) -> int:
    return int(ask(url, "SELECT max(batch) FROM writers"))


async def test_a_batch_is_bounded_by_what_is_in_it(url: str) -> None:
    async with opened(url) as store:
        large = b"x" * (MOST_BYTES // 4)
        writes = [replace(creation(f"t{n}"), entries=(large,)) for n in range(10)]
        before = batches(url)
        assert await write_together(store, *writes) == [None] * 10
        assert batches(url) == before + 3
        assert await write_together(
            store, *(creation(f"s{n}") for n in range(MOST_WRITES + 1))
        ) == [None] * (MOST_WRITES + 1)
        assert batches(url) == before + 5


async def test_many_messages_are_numbered_in_one_round_trip(url: str) -> None:
    async with opened(url) as store:
        await write(store, creation("t1"), creation("t2"))
        before = batches(url)
        numbers = await asyncio.gather(
            *(store.put_inbox(f"t{1 + n % 2}", b"%d" % n, None) for n in range(6)),
            store.put_inbox("t9", b"", None),
            return_exceptions=True,
        )
        assert numbers[:6] == [1, 1, 2, 2, 3, 3]
        assert isinstance(numbers[6], ConflictError)
        assert batches(url) == before + 1
        assert (await load(store, "t2")).inbox == tuple(
            InboxItem(n, b"%d" % (2 * n - 1)) for n in (1, 2, 3)
        )


# --- opening ------------------------------------------------------------------------------------


async def test_replicas_that_start_together_make_the_tables_once(url: str) -> None:
    stores = [PostgresTaskStore(url) for _ in range(5)]
    await asyncio.gather(*(store.open() for store in stores))
    await write(stores[0], creation())
    assert (await load(stores[4])).seq == 1
    for store in stores:
        await store.close()
    assert ask(url, "SELECT count(*) FROM writers") == "0"


@pytest.mark.parametrize(
    "address",
    [
        "postgres://someone:s3cret@127.0.0.1:1/nowhere",
        "postgres://someone:s3cret@127.0.0.1:port/nowhere",
        "postgresql://someone:s3cret@127.0.0.1:1,127.0.0.1:2/nowhere?sslmode=wrong",
    ],
)
async def test_a_password_is_never_shown(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    store = PostgresTaskStore(address, patience_seconds=0)
    with pytest.raises(UsageError, match="postgresql://someone@127") as caught:
        await store.open()
    error: BaseException | None = caught.value
    while error is not None:
        assert "s3cret" not in f"{error!r}"
        error = error.__cause__
    assert "s3cret" not in caplog.text + repr(store.database)


async def test_a_password_with_an_at_sign_is_told_how_to_be_written() -> None:
    store = PostgresTaskStore("postgres://someone:s3@cret@127.0.0.1:1/nowhere")
    with pytest.raises(UsageError) as caught:
        # At once: it is nothing to wait for.
        await store.open()
    assert str(caught.value) == (
        "postgresql://someone@127.0.0.1:1/nowhere has an @ in its user or password; "
        "write that one as %40"
    )


@pytest.mark.parametrize("sign", ["/", "?", "#", "["])
async def test_a_password_that_ends_the_host_is_not_shown(sign: str) -> None:
    store = PostgresTaskStore(f"postgres://someone:s3{sign}cret@127.0.0.1:1/nowhere")
    with pytest.raises(UsageError) as caught:
        await store.open()
    assert str(caught.value).startswith("postgresql://… cannot be understood; known form: ")
    assert "%2F for /" in str(caught.value)


async def test_a_database_without_rights_is_named(url: str) -> None:
    ask(url, "CREATE ROLE nobody_in_particular LOGIN")
    store = PostgresTaskStore(url.replace("postgres@", "nobody_in_particular@"))
    try:
        with pytest.raises(UsageError, match="permission denied"):
            await store.open()
    finally:
        ask(url, "DROP ROLE nobody_in_particular")


async def test_a_database_that_is_being_started_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with running_postgres() as server:
        server.stop()
        store = PostgresTaskStore(server.url())
        opening = asyncio.ensure_future(store.open())
        await asyncio.wait([opening], timeout=0.8)
        assert not opening.done()
        # Not once for every try.
        assert caplog.text.count("trying for up to 15 s") == 1
        await asyncio.to_thread(server.start)
        await opening
        assert store.is_available
        await store.close()


async def test_a_database_of_which_nothing_is_known_yet_is_not_read_as_a_whole(url: str) -> None:
    """Before its tables are analyzed, PostgreSQL takes them for small, whatever is in them."""
    async with opened(url) as store:
        for number in range(10):
            record = send(f"m{number}", task_id=f"t{number}")
            assert await store.find_send(record.key, 0) is None
            await write(store, creation(record.task_id, record=record))
            await write(store, chunk(1, task_id=record.task_id), chunk(2, task_id=record.task_id))
            assert await store.find_send(record.key, 0) == record

    def read(how: str) -> int:
        tables = "pg_stat_user_tables WHERE relname IN ('tasks', 'sends', 'events')"
        return int(ask(url, f"SELECT sum({how}) FROM {tables}"))  # noqa: S608 - ours

    # Told by the connections when they end.
    await until(lambda: read("idx_scan") >= 30)
    assert read("seq_tup_read") == 0
