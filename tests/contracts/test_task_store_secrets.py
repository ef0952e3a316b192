"""What every TaskStore promises of secrets: kept with their write, gone with their task's end."""

import pytest
from msgspec.structs import replace

from dragoman.errors import ConflictError
from dragoman.stores.base import Secret, TaskStore, TaskWrite
from tests.contracts.storing import COMPLETED, chunk, creation, move, write, write_together

pytestmark = pytest.mark.anyio


def keeping(seq: int, *secrets: Secret, task_id: str = "t1") -> TaskWrite:
    return replace(chunk(seq, task_id=task_id), secrets=secrets)


async def test_a_secret_is_found_by_its_number(store: TaskStore) -> None:
    await write(store, creation())
    await write(store, keeping(1, Secret(3, b"\x00sealed"), Secret(5, b"other")))
    assert await store.read_secret("t1", 3) == b"\x00sealed"
    assert await store.read_secret("t1", 5) == b"other"
    assert await store.read_secret("t1", 4) is None
    assert await store.read_secret("t2", 3) is None


async def test_the_end_of_a_task_takes_its_secrets_with_it(store: TaskStore) -> None:
    await write(store, creation())
    await write(store, creation("t2"))
    await write(store, keeping(1, Secret(1, b"of one")))
    await write(store, keeping(1, Secret(1, b"of two"), task_id="t2"))
    await write(store, move(2, COMPLETED))
    assert await store.read_secret("t1", 1) is None
    assert await store.read_secret("t2", 1) == b"of two"


async def test_a_secret_and_the_end_may_come_in_one_commit(store: TaskStore) -> None:
    await write(store, creation())
    await write_together(store, keeping(1, Secret(1, b"sealed")), move(2, COMPLETED))
    assert await store.read_secret("t1", 1) is None


async def test_a_write_that_is_refused_keeps_nothing(store: TaskStore) -> None:
    await write(store, creation())
    (refused,) = await write_together(store, keeping(7, Secret(1, b"sealed")))
    assert isinstance(refused, ConflictError)
    assert await store.read_secret("t1", 1) is None
