"""What one event, hint and read costs on PostgreSQL and a bus: `python -m benches.units --help`.

Everything happens in this process against servers that are running already, so that CPU time is
that of a replica alone. The figures go into `benches/capacity.py` by `--json`.
"""

import argparse
import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median

import asyncpg
import uvloop

from dragoman.bus.base import Bus, TaskMoved
from dragoman.bus.opening import open_bus
from dragoman.errors import StoreError
from dragoman.model.tasks import TaskState
from dragoman.stores.base import NewTask, Scope, SharedTaskStore, TaskWrite
from dragoman.stores.opening import open_store

SCOPE = Scope("", "bench")
TASKS = 500
"""Tasks at work at once: what one replica has in its hands under load."""

ROUNDS = 40
"""Events of each; one event of every task at a time, so a batch has up to TASKS of them."""

READS = 10
PAUSE_SECONDS = 0.02
"""Between two rounds of hints: time enough to send one."""

CHUNK = (
    b'{"artifactUpdate":{"taskId":"%s","contextId":"c","artifact":{"artifactId":"a",'
    b'"parts":[{"text":"%s"}]},"append":true}}'
)
TEXT = b"about forty characters, as a model says."


class Stopwatch:
    """CPU time of this process since it was made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def rate(self, count: int) -> float:
        """Return how many a second."""
        return count / (time.perf_counter() - self._wall)

    def cpu_us(self, count: int) -> float:
        """Return the microseconds of CPU for each."""
        return (time.process_time() - self._cpu) / count * 1e6


class Database:
    """What PostgreSQL itself says of its work."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __aenter__(self) -> "Database":
        self._connection = await asyncpg.connect(self._url)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()

    async def bytes_kept(self) -> int:
        return await self._connection.fetchval(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class WHERE relkind = 'r'"
        )

    async def bytes_logged(self) -> int:
        return int(await self._connection.fetchval("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn"))

    async def cpu_seconds(self) -> float:
        """Return the CPU time of its processes, which must be on this machine."""
        rows = await self._connection.fetch("SELECT pid FROM pg_stat_activity")
        return sum(_cpu_seconds(row["pid"]) for row in rows)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def joined(url: str, name: str) -> AsyncGenerator[SharedTaskStore]:
    store = open_store(url)
    assert isinstance(store, SharedTaskStore), "units are of replicas: give a PostgreSQL"
    await store.open()
    await store.join(name, lease_seconds=60)
    try:
        yield store
    finally:
        await store.leave()
        await store.close()


