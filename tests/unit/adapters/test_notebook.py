import asyncio
import sqlite3
from pathlib import Path

import pytest

from dragoman.adapters.notebook import Notebook, notebook_beside
from dragoman.errors import UsageError


def tables_of(connection: sqlite3.Connection) -> set[str]:
    rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return {name for (name,) in rows}


async def test_it_has_its_tables_and_may_be_opened_again(tmp_path: Path) -> None:
    notebook = Notebook(f"sqlite:///{tmp_path}/notes.db")
    for _ in range(2):
        assert await notebook.run(tables_of) == {"said", "checkpoints", "writes"}
        notebook.close()
    notebook.close()


async def test_what_fails_leaves_nothing() -> None:
    notebook = Notebook("memory:")

    def write_half(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO said VALUES ('c', 1, 'r', 'x')")
        raise ValueError("half")

    def count(connection: sqlite3.Connection) -> int:
        return connection.execute("SELECT COUNT(*) FROM said").fetchone()[0]

    with pytest.raises(ValueError, match="half"):
        await notebook.run(write_half)
    assert await notebook.run(count) == 0
    notebook.close()


async def test_many_at_once_come_one_after_the_other(tmp_path: Path) -> None:
    notebook = Notebook(f"sqlite:///{tmp_path}/notes.db")

    def add(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO said SELECT 'c', COUNT(*) + 1, COUNT(*) + 1, 'x' FROM said")

    await asyncio.gather(*(notebook.run(add) for _ in range(20)))
    rows = await notebook.run(lambda it: it.execute("SELECT n FROM said ORDER BY n").fetchall())
    assert [n for (n,) in rows] == list(range(1, 21))
    notebook.close()


async def test_it_lies_beside_the_store_of_the_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", f"sqlite:///{tmp_path}/tasks.db")
    notebook = notebook_beside("Weather Man")
    await notebook.run(tables_of)
    notebook.close()
    assert (tmp_path / "tasks.weather-man-memory.db").exists()


def test_an_address_of_something_else_is_refused() -> None:
    with pytest.raises(UsageError, match="is no store"):
        Notebook("redis://nowhere")
