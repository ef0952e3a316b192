import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.errors import UsageError
from dragoman.stores.sqlite.schema import (
    APPLICATION_ID,
    check_current,
    check_not_newer,
    check_ours,
    expected_schema,
    latest_version,
    migrate,
    stored_version,
)

PATH = Path("tasks.db")


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    yield connection
    connection.close()


def test_an_empty_file_gets_the_newest_schema(connection: sqlite3.Connection) -> None:
    migrate(PATH, connection)
    assert stored_version(connection) == latest_version()
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    check_ours(PATH, connection)
    check_current(PATH, connection)
    names = set(connection.execute("SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL"))
    assert names == expected_schema()


def test_a_file_that_is_up_to_date_is_left_as_it_is(connection: sqlite3.Connection) -> None:
    migrate(PATH, connection)
    changes = connection.total_changes
    migrate(PATH, connection)
    assert connection.total_changes == changes


def test_the_file_of_another_program_is_refused(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE diary (day)")
    with pytest.raises(UsageError, match=r"tasks\.db belongs to another program"):
        migrate(PATH, connection)
    with pytest.raises(UsageError, match=r"tasks\.db belongs to another program"):
        check_ours(PATH, connection)


def test_an_older_file_is_told_what_to_run(connection: sqlite3.Connection) -> None:
    migrate(PATH, connection)
    connection.execute("PRAGMA user_version = 1")
    with pytest.raises(UsageError) as caught:
        check_current(PATH, connection, verb="checked")
    assert f"(schema 1, this Dragoman has {latest_version()})" in str(caught.value)
    assert "cannot be checked" in str(caught.value)
    assert str(caught.value).endswith("run dragoman db upgrade --store sqlite:///tasks.db")
    # Those who do no more than rewrite it need not wait for that.
    check_not_newer(PATH, connection)


def test_a_newer_file_is_refused(connection: sqlite3.Connection) -> None:
    migrate(PATH, connection)
    connection.execute("PRAGMA user_version = 99")
    for refuse in (check_current, check_not_newer, migrate):
        with pytest.raises(UsageError, match="newer Dragoman"):
            refuse(PATH, connection)
