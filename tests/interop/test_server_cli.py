"""The command line against the servers of ``test_servers``, as somebody would type it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.calling import Cli
from tests.interop.lines import LINES, Line

pytestmark = [
    pytest.mark.interop,
    # The first test of a peer may have to install it.
    pytest.mark.timeout(600),
]


@pytest.fixture(params=LINES, ids=str)
def line(request: pytest.FixtureRequest) -> Line:
    return request.param


@pytest.fixture
def cli(line: Line, server_of: Callable[[str], str], tmp_path: Path) -> Cli:
    """The command line that talks over this binding."""
    return Cli(tmp_path).to(server_of(line.peer)).speaking(line.binding)


def test_a_message_is_sent_and_its_task_shown(cli: Cli) -> None:
    sent = cli("send", "echo grüße", "-o", "json")
    assert sent.code == 0, sent.err
    task = sent.json["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["parts"][0]["text"] == "echo grüße"
    shown = cli("task", "get", task["id"], "-o", "json")
    assert shown.code == 0, shown.err
    assert shown.json["id"] == task["id"]
    assert shown.json["artifacts"] == task["artifacts"]


def test_a_stream_is_shown_line_by_line(cli: Cli) -> None:
    told = cli("send", "spell to be", "--stream", "-o", "json")
    assert told.code == 0, told.err
    chunks = [line["artifactUpdate"] for line in told.lines if "artifactUpdate" in line]
    assert [chunk["artifact"]["parts"][0]["text"] for chunk in chunks] == ["to ", "be "]


def test_an_old_agent_is_not_spoken_to_where_that_is_not_wanted(
    line: Line, server_of: Callable[[str], str], tmp_path: Path
) -> None:
    bare = Cli(tmp_path).to(server_of(line.peer)).speaking(line.binding)
    told = bare("send", "echo hello", "--strict")
    assert (told.code == 0) is line.is_new
    assert line.is_new or "--strict" in told.err
