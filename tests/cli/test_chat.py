"""CHAT: a conversation on a terminal, and what is left of it in a pipe."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Refusal, card, task
from tests.support.cli.commands import environment
from tests.support.terminal import CTRL_C, CTRL_D, Terminal, on_terminal

YOU, ANSWER = "you> ", "answer> "


@contextmanager
def chat(folder: Path, url: str, *arguments: str, **variables: str) -> Generator[Terminal]:
    """Talk to an agent, on a terminal that knows no control codes unless it is told to."""
    command = [sys.executable, "-m", "dragoman", "chat", *arguments, "--agent-card", url]
    folders = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    known = environment(**{"TERM": "dumb", "INPUTRC": "/dev/null", **folders, **variables})
    with on_terminal(command, folder, known) as terminal:
        yield terminal


def data_after(terminal: Terminal, line: str) -> dict[str, Any]:
    """Send a message, and return the data of the answer."""
    terminal.enter(line)
    shown = terminal.expect(r"(?s)\n(  \{.*?\n  \}\n).*?you> ")
    return json.loads(shown[1])


def test_chat_001_the_context_is_carried_from_turn_to_turn(stage: str, tmp_path: Path) -> None:
    with chat(tmp_path, stage) as terminal:
        terminal.expect(YOU)
        first = data_after(terminal, "look")
        second = data_after(terminal, "look")
    assert second["contextId"] == first["contextId"]
    assert second["saidContextId"] == first["contextId"]
    assert second["taskId"] != first["taskId"]


def test_chat_001_a_task_is_carried_while_it_waits_and_no_longer(
    stage: str, tmp_path: Path
) -> None:
    with chat(tmp_path, stage, "ask") as terminal:
        terminal.expect("  Which city")
        terminal.expect(ANSWER)
        terminal.enter("/task")
        asked = terminal.expect(r"Task: (\S+)\n")[1]
        terminal.expect(ANSWER)
        terminal.enter("Rome")
        terminal.expect(r"  You said Rome\.")
        terminal.expect(YOU)
        terminal.enter("/task")
        assert terminal.expect(r"Task: (\S+)\n")[1] == asked
        terminal.expect(YOU)
        assert data_after(terminal, "look")["taskId"] != asked


def test_chat_001_what_is_sent_names_only_what_the_agent_has_named(
    fake: FakeAgent, tmp_path: Path
) -> None:
    said = {"messageId": "r", "role": "ROLE_AGENT", "parts": [{"text": "hm"}], "contextId": "c-9"}
    answers: list[Any] = [
        {"task": task("INPUT_REQUIRED")},
        {"task": task()},
        {"message": {**said, "taskId": "t-8"}},
        {"task": task()},
    ]
    fake.answers["SendMessage"] = lambda _: answers.pop(0)
    fake.answers["GetTask"] = lambda _: task()
    with chat(tmp_path, fake.url) as terminal:
        for prompt, line in ((YOU, "a"), (ANSWER, "b"), (YOU, "c"), (YOU, "d")):
            terminal.expect(prompt)
            terminal.enter(line)
        terminal.expect(YOU)
    sent = [asked.params["message"] for asked in fake.calls("SendMessage")]
    ids = [(each.get("contextId", ""), each.get("taskId", "")) for each in sent]
    # The question binds the task, its end frees it, and a message binds the context alone.
    assert ids == [("", ""), ("c-1", "t-1"), ("c-1", ""), ("c-9", "")]
    assert len({each["messageId"] for each in sent}) == 4


def test_chat_001_an_agent_of_an_older_version_is_talked_to(
    fake: FakeAgent, tmp_path: Path
) -> None:
    members = {"protocolVersion": "0.3.0", "url": f"{fake.url}/", "preferredTransport": "JSONRPC"}
    fake.card = {**card(fake.url), **members}
    del fake.card["supportedInterfaces"]
    said = {"kind": "message", "messageId": "r", "role": "agent"}
    fake.answers["message/send"] = lambda _: {**said, "parts": [{"kind": "text", "text": "hi"}]}
    with chat(tmp_path, fake.url, "hello") as terminal:
        terminal.expect(r"JSONRPC 0\.3 at ")
        terminal.expect("  hi\n")


def test_chat_001_ctrl_c_cancels_and_ctrl_d_leaves(stage: str, tmp_path: Path) -> None:
    with chat(tmp_path, stage, "forever") as terminal:
        terminal.expect("  at work")
        terminal.type(CTRL_C)
        terminal.expect("canceling the task")
        terminal.expect("the task was canceled\n")
        terminal.expect(YOU)
        terminal.type(CTRL_D)
        terminal.expect("State: TASK_STATE_CANCELED\n")
        assert terminal.wait() == 0


def test_chat_001_ctrl_c_at_the_prompt_clears_the_line(stage: str, tmp_path: Path) -> None:
    with chat(tmp_path, stage) as terminal:
        terminal.expect(YOU)
        terminal.type("half a line")
        terminal.expect("half a line")
        terminal.type(CTRL_C)
        terminal.expect("Ctrl-C again, Ctrl-D or /quit leaves\n")
        terminal.expect(YOU)
        terminal.type(CTRL_C)
        assert terminal.wait() == 0


def test_chat_001_told_to_end_it_ends(stage: str, tmp_path: Path) -> None:
    with chat(tmp_path, stage, "ask") as terminal:
        terminal.expect(ANSWER)
        terminal.stop(signal.SIGTERM)
        terminal.expect("State: TASK_STATE_INPUT_REQUIRED\n")
        assert terminal.wait() == 0


def test_chat_001_a_connection_that_is_lost_does_not_show(stage: str, tmp_path: Path) -> None:
    with chat(tmp_path, stage, "cut") as terminal:
        terminal.expect("  whole after all\n")
        terminal.expect(YOU)
        assert "Error" not in terminal.screen


def test_interact_004_the_last_line_of_a_chat_goes_on_with_it(stage: str, tmp_path: Path) -> None:
    with chat(tmp_path, stage, "ask") as terminal:
        terminal.expect(ANSWER)
        terminal.enter("/quit")
        ids = terminal.expect(r"Task: (\S+)\nContext: (\S+)\nState: TASK_STATE_INPUT_REQUIRED\n")
        program, name, *words = shlex.split(terminal.expect(r"Resume: (.*)\n")[1])
        assert terminal.wait() == 0
    assert (program, name) == ("dragoman", "chat")
    assert words[:2] == [f"--context-id={ids[2]}", f"--task-id={ids[1]}"]
    # The rest names the agent, as chat() does by itself.
    with chat(tmp_path, stage, *words[:2]) as terminal:
        terminal.expect("  Which city")
        terminal.expect(ANSWER)
        terminal.enter("Bern")
        terminal.expect(r"  You said Bern\.")


def test_interact_005_a_chat_leaves_nothing_behind(stage: str, tmp_path: Path) -> None:
    with chat(tmp_path, stage) as terminal:
        terminal.expect(YOU)
        terminal.enter("mirror me")
        terminal.expect("  mirror me")
        terminal.expect(YOU)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    assert list(tmp_path.rglob("*")) == []


@pytest.mark.parametrize("variables", [{"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}])
def test_out_005_hostile_text_does_not_steer_the_terminal_of_a_chat(
    stage: str, tmp_path: Path, variables: dict[str, str]
) -> None:
    with chat(tmp_path, stage, "hostile", **variables) as terminal:
        shown = terminal.expect(r"(?s)  \[31mred.*?\n    x\n")[0]
        terminal.expect(YOU)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", shown)
    assert all(line.startswith("  ") for line in shown.splitlines() if line)
    if variables["TERM"] == "dumb":
        assert "\x1b" not in terminal.screen
    else:
        assert not re.search(r"\x1b\[[0-9;]*3[0-7]", terminal.screen)


def test_out_005_chat_in_a_pipe_sends_its_text_once(cli: Cli) -> None:
    result = cli("chat", "hello")
    assert result.code == 0
    assert result.field("State") == "TASK_STATE_COMPLETED"
    assert "Text:\n  hello\n" in result.out
    assert cli("chat", "hello", "-o", "json").json["task"]["artifacts"]
    assert "statusUpdate" in cli("chat", "hello", "-o", "json", "--stream").lines[-1]


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_out_005_chat_in_a_pipe_never_waits_for_input(cli: Cli, arguments: tuple[str, ...]) -> None:
    result = cli("chat", *arguments, "-o", "json", stdin="hello\n")
    assert result.code == 2
    assert result.error["code"] == "A2ACLI_ERR_USAGE"


@pytest.mark.parametrize("arguments", [("-o", "json"), ("--async",)])
def test_out_005_what_a_chat_cannot_do_is_refused(
    stage: str, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    with chat(tmp_path, stage, *arguments) as terminal:
        terminal.expect("A2ACLI_ERR_USAGE")
        assert terminal.wait() == 2


def test_exit_001_an_agent_that_is_not_there_is_a_failure_of_the_chat(tmp_path: Path) -> None:
    with chat(tmp_path, "http://127.0.0.1:9") as terminal:
        terminal.expect("A2ACLI_ERR_UNREACHABLE")
        assert terminal.wait() == 3


def test_auth_004_a_chat_shows_no_credential(fake: FakeAgent, tmp_path: Path) -> None:
    fake.answers["SendMessage"] = lambda _: Refusal(-32602, "not canary-token", 200)
    with chat(tmp_path, fake.url, "x", "--bearer", "canary-token") as terminal:
        terminal.expect("Error: not <redacted>")
        terminal.expect(YOU)
        terminal.enter("/raw")
        terminal.expect(YOU)
        terminal.type(CTRL_D)
        assert terminal.wait() == 0
    assert "canary-token" not in terminal.screen
