"""A server that has its store to itself does not even load what servers share one by."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

PROGRAM: Final = """
import asyncio, sys
from dragoman import Agent, connect
from dragoman.testing import served

agent = Agent("Echo", "Repeats.")

@agent.skill
async def echo(text: str) -> str:
    return text

async def main():
    async with served(agent, store="sqlite:///tasks.db") as place:
        async with connect(place.url) as remote:
            assert (await remote.send("hello")).text == "hello"

asyncio.run(main())
print(*(name for name in sys.modules if name.startswith("dragoman.server.replicas")))
"""


@pytest.mark.timeout(120)
def test_a_server_on_sqlite_never_imports_the_replicas(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout.strip()) == (0, ""), run.stderr
