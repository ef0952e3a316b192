import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.errors import StoreError, StoreUnavailableError, UsageError
from dragoman.model.tasks import TaskState
from dragoman.stores.base import NewTask, Scope, SendKey, SendRecord, TaskWrite
from dragoman.stores.shared.sql import read_migrations
from dragoman.stores.sqlite.connection import connect_reader, connect_writer
from dragoman.stores.sqlite.schema import APPLICATION_ID
from dragoman.stores.sqlite.store import SQLiteTaskStore

pytestmark = pytest.mark.anyio

SCOPE = Scope("", "alice")
NEW = NewTask(scope=SCOPE, context_id="c", skill_id="s", origin_dialect="1.0", created_ms=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SQLiteTaskStore]:
    store = SQLiteTaskStore(path)
    await store.open()
    yield store
    await store.close()


def creation(task_id: str, *, body: bytes = b"", message_id: str = "") -> TaskWrite:
    return TaskWrite(
        task_id=task_id,
        epoch=1,
        expected_seq=0,
        created=NEW,
        entries=(b'{"statusUpdate":"%s"}' % body,),
        events=1,
        state=TaskState.WORKING,
        status_at_ms=1,
        send=SendRecord(key=SendKey(SCOPE, message_id), digest=b"", at_ms=1)
        if message_id
        else None,
    )


def news(task_id: str) -> TaskWrite:
    """Return what a task has to say after its creation."""
    return TaskWrite(
        task_id=task_id, epoch=1, expected_seq=1, entries=(b'{"statusUpdate":2}',), events=1
    )


async def outcome(store: SQLiteTaskStore, write: TaskWrite) -> StoreError | None:
    future: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()
    store.append(write, future.set_result)
    async with asyncio.timeout(15):
        return await future


def number(path: Path, statement: str) -> int:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchone()[0]
    finally:
        connection.close()


# --- settings -----------------------------------------------------------------------------------


async def test_the_log_is_written_ahead_and_every_commit_reaches_the_disk(
    store: SQLiteTaskStore, path: Path
) -> None:
    for connect in (connect_writer, connect_reader):
        connection = connect(path)
        settings = [
            connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
        ]
        connection.close()
        assert settings == ["wal", 2, 5000, 0]
    assert store.is_available


