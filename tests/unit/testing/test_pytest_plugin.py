"""The plugin as pytest loads it: by its entry point, in a run of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

# A run of pytest is a process that imports all there is.
pytestmark = pytest.mark.timeout(60)

AGENT = """
import pytest
from dragoman import Agent

agent = Agent("Echo", "Repeats.")


@agent.skill
async def echo(text: str) -> str:
    return text
"""

PASSING = """
def test_a_pair_for_tests_that_are_not_async(agent_pair_sync, agent_wire):
    with agent_pair_sync(agent, version="0.3") as client:
        assert client.send("hello").text == "hello"
    agent_wire.assert_sent({"method": "message/stream"})


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.mark.anyio
async def test_a_pair_for_tests_that_are_async(agent_pair, agent_wire):
    async with agent_pair(agent) as client:
        assert (await client.send("hello")).text == "hello"
    agent_wire.assert_sent({"method": "SendStreamingMessage"})


@pytest.mark.parametrize("text", ["one", "two"])
def test_each_test_has_a_wire_of_its_own(agent_pair_sync, agent_wire, text):
    with agent_pair_sync(agent) as client:
        client.send(text)
    assert len(agent_wire.exchanges) == 2  # the card and the message


def time_of(client):
    return client.send("hello").task.status.timestamp


def test_pairs_go_by_the_clock_of_a_test_that_uses_it(agent_pair_sync, agent_clock):
    with agent_pair_sync(agent) as client:
        agent_clock.advance(3600)
        assert time_of(client) == "2026-01-01T01:00:00.000Z"


def test_pairs_go_by_real_time_without(agent_pair_sync):
    with agent_pair_sync(agent) as client:
        assert not time_of(client).startswith("2026-01-01T00:00")
"""

FAILING = """
def test_a_reply(agent_pair_sync):
    with agent_pair_sync(agent) as client:
        reply = client.send("hello")
    assert reply.text == "goodbye"


def test_a_wire(agent_wire):
    agent_wire.assert_sent({"method": "SendMessage"})  # this line
"""

STRANGER = """
import sys


def test_a_test_of_something_else():
    ours = {name for name in sys.modules if name.split(".")[0] == "dragoman"}
    assert ours == {
        "dragoman", "dragoman._lazy", "dragoman.testing", "dragoman.testing.pytest_plugin"
    }
    assert not {"msgspec", "httpx2", "uvicorn", "grpc"} & set(sys.modules)
"""


def run(folder: Path, tests: str) -> str:
    """Run tests in a folder of their own; return what pytest says."""
    (folder / "test_it.py").write_text(tests)
    # Plugins of others that are installed beside it load what they like.
    without = ("cacheprovider", "randomly", "langsmith_plugin")
    options = (*(option for name in without for option in ("-p", f"no:{name}")), "-vv")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def test_the_fixtures_do_what_they_promise(tmp_path: Path) -> None:
    output = run(tmp_path, AGENT + PASSING)
    assert re.search(r"= 6 passed in", output), output
    assert "A2A wire" not in output


def test_a_test_that_fails_shows_what_went_over_the_wire(tmp_path: Path) -> None:
    output = run(tmp_path, AGENT + FAILING)
    assert "= 2 failed" in output, output
    assert output.count("Captured A2A wire call") == 1
    assert '"parts": [{"text": "hello"}]' in output
    # It points at the line of the test, and not into our own code.
    assert re.search(r'^>.*"SendMessage"}\)  # this line$', output, re.MULTILINE), output
    assert "E       AssertionError: no request has what is expected: nothing was recorded" in output


def test_whoever_does_not_use_it_loads_nothing_of_it(tmp_path: Path) -> None:
    output = run(tmp_path, STRANGER)
    assert "= 1 passed" in output, output
