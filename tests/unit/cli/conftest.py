"""The command line in an empty folder, and an agent that does as it is told."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, fake_agent, task


@pytest.fixture
def fake() -> Generator[FakeAgent]:
    """An agent that has one task."""
    with fake_agent(GetTask=lambda _: task()) as agent:
        yield agent


@pytest.fixture
def cli(tmp_path: Path, fake: FakeAgent) -> Cli:
    """The command line that talks to it."""
    return Cli(tmp_path).to(fake.url)