async def test_a_reading_connection_cannot_write(store: SQLiteTaskStore, path: Path) -> None:
    connection = connect_reader(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM tasks")
    connection.close()
    assert store.is_available


async def test_closing_leaves_one_file_and_the_lock_file(
    store: SQLiteTaskStore, path: Path
) -> None:
    assert await outcome(store, creation("t1")) is None
    await store.close()
    assert sorted(p.name for p in path.parent.iterdir()) == ["tasks.db", "tasks.db.lock"]


# --- refusing to open ---------------------------------------------------------------------------


@pytest.fixture
def diary(path: Path) -> Path:
    path.write_bytes(b"dear diary, " * 100)
    return path


def content(path: Path) -> bytes:
    return path.read_bytes()


def remove(path: Path) -> None:
    path.unlink()


def make_directory(path: Path) -> Path:
    path.mkdir()
    return path


async def refusal(path: Path) -> str:
    with pytest.raises(UsageError) as caught:
        await SQLiteTaskStore(path).open()
    message = str(caught.value)
    assert "\n" not in message
    assert str(path.parent) in message
    return message


async def test_a_file_is_served_by_one_store(store: SQLiteTaskStore, path: Path) -> None:
    assert await refusal(path) == (
        f"{path} is already served by process {os.getpid()}; stop it or use another --store"
    )
    await store.close()
    again = SQLiteTaskStore(path)
    await again.open()
    await again.close()


async def test_another_process_is_named(path: Path) -> None:
    program = (
        "import asyncio, pathlib, sys\n"
        "from dragoman.stores.sqlite.store import SQLiteTaskStore\n"
        "async def main():\n"
        "    store = SQLiteTaskStore(pathlib.Path(sys.argv[1]))\n"
        "    await store.open()\n"
        "    print('open', flush=True)\n"
        "    sys.stdin.read()\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(  # noqa: ASYNC220 - it must run beside this test
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        assert f"served by process {process.pid};" in await refusal(path)
        # Killed, not closed: the lock must go with the process.
        process.kill()
        process.wait()
    store = SQLiteTaskStore(path)
    await store.open()
    await store.close()


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    message = await refusal(tmp_path / "missing" / "tasks.db")
    assert message == f"{tmp_path}/missing is not a directory; create it or use another --store"


async def test_a_directory_in_place_of_the_file_is_refused(tmp_path: Path) -> None:
    directory = make_directory(tmp_path / "tasks.db")
    assert (await refusal(directory)).startswith(f"cannot write to {directory} (")


async def test_a_directory_that_takes_no_files_is_refused() -> None:
    # Not even root can create a file there.
    path = Path("/proc/self/tasks.db")
    assert (await refusal(path)).startswith(f"cannot write {path}.lock (")


async def test_a_file_that_is_no_database_is_refused_and_kept(diary: Path) -> None:
    before = content(diary)
    assert (await refusal(diary)).startswith(f"{diary} is not a SQLite database")
    assert content(diary) == before


async def test_a_database_of_another_program_is_refused_and_kept(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    before = content(path)
    assert await refusal(path) == f"{path} belongs to another program; use another --store"
    assert content(path) == before


async def test_a_database_of_a_newer_version_is_refused(path: Path) -> None:
    store = SQLiteTaskStore(path)
    await store.open()
    await store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    known = len(read_migrations("dragoman.stores.sqlite"))
    assert await refusal(path) == (
        f"{path} was written by a newer Dragoman (schema 99, this one knows {known}) and cannot be "
        "used by this one; upgrade Dragoman or use another --store"
    )


async def test_a_file_of_the_first_version_keeps_its_logs(path: Path) -> None:
    connection = sqlite3.connect(path)
    first = read_migrations("dragoman.stores.sqlite")[0]
    connection.executescript(
        f"PRAGMA application_id = {APPLICATION_ID}; {first} PRAGMA user_version = 1;"
    )
    segments = [
        ("t2", 1, 1, b'{"x":1}'),
        ("t1", 3, 1, b'{"x":3}'),
        ("t1", 1, 2, b'{"message":0}\n{"x":1}\n{"x":2}'),
    ]
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", segments)
    connection.commit()
    connection.close()
    store = SQLiteTaskStore(path)
    await store.open()
    try:
        events = await store.read_events("t1", after=0, limit=10)
        assert [(event.seq, event.json) for event in events] == [
            (1, b'{"x":1}'),
            (2, b'{"x":2}'),
            (3, b'{"x":3}'),
        ]
        assert len(await store.read_entries("t2", until=1)) == 1
    finally:
        await store.close()


async def test_a_refused_store_does_not_keep_the_lock(diary: Path) -> None:
    await refusal(diary)
    remove(diary)
    store = SQLiteTaskStore(diary)
    await store.open()
    await store.close()


# --- failures -----------------------------------------------------------------------------------


@contextmanager
def no_room_beyond(size: int) -> Generator[None]:
    """Make every write past this size of a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_full_disk_makes_the_store_unavailable_until_there_is_room(
    store: SQLiteTaskStore, path: Path
) -> None:
    assert await outcome(store, creation("before", message_id="m0")) is None
    log = path.with_name("tasks.db-wal")
    with no_room_beyond(log.stat().st_size):
        failed = await outcome(store, creation("t1", message_id="m1"))
        assert isinstance(failed, StoreUnavailableError)
        assert not store.is_available
        # What was stored before can still be read.
        assert await store.load(SCOPE, "before") is not None
        # Who wants to begin something is told at once; what a task has to say waits.
        assert isinstance(await outcome(store, creation("t2")), StoreUnavailableError)
        with pytest.raises(StoreUnavailableError):
            await store.put_inbox("before", b"{}", None)
        with pytest.raises(StoreUnavailableError):
            await store.take_over("before", 1)
        waiting = asyncio.ensure_future(outcome(store, news("before")))
        await asyncio.sleep(0.3)
        assert not waiting.done()
    assert await waiting is None
    assert store.is_available
    task = await store.load(SCOPE, "before")
    assert task is not None
    assert (task.seq, task.inbox) == (2, ())
    assert await store.load(SCOPE, "t1") is None
    assert await store.find_send(SendKey(SCOPE, "m1"), 0) is None
    assert await store.find_send(SendKey(SCOPE, "m0"), 0) is not None
    assert await outcome(store, creation("t1")) is None


async def test_writes_that_build_on_a_lost_one_are_refused_after_recovery(
    store: SQLiteTaskStore, path: Path
) -> None:
    assert await outcome(store, creation("t1")) is None
    later = TaskWrite(
        task_id="t1", epoch=1, expected_seq=2, entries=(b'{"statusUpdate":3}',), events=1
    )
    lost = news("t1")
    with no_room_beyond(path.with_name("tasks.db-wal").stat().st_size):
        assert isinstance(await outcome(store, lost), StoreUnavailableError)
        waiting = asyncio.ensure_future(outcome(store, later))
        await asyncio.sleep(0.05)
    assert "changed by another writer" in str(await waiting)
    task = await store.load(SCOPE, "t1")
    assert task is not None
    assert task.seq == 1


async def test_a_database_held_by_another_writer_for_too_long_is_a_failure_that_passes(
    store: SQLiteTaskStore, path: Path
) -> None:
    assert await outcome(store, creation("before")) is None
    intruder = sqlite3.connect(path, isolation_level=None)
    intruder.execute("BEGIN IMMEDIATE")
    failed = await outcome(store, creation("t1"))
    assert isinstance(failed, StoreUnavailableError)
    waiting = asyncio.ensure_future(outcome(store, news("before")))
    await asyncio.sleep(0)
    intruder.execute("ROLLBACK")
    intruder.close()
    assert await waiting is None
    assert store.is_available
    assert await outcome(store, creation("t2")) is None


BAD_WRITES = {
    "text that is no Unicode": creation("\ud800"),
    "number too large": TaskWrite(
        task_id="t1", epoch=2**70, expected_seq=0, entries=(b"{}",), events=1
    ),
    "value of no known type": creation("t9", message_id=object()),  # pyright: ignore[reportArgumentType] - the point
}


@pytest.mark.parametrize("bad", BAD_WRITES.values(), ids=BAD_WRITES.keys())
async def test_a_value_that_cannot_be_stored_fails_alone(
    store: SQLiteTaskStore, bad: TaskWrite
) -> None:
    outcomes = await asyncio.gather(
        outcome(store, creation("t1")), outcome(store, bad), outcome(store, creation("t2"))
    )
    assert outcomes[0] is None
    assert isinstance(outcomes[1], StoreError)
    assert not isinstance(outcomes[1], StoreUnavailableError)
    assert outcomes[2] is None
    assert store.is_available


# --- what the tables hold -----------------------------------------------------------------------


async def test_entries_committed_together_are_one_row(store: SQLiteTaskStore, path: Path) -> None:
    chunks = [
        TaskWrite(task_id="t1", epoch=1, expected_seq=n, entries=(b'{"x":1}',), events=1)
        for n in range(1, 100)
    ]
    outcomes = await asyncio.gather(
        outcome(store, creation("t1")), *(outcome(store, chunk) for chunk in chunks)
    )
    assert set(outcomes) == {None}
    assert number(path, "SELECT count(*) FROM events") == 1
    assert number(path, "SELECT count FROM events") == 100


async def test_the_log_of_a_small_task_takes_no_page_of_its_own(
    store: SQLiteTaskStore, path: Path
) -> None:
    tasks = [creation(f"t{n:03}", body=b"x" * 1100) for n in range(100)]
    assert set(await asyncio.gather(*(outcome(store, task) for task in tasks))) == {None}
    assert number(path, "PRAGMA page_count") < 100


async def test_counters_equal_counted_rows(store: SQLiteTaskStore, path: Path) -> None:
    for n in range(5):
        assert await outcome(store, creation(f"t{n}")) is None
    connection = sqlite3.connect(path)
    # Whoever removes tasks need not think of the counters.
    connection.execute("DELETE FROM tasks WHERE id IN ('t1', 't2')")
    connection.commit()
    connection.close()
    assert number(path, "SELECT sum(n) FROM counters") == 3


async def test_new_tasks_of_one_commit_are_counted_by_owner_and_state(
    store: SQLiteTaskStore, path: Path
) -> None:
    tasks = [
        replace(
            creation(f"t{n}"),
            state=TaskState.COMPLETED if n % 3 else TaskState.WORKING,
            created=replace(NEW, scope=Scope("", "alice" if n % 2 else "bob")),
        )
        for n in range(12)
    ]
    # One that is refused makes the store take the others one by one; it is not counted.
    outcomes = await asyncio.gather(*(outcome(store, task) for task in (*tasks, creation("t0"))))
    assert [error is None for error in outcomes] == [True] * 12 + [False]
    connection = sqlite3.connect(path)
    counters = connection.execute("SELECT owner, state, n FROM counters WHERE n > 0").fetchall()
    counted = connection.execute("SELECT owner, state, count(*) FROM tasks GROUP BY owner, state")
    assert sorted(counters) == sorted(counted.fetchall())
    connection.close()


async def test_more_sends_than_one_commit_drops_are_forgotten(
    store: SQLiteTaskStore, path: Path
) -> None:
    await asyncio.gather(
        *(outcome(store, creation(f"t{n}", message_id=f"m{n}")) for n in range(4500))
    )
    await store.forget_sends(before_ms=2)
    assert number(path, "SELECT count(*) FROM sends") == 0
    assert await store.find_send(SendKey(SCOPE, "m7"), 0) is None


async def test_reads_of_a_broken_database_say_that_the_store_is_unavailable(
    store: SQLiteTaskStore, path: Path
) -> None:
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE journal")
    connection.close()
    with pytest.raises(StoreUnavailableError, match="no such table: journal"):
        await store.read_journal("t1")
