import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.errors import StoreError, UsageError
from dragoman.model.tasks import TaskState
from dragoman.stores.base import Scope
from dragoman.stores.maintenance import TaskRecord
from dragoman.stores.sqlite.maintenance import looking_at, read_record
from tests.support.stores.sqlite.populated import change, populate, task_of, value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.db"
    populate(path)
    return path


def record_of(path: Path, skill: str) -> TaskRecord:
    task_id = task_of(path, skill)
    with looking_at(path) as connection:
        record = read_record(connection, task_id)
    assert record is not None
    return record


def test_a_task_is_read_with_all_that_belongs_to_it(path: Path) -> None:
    record = record_of(path, "ask")
    assert record.new.scope == Scope("", "anonymous")
    assert (record.state, record.seq, record.last_seq) == (TaskState.INPUT_REQUIRED, 4, 4)
    assert [entry.name for entry in record.journal] == ["len", "upper"]
    assert record.snapshot is not None
    assert (record.snapshot.seq, record.end) == (4, None)
    assert sum(segment.count for segment in record.segments) == 4
    assert record.segments[0].entries[0].startswith(b'{"message":')


def test_what_waits_for_a_task_is_read(path: Path) -> None:
    record = record_of(path, "hold")
    assert (record.inbox_n, [item.n for item in record.inbox]) == (1, [1])


def test_the_end_of_a_task_is_read_from_its_row(path: Path) -> None:
    record = record_of(path, "count")
    assert record.end is not None
    assert (record.end.seq, record.snapshot) == (8, None)
    assert record.end.document.task().id == record.id


def test_a_task_that_there_is_not_is_none(path: Path) -> None:
    with looking_at(path) as connection:
        assert read_record(connection, "gone") is None


def test_what_is_stored_meanwhile_is_not_seen(path: Path) -> None:
    with looking_at(path) as connection:
        before = connection.execute("SELECT count(*) FROM sends").fetchone()
        change(path, "DELETE FROM sends WHERE id = 1")
        assert connection.execute("SELECT count(*) FROM sends").fetchone() == before
    assert value(path, "SELECT count(*) FROM sends") == before[0] - 1


def test_nothing_can_be_changed(path: Path) -> None:
    with pytest.raises(StoreError, match="readonly"), looking_at(path) as connection:
        connection.execute("DELETE FROM tasks")


def test_a_text_that_is_none_is_read_all_the_same(path: Path) -> None:
    change(path, "UPDATE tasks SET context_id = CAST(x'ff41' AS TEXT) WHERE skill_id = 'ask'")
    assert record_of(path, "ask").new.context_id == "\ufffdA"


def test_a_file_that_there_is_not_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no database"), looking_at(tmp_path / "x.db"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"dear diary, " * 100)
    with pytest.raises(UsageError, match="file is not a database"), looking_at(path):
        pass


def test_the_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE diary (day)")
    with pytest.raises(UsageError, match="belongs to another program"), looking_at(path):
        pass
