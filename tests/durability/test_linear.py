"""10,000 chunks cost 10,000 times one chunk. What is counted is work, not time."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from math import ceil, log
from pathlib import Path
from typing import Final

import pytest

from dragoman import Agent
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.server.tasks.pending_write import SNAPSHOT_EVENTS
from dragoman.server.tasks.streams import RING_EVENTS, Channel, Follower, Hub
from dragoman.service.service import Call
from dragoman.stores.base import TaskWrite
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.stores.sqlite.store import SQLiteTaskStore
from tests.durability.hosting import hosting, send_request
from tests.durability.recording import RecordingStore

CHUNKS: Final = 10_000
WIDTH: Final = 20
"""Every chunk is as long as any other, whatever its number."""

pytestmark = pytest.mark.timeout(60)


def chunking_agent() -> Agent:
    """Return an agent that yields as many chunks as it is told, and lets others run in between."""
    agent = Agent("Chunks")

    @agent.skill
    async def chunks(text: str) -> AsyncIterator[str]:
        for number in range(int(text)):
            yield str(number).ljust(WIDTH)
            if number % 10 == 0:
                await asyncio.sleep(0)

    return agent


async def writes_of(store: RecordingStore) -> list[TaskWrite]:
    """Run the task of 10,000 chunks and return what was written."""
    async with hosting(chunking_agent(), store) as hosted:
        service = await hosted.app.runtime.service()
        document = await service.send_message(send_request(str(CHUNKS)), Call())
        assert isinstance(document, TaskDocument)
        text = document.task().artifacts[0].parts[0].text
        assert text == "".join(str(number).ljust(WIDTH) for number in range(CHUNKS))
    return store.writes


def size_of(write: TaskWrite) -> int:
    """Return the bytes of the log that a write adds."""
    return sum(len(entry) for entry in write.entries)


async def test_the_last_chunks_write_no_more_than_the_first() -> None:
    writes = await writes_of(RecordingStore(MemoryTaskStore()))
    first = [entry for write in writes for entry in write.entries][1000:2000]
    last = [entry for write in writes for entry in write.entries][-1010:-10]
    assert sum(map(len, first)) == sum(map(len, last))


async def test_a_task_of_n_chunks_is_written_once_and_not_again() -> None:
    writes = await writes_of(RecordingStore(MemoryTaskStore()))
    # Beside the chunks: the message, submitted, working, completed.
    assert sum(len(write.entries) for write in writes) == CHUNKS + 4
    assert sum(write.events for write in writes) == CHUNKS + 3
    # Each write goes on where the one before it ended.
    seq = 0
    for write in writes:
        assert write.expected_seq == seq
        seq += write.events


async def test_the_number_of_snapshots_grows_with_the_logarithm_of_the_chunks() -> None:
    writes = await writes_of(RecordingStore(MemoryTaskStore()))
    snapshots = [write.snapshot for write in writes if write.snapshot is not None]
    # Two at the first distance, then each at half again the one before, and the end.
    assert 2 <= len(snapshots) <= 2 + ceil(log(CHUNKS / (2 * SNAPSHOT_EVENTS), 1.5)) + 1


async def test_all_snapshots_together_are_no_larger_than_a_few_times_the_result() -> None:
    writes = await writes_of(RecordingStore(MemoryTaskStore()))
    sizes = [len(write.snapshot.json()) for write in writes if write.snapshot is not None]
    # A sum of a geometric row: with a factor of 1.5, the last one three times, and the last itself.
    assert sum(sizes) <= 4 * sizes[-1]


async def test_the_file_grows_by_no_more_than_a_few_times_what_was_said(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    writes = await writes_of(RecordingStore(SQLiteTaskStore(path)))
    said = sum(size_of(write) for write in writes)
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT count(*), sum(count), sum(length(body)) FROM events")
        segments, events, length = rows.fetchone()
    assert events == CHUNKS + 3
    assert segments <= len(writes)
    assert length <= said + CHUNKS
    # Closed, so the write-ahead log has been copied into it.
    assert path.stat().st_size <= 3 * said


async def test_what_is_kept_for_a_follower_who_is_behind_does_not_grow_with_the_task() -> None:
    async def read_log(after: int, limit: int) -> tuple[EventDocument, ...]:
        raise AssertionError((after, limit))

    channel = Channel(Hub(), read_log)
    follower = Follower(channel, first=None, cursor=0)
    for seq in range(1, CHUNKS + 1):
        channel.publish(seq, [EventDocument(seq, b"{}")], paused_at=0, ended_at=0)
    at_hand = [cursor for cursor in range(CHUNKS) if channel.after(cursor) is not None]
    assert RING_EVENTS <= len(at_hand) <= 2 * RING_EVENTS
    # The newest ones.
    assert at_hand == list(range(CHUNKS - len(at_hand), CHUNKS))
    await follower.aclose()
    assert channel.after(CHUNKS - 1) is None
