import asyncio

import pytest

from dragoman.errors import StoreError, UsageError
from dragoman.stores.maintenance import Finding
from dragoman.stores.postgres.maintenance import PostgresMaintenance
from dragoman.stores.postgres.schema import latest_version
from dragoman.stores.postgres.store import PostgresTaskStore
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook
from tests.contracts.storing import WORKING, creation, registration, with_webhook, write
from tests.support.postgres import new_database
from tests.support.stores.postgres.looking import ask
from tests.support.stores.postgres.populated import populated, task_of


def nothing(*_: object) -> None:
    pass


def test_all_that_is_stored_of_a_task_is_read() -> None:
    url = populated()
    record = PostgresMaintenance(url).read_record(task_of(url, "hold"))
    assert record is not None
    assert (record.new.skill_id, record.new.scope.owner, record.epoch) == ("hold", "anonymous", 2)
    assert [item.n for item in record.inbox] == [1]
    assert sum(segment.count for segment in record.segments) == record.seq == record.last_seq
    asked = PostgresMaintenance(url).read_record(task_of(url, "ask"))
    assert asked is not None
    assert [(entry.n, entry.name) for entry in asked.journal] == [(1, "len"), (2, "upper")]
    assert (asked.snapshot is not None, asked.end) == (True, None)


def test_there_is_nothing_of_a_task_that_there_is_not() -> None:
    assert PostgresMaintenance(populated()).read_record("none") is None
    assert PostgresMaintenance(populated()).read_record("a\x00b") is None


def test_an_empty_database_is_upgraded_to_a_store() -> None:
    url = new_database()
    with pytest.raises(UsageError, match="there is no store"):
        PostgresMaintenance(url).check(nothing, nothing)
    assert PostgresMaintenance(url).upgrade() == (0, latest_version())
    assert PostgresMaintenance(url).upgrade() == (latest_version(), latest_version())
    findings: list[Finding] = []
    PostgresMaintenance(url).check(findings.append, nothing)
    assert findings == []


def test_vacuum_gives_back_what_was_removed() -> None:
    url = populated()
    ask(
        url,
        "INSERT INTO events SELECT 'x', n, 1, convert_to(repeat(md5(n::text), 50), 'UTF8') "
        "FROM generate_series(1, 2000) AS n; DELETE FROM events WHERE task_id = 'x'",
    )
    before, after = PostgresMaintenance(url).vacuum()
    assert before > after > 0
    assert int(ask(url, "SELECT sum(n_dead_tup) FROM pg_stat_user_tables")) == 0


def test_a_database_that_cannot_be_reached_is_named_without_its_password() -> None:
    keeper = PostgresMaintenance("postgres://someone:s3cret@127.0.0.1:1/nowhere")
    with pytest.raises(UsageError, match="someone@127") as caught:
        keeper.upgrade()
    assert "s3cret" not in str(caught.value) + keeper.name


def test_what_fails_on_the_way_is_told() -> None:
    url = populated()
    ask(url, "ALTER TABLE events RENAME COLUMN body TO other")
    with pytest.raises(StoreError, match="PostgreSQL failed"):
        PostgresMaintenance(url).read_record(task_of(url, "ask"))


async def leave_letters(url: str, *names: str) -> None:
    """Give up the first notification of webhooks of these names, each of a task of its own."""
    store = PostgresTaskStore(url)
    await store.open()
    for name in names:
        await write(store, with_webhook(creation(name), registration(name)))
    for taken in await store.webhooks.take_due(
        now_ms=2000, until_ms=3000, limit=99, except_hosts=()
    ):
        await store.webhooks.bury(
            taken, seq=1, state=WORKING, attempts=4, finding="gone", now_ms=2500, until_ms=0
        )
    await store.close()


def test_webhooks_are_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.stores.postgres.maintenance._AT_ONCE", 2)
    url = new_database()
    asyncio.run(leave_letters(url, *"abcde"))
    letters: list[DeadLetter] = []
    webhooks: list[Webhook] = []
    PostgresMaintenance(url).read_webhooks(letters.append, webhooks.append)
    assert [each.key.id for each in webhooks] == [*"abcde"]
    assert [each.key for each in letters] == [LetterKey(name, name, 1) for name in "abcde"]


def test_dead_letters_are_sent_again_or_dropped() -> None:
    url = new_database()
    asyncio.run(leave_letters(url, *"abc"))
    keeper = PostgresMaintenance(url)
    assert keeper.retry_letters([LetterKey("a", "a", 1), LetterKey("a", "a", 9)], 5000) == 1
    assert keeper.drop_letters([LetterKey("b", "b", 1)]) == 1
    letters: list[DeadLetter] = []
    keeper.read_webhooks(letters.append, nothing)
    assert [(each.key.task_id, each.is_queued) for each in letters] == [("a", True), ("c", False)]
