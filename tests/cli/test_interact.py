"""INTERACT: ids and continuation; nothing outlives the process."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Cli
from tests.support.cli.commands import environment


def seen_by(each: Cli, *arguments: str) -> dict[str, Any]:
    """What the agent sees of a message."""
    result = each("send", "look", *arguments, "-o", "json")
    assert result.code == 0, result
    return result.json["task"]["artifacts"][0]["parts"][0]["data"]


def test_interact_001_a_context_groups_a_new_task(each: Cli) -> None:
    first = seen_by(each)
    second = seen_by(each, "--context-id", first["contextId"])
    assert second["contextId"] == first["contextId"]
    assert second["saidContextId"] == first["contextId"]
    assert second["taskId"] != first["taskId"]


def test_interact_002_a_task_is_continued(each: Cli) -> None:
    asked = each("send", "ask", "-o", "json").json["task"]
    assert asked["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    answered = each("send", "Rome", "--task-id", asked["id"], "-o", "json").json["task"]
    assert (answered["id"], answered["contextId"]) == (asked["id"], asked["contextId"])
    assert answered["artifacts"][0]["parts"] == [{"text": "You said Rome."}]


def test_interact_002_a_task_is_continued_with_its_context(each: Cli) -> None:
    asked = each("send", "ask", "-o", "json").json["task"]
    ids = ("--task-id", asked["id"], "--context-id", asked["contextId"])
    assert each("send", "Rome", *ids, "--stream", "-o", "json").code == 0


@pytest.mark.parametrize("kind", ["unknown", "terminal", "mismatched"])
def test_interact_002_a_refused_task_is_a_failure(each: Cli, kind: str) -> None:
    before = each("task", "list", "-o", "json").json["totalSize"]
    if kind == "unknown":
        ids = ("--task-id", "nothing")
        name = "TaskNotFoundError"
    elif kind == "terminal":
        before += 1
        ids = ("--task-id", each("send", "x", "-o", "json").json["task"]["id"])
        name = "UnsupportedOperationError"
    else:
        before += 1
        asked = each("send", "ask", "-o", "json").json["task"]["id"]
        ids = ("--task-id", asked, "--context-id", "another")
        name = "InvalidParamsError"
    result = each("send", "x", *ids, "-o", "json")
    assert result.code == 1
    assert result.error["code"] == name
    assert "--debug" in result.error["hint"]
    # No new task was made.
    assert each("task", "list", "-o", "json").json["totalSize"] == before


def test_interact_003_no_id_but_the_message_s_is_made_up(each: Cli) -> None:
    seen = seen_by(each)
    assert seen["saidContextId"] in ("", seen["contextId"])
    assert seen["messageId"] != seen_by(each)["messageId"]
    assert seen_by(each, "--message-id", "m-mine")["messageId"] == "m-mine"


def test_interact_004_ids_and_state_are_told_with_a_command_to_go_on(each: Cli) -> None:
    result = each("send", "ask")
    assert result.field("State") == "TASK_STATE_INPUT_REQUIRED"
    assert result.field("Task")
    assert result.field("Context")
    program, *words = shlex.split(result.field("Resume"))
    assert program == "dragoman"
    # The command, just as it was printed, in the same folder.
    again = Cli(each.folder)(*words)
    assert again.code == 0
    assert again.field("State") == "TASK_STATE_COMPLETED"
    assert again.field("Task") == result.field("Task")


def test_interact_004_the_command_carries_no_credential(each: Cli) -> None:
    result = each("send", "ask", "--bearer", "canary-token", "-o", "json")
    assert "Resume: dragoman send" in result.err
    assert "canary-token" not in result.err + result.out


def test_interact_004_ids_and_a_command_are_told_where_the_wait_ends(each: Cli) -> None:
    result = each("send", "forever", "--timeout", "0.5s", "-o", "json")
    assert (result.code, result.error["code"]) == (5, "A2ACLI_ERR_TIMEOUT")
    task_id = result.err.split()[1]
    assert result.err.startswith(f"task {task_id} context ")
    program, *words = shlex.split(result.error["hint"])
    assert (program, words[:3]) == ("dragoman", ["task", "get", task_id])
    # The command finds the task, which has gone on.
    again = Cli(each.folder)(*words, "--timeout", "0.2s")
    assert again.code == 5
    assert each("task", "cancel", task_id).field("State") == "TASK_STATE_CANCELED"


def everything_in(folder: Path) -> dict[str, bytes | None]:
    """All files of a folder with what they hold, and all folders in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def test_interact_005_nothing_is_left_behind(each: Cli, stage: str, tmp_path: Path) -> None:
    """A process of its own, with all the places it could write to in one folder."""
    places = {name: tmp_path / name for name in ("HOME", "TMPDIR", "work")}
    for place in places.values():
        place.mkdir()
    (places["HOME"] / ".config" / "a2a-cli").mkdir(parents=True)
    (places["work"] / ".env").write_text(f"A2ACLI_AGENT_CARD={stage}\n")
    before = everything_in(tmp_path)
    binding = each("card", "get").field("Selected interface").partition(" ")[0]
    for arguments in (
        ("send", "ask"),
        ("send", "x", "--stream"),
        ("send", "fail"),
        ("task", "get", "nothing"),
        ("task", "list"),
        ("card", "get"),
        ("config", "show"),
    ):
        process = subprocess.run(
            [sys.executable, "-m", "dragoman", *arguments, "--transport", binding],
            cwd=places["work"],
            env={**environment(), "HOME": str(places["HOME"]), "TMPDIR": str(places["TMPDIR"])},
            capture_output=True,
            check=False,
        )
        assert process.returncode == (1 if "nothing" in arguments else 0), process.stderr
    assert everything_in(tmp_path) == before


def test_interact_005_there_is_no_way_to_continue_the_last_one(cli: Cli) -> None:
    assert cli("send", "x", "--continue").code == 2
