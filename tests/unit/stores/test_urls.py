import pytest

from dragoman.errors import UsageError
from dragoman.stores.memory import MemoryTaskStore
from dragoman.stores.sqlite.store import SQLiteTaskStore
from dragoman.stores.urls import beside, database_path, open_store


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


def test_the_file_of_a_store_is_known_without_opening_it() -> None:
    assert str(database_path("sqlite:////var/lib/agent/tasks.db")) == "/var/lib/agent/tasks.db"


def test_memory_has_no_file() -> None:
    with pytest.raises(UsageError, match="no file to look at"):
        database_path("memory:")


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
