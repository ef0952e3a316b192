from collections.abc import AsyncIterator

import pytest

from tests.scenarios.replicas.replicas import KINDS, Replicas, replicas_on


@pytest.fixture(params=list(KINDS))
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[Replicas]:
    async for replicas in replicas_on(request.param):
        yield replicas
