import pytest

from dragoman.errors import StoreError, UsageError
from dragoman.stores.checking import Finding
from dragoman.stores.postgres.keeping import PostgresKeeper
from dragoman.stores.postgres.schema import latest_version
from tests.postgres import new_database
from tests.unit.stores.postgres.looking import ask
from tests.unit.stores.postgres.populated import populated, task_of


def nothing(*_: object) -> None:
    pass


def test_all_that_is_stored_of_a_task_is_read() -> None:
    url = populated()
    record = PostgresKeeper(url).read_record(task_of(url, "hold"))
    assert record is not None
    assert (record.new.skill_id, record.new.scope.owner, record.epoch) == ("hold", "anonymous", 2)
    assert [item.n for item in record.inbox] == [1]
    assert sum(segment.count for segment in record.segments) == record.seq == record.last_seq
    asked = PostgresKeeper(url).read_record(task_of(url, "ask"))
    assert asked is not None
    assert [(entry.n, entry.name) for entry in asked.journal] == [(1, "len"), (2, "upper")]
    assert (asked.snapshot is not None, asked.end) == (True, None)


def test_there_is_nothing_of_a_task_that_there_is_not() -> None:
    assert PostgresKeeper(populated()).read_record("none") is None
    assert PostgresKeeper(populated()).read_record("a\x00b") is None


def test_an_empty_database_is_upgraded_to_a_store() -> None:
    url = new_database()
    with pytest.raises(UsageError, match="there is no store"):
        PostgresKeeper(url).check(nothing, nothing)
    assert PostgresKeeper(url).upgrade() == (0, latest_version())
    assert PostgresKeeper(url).upgrade() == (latest_version(), latest_version())
    findings: list[Finding] = []
    PostgresKeeper(url).check(findings.append, nothing)
    assert findings == []


def test_vacuum_gives_back_what_was_removed() -> None:
    url = populated()
    ask(
        url,
        "INSERT INTO events SELECT 'x', n, 1, convert_to(repeat(md5(n::text), 50), 'UTF8') "
        "FROM generate_series(1, 2000) AS n; DELETE FROM events WHERE task_id = 'x'",
    )
    before, after = PostgresKeeper(url).vacuum()
    assert before > after > 0
    assert int(ask(url, "SELECT sum(n_dead_tup) FROM pg_stat_user_tables")) == 0


def test_a_database_that_cannot_be_reached_is_named_without_its_password() -> None:
    keeper = PostgresKeeper("postgres://someone:s3cret@127.0.0.1:1/nowhere")
    with pytest.raises(UsageError, match="someone@127") as caught:
        keeper.upgrade()
    assert "s3cret" not in str(caught.value) + keeper.name


def test_what_fails_on_the_way_is_told() -> None:
    url = populated()
    ask(url, "ALTER TABLE events RENAME COLUMN body TO other")
    with pytest.raises(StoreError, match="PostgreSQL failed"):
        PostgresKeeper(url).read_record(task_of(url, "ask"))
