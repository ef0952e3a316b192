"""Changing a database beside a server."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.errors import StoreError, UsageError
from dragoman.stores.sqlite.connection import prepare_database
from dragoman.stores.sqlite.maintenance import changing

_ADD = "INSERT INTO dead_letters VALUES ('t', 'w', 1, 1, '', 0, 0)"
_COUNT = "SELECT count(*) FROM dead_letters"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.db"
    prepare_database(path)
    return path


def count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(_COUNT).fetchone()[0]


def test_what_is_changed_is_there_at_the_end(path: Path) -> None:
    with changing(path) as connection:
        connection.execute(_ADD)
        assert count(path) == 0
    assert count(path) == 1


def test_an_error_undoes_everything(path: Path) -> None:
    def fail() -> None:
        with changing(path) as connection:
            connection.execute(_ADD)
            raise UsageError("no")

    with pytest.raises(UsageError):
        fail()
    assert count(path) == 0


def test_what_sqlite_refuses_is_told(path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be changed"), changing(path) as connection:
        connection.execute("INSERT INTO nowhere VALUES (1)")


def test_a_database_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no database"), changing(tmp_path / "none.db"):
        pass
    assert not list(tmp_path.iterdir())


def test_one_of_another_version_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
    with pytest.raises(UsageError, match="dragoman db upgrade"), changing(path):
        pass
