"""What a file remembers of webhooks, and what it does not write."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.model.tasks import TaskState
from dragoman.stores.sqlite.store import SQLiteTaskStore
from dragoman.stores.webhooks import Webhook
from tests.contracts.storing import creation, move, registration, with_webhook, write

pytestmark = pytest.mark.anyio


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


async def taken_by(store: SQLiteTaskStore) -> tuple[Webhook, ...]:
    return await store.webhooks.take_due(now_ms=2000, until_ms=9000, limit=9, except_hosts=())


async def test_what_somebody_had_taken_who_is_gone_can_be_taken_at_once(path: Path) -> None:
    store = SQLiteTaskStore(path)
    await store.open()
    await write(store, with_webhook(creation(), registration()))
    (first,) = await taken_by(store)
    assert await taken_by(store) == ()
    await store.close()
    again = SQLiteTaskStore(path)
    await again.open()
    (second,) = await taken_by(again)
    assert (second.key, second.cursor) == (first.key, 0)
    await again.close()


async def test_webhooks_of_before_are_told_of_what_happens_after(path: Path) -> None:
    store = SQLiteTaskStore(path)
    await store.open()
    await write(store, creation())
    await store.webhooks.put("t1", registration())
    await store.close()
    again = SQLiteTaskStore(path)
    await again.open()
    await write(again, replace(move(1, TaskState.COMPLETED), at_ms=1000))
    assert [each.cursor for each in await taken_by(again)] == [1]
    await again.close()


async def test_nothing_is_written_while_nothing_is_due(path: Path) -> None:
    store = SQLiteTaskStore(path)
    await store.open()
    await write(store, creation())
    await store.webhooks.put("t1", registration())
    size = path.with_name(f"{path.name}-wal").stat().st_size
    for _ in range(3):
        assert await taken_by(store) == ()
    assert path.with_name(f"{path.name}-wal").stat().st_size == size
    await store.close()
