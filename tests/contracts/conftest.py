from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman.stores.base import TaskStore
from tests.contracts.storing import STORES


@pytest.fixture(params=list(STORES))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[TaskStore]:
    store = STORES[request.param](tmp_path)
    await store.open()
    yield store
    await store.close()
