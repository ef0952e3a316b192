"""Files of earlier versions, opened by this one."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.engine.journal import JournalEntry
from dragoman.model.messages import Message, Role
from dragoman.model.parts import Part
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.delivery import Answer, Delivery, decode_answer, decode_delivery
from dragoman.stores.base import Scope
from dragoman.stores.shared.sql import read_migrations, read_queries
from dragoman.stores.sqlite.schema import APPLICATION_ID
from dragoman.stores.sqlite.store import SQLiteTaskStore

SCOPE = Scope("", "ada")
PACKAGE = "dragoman.stores.sqlite"

WORKING, COMPLETED, INPUT_REQUIRED = 2, 3, 6

TEXT = 'später, "zitiert" \\ und 🙂'
WIRE = (
    '{"messageId":"m-2","role":"ROLE_USER","parts":[{"text":"später, \\"zitiert\\" \\\\ und 🙂"}]}'
).encode()
MESSAGE = Message(message_id="m-2", role=Role.USER, parts=(Part(text=TEXT),))


def write_file(path: Path, version: int, rows: Sequence[tuple[str, tuple[object, ...]]]) -> None:
    """Write a file as a server of this version did."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for script in read_migrations(PACKAGE)[:version]:
        connection.executescript(script)
    connection.execute(f"PRAGMA user_version = {version}")
    for statement, values in rows:
        connection.execute(statement, values)
    connection.close()


def task(task_id: str, state: int, *, seq: int = 2) -> tuple[str, tuple[object, ...]]:
    statement = """
        INSERT INTO tasks (id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
            state, status_at_ms, epoch, seq, snapshot_seq)
        VALUES (?, '', 'ada', 'c', 'echo', '1.0', 1, ?, 1, 1, ?, 0)"""
    return statement, (task_id, state, seq)


def inbox(task_id: str, n: int, body: bytes) -> tuple[str, tuple[object, ...]]:
    return "INSERT INTO inbox VALUES (?, ?, ?)", (task_id, n, body)


def journal(task_id: str, n: int, result: bytes) -> tuple[str, tuple[object, ...]]:
    return "INSERT INTO journal VALUES (?, ?, 'ask', 'input', ?)", (task_id, n, result)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


async def test_messages_that_waited_in_version_4_are_errands_now(path: Path) -> None:
    rows = [task("t1", WORKING), inbox("t1", 1, WIRE), inbox("t1", 2, WIRE)]
    write_file(path, 4, rows)
    store = SQLiteTaskStore(path)
    await store.open()
    stored = await store.load(SCOPE, "t1")
    await store.close()
    assert stored is not None
    assert [item.n for item in stored.inbox] == [1, 2]
    assert [decode_delivery(item.body) for item in stored.inbox] == [Delivery(message=MESSAGE)] * 2


async def test_answers_that_were_recorded_in_version_4_are_answers_now(path: Path) -> None:
    write_file(path, 4, [task("t1", INPUT_REQUIRED, seq=5), journal("t1", 1, WIRE)])
    store = SQLiteTaskStore(path)
    await store.open()
    (entry,) = await store.read_journal("t1")
    await store.close()
    assert decode_answer(entry.result) == Answer(errand=Delivery(message=MESSAGE))
    assert entry == JournalEntry(n=1, kind="ask", name="input", result=entry.result, seq=5)


async def test_tasks_of_version_4_were_never_tried_and_are_to_be_woken_at_no_time(
    path: Path,
) -> None:
    rows = [task("t1", WORKING), task("t2", INPUT_REQUIRED), task("t3", COMPLETED)]
    write_file(path, 4, rows)
    store = SQLiteTaskStore(path)
    await store.open()
    (at_work,) = await store.at_work(after_id="", limit=10)
    assert (at_work.id, at_work.state) == ("t1", TaskState.WORKING)
    assert (at_work.attempts, at_work.wake_at_ms) == (0, 0)
    assert await store.due(now_ms=10**15, limit=10) == ()
    await store.close()


@pytest.mark.parametrize("version", range(len(read_migrations(PACKAGE)) + 1))
async def test_a_file_of_any_version_is_brought_up_to_date(path: Path, version: int) -> None:
    write_file(path, version, [task("t1", WORKING)] if version else [])
    store = SQLiteTaskStore(path)
    await store.open()
    assert len(await store.at_work(after_id="", limit=10)) == (1 if version else 0)
    await store.close()


@pytest.mark.parametrize(
    ("query", "index"), [("select_at_work", "tasks_at_work"), ("select_due", "tasks_waking")]
)
def test_what_to_run_is_found_without_looking_at_every_task(
    path: Path, query: str, index: str
) -> None:
    write_file(path, len(read_migrations(PACKAGE)), [])
    connection = sqlite3.connect(path)
    statement = "EXPLAIN QUERY PLAN " + read_queries(PACKAGE)[query]
    (plan,) = connection.execute(statement, ("", 10) if index == "tasks_at_work" else (1, 10))
    connection.close()
    assert index in plan[3]
