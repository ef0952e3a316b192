"""The demo agent in a process of its own for all tests, and the command line to talk to it."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, fake_agent
from tests.support.serving import AgentProcess

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")


@pytest.fixture(scope="session")
def stage() -> Iterator[str]:
    """The address of the agent."""
    with AgentProcess(None, "--advertise", "grpc") as process:
        yield process.url


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> str:
    """Each binding in turn."""
    return request.param


@pytest.fixture
def alone(tmp_path: Path) -> Cli:
    """The command line in an empty folder, without an agent."""
    return Cli(tmp_path)


@pytest.fixture
def cli(alone: Cli, stage: str) -> Cli:
    """The command line that talks to the agent, over what its card has first."""
    return alone.to(stage)


@pytest.fixture
def each(cli: Cli, binding: str) -> Cli:
    """The same over each binding in turn."""
    return cli.speaking(binding)


@pytest.fixture
def fake() -> Generator[FakeAgent]:
    """An agent that does as it is told."""
    with fake_agent() as agent:
        yield agent
