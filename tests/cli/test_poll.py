"""TASK_POLL: waiting by looking again and again."""

import os
import signal
import subprocess
import sys
import time
from itertools import pairwise

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Frames, card, task
from tests.support.cli.commands import environment


def test_task_poll_001_looks_once_or_waits(each: Cli) -> None:
    task_id = each("send", "slow", "--async", "-o", "json").json["task"]["id"]
    once = each("task", "get", task_id, "-o", "json").json
    assert once["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
    waited = each("task", "get", task_id, "--wait", "--poll-interval", "0.1", "-o", "json").json
    assert waited["status"]["state"] == "TASK_STATE_COMPLETED"


def test_task_poll_001_the_environment_may_ask_to_wait(cli: Cli) -> None:
    task_id = cli("send", "slow", "--async", "-o", "json").json["task"]["id"]
    result = cli("task", "get", task_id, "--poll-interval", "100ms", A2ACLI_WAIT="yes")
    assert result.field("State") == "TASK_STATE_COMPLETED"


def test_task_poll_002_the_gap_is_the_interval_and_grows(alone: Cli, fake: FakeAgent) -> None:
    looks = iter(["WORKING"] * 5)
    fake.answers["GetTask"] = lambda _: task(next(looks, "COMPLETED"))
    result = alone.to(fake.url)("task", "get", "t-1", "--wait", "--poll-interval", "100ms")
    assert result.code == 0
    gaps = [second.at - first.at for first, second in pairwise(fake.calls("GetTask"))]
    expected = [0.1, 0.15, 0.225, 0.3375, 0.50625]
    assert len(gaps) == len(expected)
    for gap, least in zip(gaps, expected, strict=True):
        # More only where the machine is busy.
        assert least <= gap < least + 1


def test_task_poll_002_gives_up_in_time(alone: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: task("WORKING")
    flags = ("--wait", "--poll-interval", "0.1", "--timeout", "0.4s", "-o", "json")
    began = time.monotonic()
    result = alone.to(fake.url)("task", "get", "t-1", *flags)
    assert time.monotonic() - began < 3
    assert result.code == 5
    assert result.error["code"] == "A2ACLI_ERR_TIMEOUT"
    assert result.error["hint"].startswith("dragoman task get t-1 --wait")
    assert "task t-1 context c-1" in result.err


def test_task_poll_002_no_interval_makes_a_busy_loop(alone: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: task("WORKING")
    flags = ("--wait", "--poll-interval", "0", "--timeout", "0.5s")
    assert alone.to(fake.url)("task", "get", "t-1", *flags).code == 5
    assert len(fake.calls("GetTask")) <= 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_task_poll_002_can_be_interrupted(cli: Cli, stage: str, number: signal.Signals) -> None:
    command = [sys.executable, "-m", "dragoman", "send", "forever", "-o", "json", "-a", stage]
    process = subprocess.Popen(
        command,
        cwd=cli.folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    told = process.stderr.readline()
    assert told.startswith("task ")
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    task_id = told.split()[1]
    assert '"DRAGOMAN_ERR_INTERRUPTED"' in out
    assert f"dragoman task get {task_id} --wait" in out
    assert task_id in err
    assert "Traceback" not in err
    # It is the waiting that has ended, not the task.
    assert cli("task", "get", task_id).field("State") == "TASK_STATE_WORKING"
    assert cli("task", "cancel", task_id).code == 0


@pytest.mark.parametrize(("text", "state"), [("ask", "INPUT"), ("authorize", "AUTH")])
def test_task_poll_003_stops_at_once_where_the_task_is_interrupted(
    each: Cli, text: str, state: str
) -> None:
    began = time.monotonic()
    result = each("send", text)
    assert time.monotonic() - began < 5
    assert result.code == 0
    assert result.field("State") == f"TASK_STATE_{state}_REQUIRED"
    task_id = result.field("Task")
    assert each("task", "get", task_id, "--wait").field("State") == f"TASK_STATE_{state}_REQUIRED"


@pytest.mark.parametrize("command", ["send", "get"])
def test_task_poll_003_an_unspecified_state_is_no_end(
    alone: Cli, fake: FakeAgent, command: str
) -> None:
    """It may be anything: the wait goes on, and shows it as it came."""
    looks = iter(["UNSPECIFIED", "UNSPECIFIED"])
    fake.answers = {
        "SendMessage": lambda _: {"task": task("UNSPECIFIED")},
        "GetTask": lambda _: task(next(looks, "COMPLETED")),
    }
    words = ("send", "x") if command == "send" else ("task", "get", "t-1", "--wait")
    result = alone.to(fake.url)(*words, "--poll-interval", "0.1")
    assert result.code == 0
    assert result.field("State") == "TASK_STATE_COMPLETED"
    assert len(fake.calls("GetTask")) >= 3


def test_task_poll_003_an_unspecified_state_is_waited_for_no_longer_than_any(
    alone: Cli, fake: FakeAgent
) -> None:
    fake.answers["GetTask"] = lambda _: task("UNSPECIFIED")
    to_fake = alone.to(fake.url)
    assert to_fake("task", "get", "t-1").field("State") == "TASK_STATE_UNSPECIFIED"
    flags = ("--wait", "--poll-interval", "0.1", "--timeout", "0.3s")
    assert to_fake("task", "get", "t-1", *flags).code == 5


@pytest.mark.parametrize("state", ["UNSPECIFIED", "PAUSED"])
def test_task_poll_003_goes_on_where_the_state_says_nothing(
    alone: Cli, fake: FakeAgent, state: str
) -> None:
    fake.card = card(fake.url, capabilities={"streaming": False})
    looks = iter([state, state])
    fake.answers = {
        "SendMessage": lambda _: {"task": task(state)},
        "GetTask": lambda _: task(next(looks, "COMPLETED")),
    }
    cli = alone.to(fake.url)
    shown = cli("task", "get", "t-1", "-o", "json").json["status"]["state"]
    assert shown == f"TASK_STATE_{state}"
    result = cli("send", "x", "--poll-interval", "0.1", "-o", "json")
    assert result.json["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_task_poll_004_a_wait_by_stream_falls_back_to_looking(alone: Cli, fake: FakeAgent) -> None:
    """Every stream ends at once; the task is looked at instead, and the command finishes."""
    fake.card = card(fake.url, capabilities={"streaming": True})
    looks = iter(["WORKING", "WORKING"])
    fake.answers = {
        "SendStreamingMessage": lambda _: Frames([{"task": task("WORKING")}]),
        "SubscribeToTask": lambda _: Frames([{"task": task("WORKING")}]),
        "GetTask": lambda _: task(next(looks, "COMPLETED")),
    }
    result = alone.to(fake.url)("send", "x", "--poll-interval", "0.1", "-o", "json")
    assert result.code == 0
    assert result.json["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert len(fake.calls("SendStreamingMessage")) == 1
