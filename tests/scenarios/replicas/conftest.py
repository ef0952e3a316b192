from collections.abc import AsyncIterator

import pytest

from tests.scenarios.replicas.holding import replicas_in_hand
from tests.scenarios.replicas.replicas import KINDS, Replicas, replicas_on


@pytest.fixture(params=list(KINDS))
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[Replicas]:
    async for replicas in replicas_on(request.param):
        yield replicas


@pytest.fixture
async def in_hand() -> AsyncIterator[Replicas]:
    """Return replicas in memory, whose stores do what the test says."""
    async for replicas in replicas_in_hand():
        yield replicas
