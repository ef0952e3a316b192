import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.errors import UsageError
from dragoman.stores.shared.sql import read_migrations
from dragoman.stores.sqlite.lock import FileLock
from dragoman.stores.sqlite.maintenance import check_database, looking_at, upgrade, vacuum
from dragoman.stores.sqlite.schema import APPLICATION_ID, latest_version
from tests.support.stores.sqlite.populated import change, populate, value

Work = Callable[[Path], tuple[int, int]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.db"
    populate(path)
    return path


def test_a_vacuum_gives_back_what_was_removed(path: Path) -> None:
    change(path, "INSERT INTO probe VALUES (zeroblob(1000000))", "DELETE FROM probe")
    before, after = vacuum(path)
    assert before > 1_000_000
    assert after < 500_000
    assert after == path.stat().st_size


def test_a_vacuum_leaves_everything_as_it_was(path: Path) -> None:
    ids = "SELECT group_concat(id) FROM (SELECT id FROM tasks ORDER BY rowid)"
    before = value(path, ids)
    vacuum(path)
    # What is removed first is found by the order of rows.
    assert value(path, ids) == before
    with looking_at(path) as connection:
        assert list(check_database(connection, lambda _, __: None)) == []


@pytest.mark.parametrize("work", [vacuum, upgrade])
def test_nothing_is_done_while_a_server_uses_the_file(path: Path, work: Work) -> None:
    lock = FileLock(path)
    lock.acquire()
    with pytest.raises(UsageError, match=f"already served by process {os.getpid()}"):
        work(path)
    lock.release()
    work(path)


@pytest.mark.parametrize("work", [vacuum, upgrade])
def test_a_file_that_there_is_not_is_not_made(tmp_path: Path, work: Work) -> None:
    with pytest.raises(UsageError, match="there is no database"):
        work(tmp_path / "x.db")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("work", [vacuum, upgrade])
def test_a_file_of_a_newer_version_is_left_alone(path: Path, work: Work) -> None:
    change(path, "PRAGMA user_version = 99")
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"written by a newer Dragoman \(schema 99"):
        work(path)
    assert path.read_bytes() == before


def test_an_older_file_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(read_migrations("dragoman.stores.sqlite")[0])
        connection.execute("PRAGMA user_version = 1")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    assert upgrade(path) == (1, latest_version())
    assert upgrade(path) == (latest_version(), latest_version())
    with looking_at(path) as connection:
        assert list(check_database(connection, lambda _, __: None)) == []
