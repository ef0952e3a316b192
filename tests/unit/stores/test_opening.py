import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman import stores
from dragoman.errors import UsageError
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.stores.opening import (
    beside,
    bus_of,
    database_path,
    is_shared,
    key_file,
    open_maintenance,
    open_store,
    store_file,
)
from dragoman.stores.postgres.maintenance import PostgresMaintenance
from dragoman.stores.postgres.store import PostgresTaskStore
from dragoman.stores.sqlite.maintenance import SQLiteMaintenance
from dragoman.stores.sqlite.store import SQLiteTaskStore


def test_memory_is_the_store_in_memory() -> None:
    assert isinstance(open_store("memory:"), MemoryTaskStore)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///tasks.db", "tasks.db"),
        ("sqlite:///data/tasks.db", "data/tasks.db"),
        ("sqlite:////var/lib/agent/tasks.db", "/var/lib/agent/tasks.db"),
        # Nothing in a path is special.
        ("sqlite:///my tasks?#%20.db", "my tasks?#%20.db"),
    ],
)
def test_sqlite_names_a_path(url: str, path: str) -> None:
    store = open_store(url)
    assert isinstance(store, SQLiteTaskStore)
    assert str(store.path) == path


@pytest.mark.parametrize(
    "url",
    [
        "",
        "tasks.db",
        "memory",
        "memory:x",
        "sqlite:",
        "sqlite://tasks.db",
        "sqlite:///",
        "sqlite:////",
        "sqlite:///data/",
        "mysql:///tasks",
    ],
)
def test_any_other_address_is_refused_with_the_known_forms(url: str) -> None:
    with pytest.raises(UsageError, match="sqlite:///") as caught:
        open_store(url)
    assert "memory:" in str(caught.value)
    assert repr(url) in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_postgres_names_a_database(scheme: str) -> None:
    store = open_store(f"{scheme}://me:secret@db.example:5433/tasks?sslmode=require")
    assert isinstance(store, PostgresTaskStore)
    assert store.database.name == "postgresql://me@db.example:5433/tasks"
    assert is_shared(f"{scheme}://db/x")
    assert bus_of(f"{scheme}://db/x") == f"{scheme}://db/x"
    assert bus_of("sqlite:///x") == bus_of("memory:") == bus_of("nonsense") == ""
    assert not is_shared("sqlite:///x")


def test_an_address_that_is_mistyped_does_not_tell_its_password() -> None:
    with pytest.raises(UsageError, match="'postgre://me@host/x' is no store") as caught:
        open_store("postgre://me:se@cret@host/x")
    assert "cret@" not in str(caught.value)


def keeper_here(url: str) -> object:
    return open_maintenance(url, Path())


@pytest.mark.parametrize("find", [open_store, keeper_here])
def test_without_the_driver_the_extra_is_named(
    find: Callable[[str], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    # It is imported once more, and what was there before is to be found by everybody afterwards.
    monkeypatch.setattr(stores, "postgres", sys.modules["dragoman.stores.postgres"])
    for name in [name for name in sys.modules if name.startswith("dragoman.stores.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    with pytest.raises(UsageError, match=r"dragoman\[postgres\]"):
        find("postgres://host/x")


def test_a_relative_path_is_looked_for_in_the_folder() -> None:
    keeper = open_maintenance("sqlite:///tasks.db", Path("/srv"))
    assert isinstance(keeper, SQLiteMaintenance)
    assert keeper.name == "/srv/tasks.db"
    assert open_maintenance("sqlite:////var/tasks.db", Path("/srv")).name == "/var/tasks.db"


def test_a_database_has_a_keeper() -> None:
    keeper = open_maintenance("postgres://me:secret@db/x", Path("/srv"))
    assert isinstance(keeper, PostgresMaintenance)
    assert keeper.name == "postgresql://me@db/x"


def test_memory_has_nothing_to_look_at() -> None:
    with pytest.raises(UsageError, match="nothing to look at"):
        open_maintenance("memory:", Path())


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("sqlite:///tasks.db", "sqlite:///tasks.flights-2.db"),
        ("sqlite:////var/tasks.db", "sqlite:////var/tasks.flights-2.db"),
        ("sqlite:///tasks", "sqlite:///tasks.flights-2"),
        ("memory:", "memory:"),
    ],
)
def test_another_agent_has_its_store_beside(url: str, expected: str) -> None:
    assert beside(url, "Flights & 2") == expected


def test_a_name_without_letters_has_one_too() -> None:
    assert beside("sqlite:///t.db", "航班") == "sqlite:///t.agent.db"


def test_a_database_has_nothing_beside_it() -> None:
    with pytest.raises(UsageError, match="nothing beside a database"):
        beside("postgres://host/db", "Flights")


@pytest.mark.parametrize(
    ("url", "file", "key"),
    [
        ("sqlite:///data/tasks.db", "data/tasks.db", "data/tasks.db.key"),
        ("postgres://host/db", None, None),
        ("memory:", None, None),
    ],
)
def test_a_store_that_is_a_file_has_its_key_beside_it(
    url: str, file: str | None, key: str | None
) -> None:
    assert store_file(url) == (file and Path(file))
    assert key_file(url) == (key and Path(key))


@pytest.mark.parametrize("url", ["postgres://host/db", "memory:", "tasks.db"])
def test_only_a_store_that_is_a_file_has_a_path(url: str) -> None:
    with pytest.raises(UsageError, match="is no store; known forms: sqlite:///"):
        database_path(url)


@pytest.mark.parametrize("url", ["memory:", "memory:x", "sqlite:///x", "postgres:x", "", "x"])
def test_what_one_server_has_to_itself_is_not_shared(url: str) -> None:
    assert not is_shared(url)
