"""Servers for the scenarios: one per module, as starting one takes longer than talking to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from dragoman.client.discovery.card_cache import CardCache
from tests.scenarios.agents import GATES, Gate, make_agent
from tests.scenarios.bindings import BINDINGS, Binding, HttpJson, JsonRpc
from tests.support.serving import Served, serving

_contexts = count(1)


@pytest.fixture(autouse=True)
def forget_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody find a card of a server whose port another one has got since."""
    monkeypatch.setattr("dragoman.client.connect._CARDS", CardCache())


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """The agent of the scenarios, at work. Tasks that are still held are dropped at the end.

    Nobody waits longer than a test may take, so one that fails does not hold up the others. It has
    no webhooks: ``test_push`` has an agent of its own, and the others show what is refused then.
    """
    async with serving(
        make_agent(), shutdown_grace_seconds=0, max_wait_seconds=10, push=False
    ) as agent:
        yield agent


@pytest.fixture(params=BINDINGS, ids=[kind.name for kind in BINDINGS])
def kind(request: pytest.FixtureRequest) -> type[Binding]:
    """Each binding in turn; for tests that start a server of their own."""
    return request.param


@pytest.fixture
async def wire(kind: type[Binding], served: Served) -> AsyncIterator[Binding]:
    """A client of the served agent, over each binding in turn."""
    async with kind(served.url) as binding:
        yield binding


@pytest.fixture
async def rpc(served: Served) -> AsyncIterator[JsonRpc]:
    """A client of the served agent that speaks JSON-RPC."""
    async with JsonRpc(served.url) as binding:
        yield binding


@pytest.fixture
async def rest(served: Served) -> AsyncIterator[HttpJson]:
    """A client of the served agent that speaks HTTP+JSON."""
    async with HttpJson(served.url) as binding:
        yield binding


@pytest.fixture
def gate() -> Iterator[Gate]:
    """A gate at which a skill waits for this test."""
    gate = Gate()
    GATES[gate.name] = gate
    yield gate
    del GATES[gate.name]


@pytest.fixture
def context() -> str:
    """A context nobody else uses: the tasks of one test among those of the module."""
    return f"c-{next(_contexts)}"
