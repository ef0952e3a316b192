"""A guarded agent that takes keys, one per module, and clients of it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from dragoman.stores.base import TaskStore
from dragoman.stores.memory.store import MemoryTaskStore
from tests.scenarios.bindings import Binding, HttpJson
from tests.scenarios.guard.asking import ADA, BOB, CAROL, DAN, client_of
from tests.scenarios.guard.counting import Asked, counted
from tests.scenarios.guarding import LINES, Line, guarded_agent
from tests.support.serving import Served, serving


@pytest.fixture(scope="module")
def counting() -> tuple[TaskStore, Asked]:
    """Where the tasks of the module are kept, and what it is asked for."""
    return counted(MemoryTaskStore())


@pytest.fixture(scope="module")
def asked(counting: tuple[TaskStore, Asked]) -> Asked:
    """What the store is asked for."""
    return counting[1]


@pytest.fixture(scope="module")
async def served(counting: tuple[TaskStore, Asked]) -> AsyncIterator[Served]:
    """The agent behind its guard."""
    # All attacks come from one address, so how many it may make is not limited here.
    async with serving(
        guarded_agent(), store=counting[0], rate_limit_refusals="", shutdown_grace_seconds=0
    ) as agent:
        yield agent


@pytest.fixture(params=LINES, ids=[line.name for line in LINES])
def line(request: pytest.FixtureRequest) -> Line:
    """Each version over each binding."""
    return request.param


@pytest.fixture
async def wire(line: Line, served: Served) -> AsyncIterator[Binding]:
    """A client of that line."""
    async with line.connect(served.url) as binding:
        yield binding


@pytest.fixture
async def people(served: Served) -> AsyncIterator[dict[str, HttpJson]]:
    """A client for each of them."""
    clients = {key: client_of(served, key) for key in (ADA, BOB, CAROL, DAN)}
    yield clients
    for client in clients.values():
        await client.http.aclose()


@pytest.fixture
def audit(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """The audit log."""
    caplog.set_level("DEBUG", logger="dragoman.audit")
    return caplog