async def write(store: SharedTaskStore, writes: list[TaskWrite]) -> None:
    """Hand writes over together and wait until all are durable."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    left = len(writes)

    def report(error: StoreError | None) -> None:
        nonlocal left
        left -= 1
        if error is not None and not done.done():
            done.set_exception(error)
        elif not left and not done.done():
            done.set_result(None)

    for each in writes:
        store.append(each, report)
    await done


def creation(task_id: str) -> TaskWrite:
    return TaskWrite(
        task_id=task_id,
        epoch=1,
        expected_seq=0,
        created=NewTask(
            scope=SCOPE, context_id="c", skill_id="s", origin_dialect="1.0", created_ms=1
        ),
        entries=(b'{"message":{"messageId":"m"}}', CHUNK % (task_id.encode(), TEXT)),
        events=1,
        state=TaskState.WORKING,
        status_at_ms=1,
    )


def chunk(task_id: str, seq: int) -> TaskWrite:
    entry = CHUNK % (task_id.encode(), TEXT)
    return TaskWrite(task_id=task_id, epoch=1, expected_seq=seq, entries=(entry,), events=1)


async def measure_store(url: str) -> dict[str, float]:
    stamp = time.time_ns()
    ids = [f"bench-{stamp}-{number}" for number in range(TASKS)]
    events = TASKS * ROUNDS
    async with joined(url, f"bench-{stamp}") as store, Database(url) as database:
        kept = await database.bytes_kept()
        await write(store, [creation(task_id) for task_id in ids])
        task_bytes = (await database.bytes_kept() - kept) / TASKS
        kept, logged = await database.bytes_kept(), await database.bytes_logged()
        busy = await database.cpu_seconds()
        watch = Stopwatch()
        for seq in range(1, ROUNDS + 1):
            await write(store, [chunk(task_id, seq) for task_id in ids])
        units = {
            "writes_per_second": watch.rate(events),
            "write_cpu_us": watch.cpu_us(events),
            "write_database_cpu_us": (await database.cpu_seconds() - busy) / events * 1e6,
            "task_bytes": task_bytes,
            "event_bytes": (await database.bytes_kept() - kept) / events,
            "event_logged_bytes": (await database.bytes_logged() - logged) / events,
        }
        busy = await database.cpu_seconds()
        watch = Stopwatch()
        for _ in range(READS):
            for task_id in ids:
                assert len(await store.read_events(task_id, after=ROUNDS, limit=100)) == 1
        units["read_cpu_us"] = watch.cpu_us(TASKS * READS)
        spent = await database.cpu_seconds() - busy
        units["read_database_cpu_us"] = spent / (TASKS * READS) * 1e6
    return units


async def measure_bus(url: str) -> dict[str, float]:
    """Send hints from one bus to another, both in this process."""
    near, far = open_bus(url), open_bus(url)
    heard: dict[str, int] = {}
    ids = [f"task-{number}" for number in range(TASKS)]
    try:
        for bus, name in ((near, "near"), (far, "far")):
            await bus.open(name, on_hint=lambda _: None, on_reconnect=lambda: None)
            assert bus.is_connected, "the bus does not answer"
        said = await hints(near, ids)
        for task_id in ids:
            far.follow(task_id, partial(heard.__setitem__, task_id))
        await until(near, lambda: len(heard) == TASKS, ids)
        both = await hints(near, ids)
        latency = await ping(near, heard, ids[0])
    finally:
        await near.close()
        await far.close()
    return {"hint_cpu_us": said, "heard_cpu_us": both - said, "hint_ms": latency * 1e3}


async def hints(near: Bus, ids: list[str]) -> float:
    """Say of every task that it moved, again and again; return the CPU time of each hint.

    As after a commit all tasks move at once, and all is sent before the next time.
    """
    watch = Stopwatch()
    for seq in range(ROUNDS):
        for task_id in ids:
            near.publish(TaskMoved(task_id, seq))
        await asyncio.sleep(PAUSE_SECONDS)
    return watch.cpu_us(ROUNDS * len(ids))


async def until(near: Bus, is_true: Callable[[], bool], ids: list[str]) -> None:
    async with asyncio.timeout(10):
        while not is_true():
            for task_id in ids:
                near.publish(TaskMoved(task_id, 1))
            await asyncio.sleep(PAUSE_SECONDS)


async def ping(near: Bus, heard: dict[str, int], task_id: str) -> float:
    """Return the median time of a hint when nothing else is going on."""
    times: list[float] = []
    for seq in range(10_000, 10_200):
        began = time.perf_counter()
        near.publish(TaskMoved(task_id, seq))
        while heard[task_id] != seq:  # noqa: ASYNC110 - every pass of the loop counts here
            await asyncio.sleep(0)
        times.append(time.perf_counter() - began)
    return median(times)


async def measure(store: str, bus: str, rounds: int) -> dict[str, float]:
    """Return the median of each unit; the bus comes first, while the database is at rest."""
    found: dict[str, list[float]] = {}
    for prefix, work in (
        ("postgres_", partial(measure_bus, store)),
        ("nats_", partial(measure_bus, bus)),
        ("", partial(measure_store, store)),
    ):
        for _ in range(rounds):
            for name, value in (await work()).items():
                found.setdefault(prefix + name, []).append(value)
    return {name: round(median(values), 3) for name, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benches.units", description=__doc__)
    parser.add_argument("--store", required=True, help="a PostgreSQL on this machine")
    parser.add_argument("--bus", required=True, help="a NATS on this machine")
    parser.add_argument("--rounds", type=int, default=5, help="how often, for the median")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures here as well")
    options = parser.parse_args()
    units = uvloop.run(measure(options.store, options.bus, options.rounds))
    for name, value in units.items():
        print(f"{name:28} {value:12,.2f}")
    if options.json:
        options.json.write_text(json.dumps(units, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
