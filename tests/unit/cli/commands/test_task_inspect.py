from pathlib import Path

import pytest

from tests.cli.calling import Cli
from tests.support.stores.sqlite.populated import change, populate, task_of, value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.db"
    populate(path)
    return path


@pytest.fixture
def cli(path: Path) -> Cli:
    return Cli(path.parent, "--store", "sqlite:///tasks.db")


def test_a_task_is_shown_as_it_is_stored(cli: Cli, path: Path) -> None:
    task_id = task_of(path, "ask")
    result = cli("task", "inspect", task_id)
    assert result.code == 0
    facts = {
        "Task": task_id,
        "Owner": "anonymous",
        "Tenant": "-",
        "Skill": "ask",
        "Origin": "1.0",
        "State": "TASK_STATE_INPUT_REQUIRED",
        "Wake at": "-",
        "Events": "4",
        "Snapshot of event": "4",
    }
    assert {label: result.field(label) for label in facts} == facts
    assert result.fields("Result") == [
        "n 1, kind step, name len, event 2, bytes 1",
        "n 2, kind step, name upper, event 2, bytes 5",
    ]
    assert result.fields("Entry") == []


def test_the_same_is_told_as_json(cli: Cli, path: Path) -> None:
    task_id = task_of(path, "hold")
    found = cli("task", "inspect", task_id, "-o", "json").json
    assert (found["taskId"], found["lease"], found["wakeAt"]) == (task_id, 2, None)
    size = value(path, "SELECT length(body) FROM inbox")
    assert (found["journal"], found["inbox"]) == ([], [{"n": 1, "bytes": size}])
    assert "log" not in found


def test_when_a_task_is_to_be_woken_is_shown(cli: Cli, path: Path) -> None:
    woken = cli("task", "inspect", task_of(path, "sleep"), "-o", "json").json["wakeAt"]
    assert woken.endswith("Z")


def test_results_and_messages_are_confidential_unless_asked_for(cli: Cli, path: Path) -> None:
    task_id = task_of(path, "ask")
    assert "ONE" not in cli("task", "inspect", task_id, "--log").out
    assert cli("task", "inspect", task_id, "--values").fields("Result")[1].endswith('text "ONE"')
    (waiting,) = cli("task", "inspect", task_of(path, "hold"), "--values", "-o", "json").json[
        "inbox"
    ]
    assert waiting["text"].startswith('{"message":{"messageId":')


def test_the_log_is_shown_entry_by_entry(cli: Cli, path: Path) -> None:
    log = cli("task", "inspect", task_of(path, "count"), "--log", "-o", "json").json["log"]
    assert [row["event"] for row in log] == [None, *range(1, 9)]
    kinds = ["message", "status", "status", *["artifact"] * 5, "status"]
    assert [row["kind"] for row in log] == kinds
    assert log[0]["role"] == "ROLE_USER"
    assert (log[1]["state"], log[1]["time"][-1]) == ("TASK_STATE_SUBMITTED", "Z")
    assert log[3]["text"] == "one 0\n"


def test_what_is_long_is_shortened(cli: Cli, path: Path) -> None:
    change(path, "UPDATE journal SET result = CAST(printf('%.*c', 500, 'x') AS BLOB)")
    (row, _) = cli("task", "inspect", task_of(path, "ask"), "--values", "-o", "json").json[
        "journal"
    ]
    assert row["bytes"] == 500
    assert row["text"] == "x" * 79 + "…"


def test_a_task_that_is_damaged_is_shown_all_the_same(cli: Cli, path: Path) -> None:
    change(
        path,
        "UPDATE events SET body = x'7bff' WHERE seq = 4",
        "UPDATE tasks SET state = 99 WHERE skill_id = 'count'",
    )
    result = cli("task", "inspect", task_of(path, "count"), "--log")
    assert result.code == 0
    assert result.field("State") == "-"
    assert "event 4, kind unreadable, bytes 2, text {\ufffd" in result.fields("Entry")


def test_a_task_that_there_is_not_is_told(cli: Cli) -> None:
    result = cli("task", "inspect", "gone", "-o", "json")
    assert result.code == 1
    assert result.error["code"] == "TaskNotFoundError"
    assert "there is no task gone in " in result.error["message"]


def test_a_store_of_another_version_is_refused(cli: Cli, path: Path) -> None:
    change(path, "PRAGMA user_version = 2")
    result = cli("task", "inspect", "gone")
    assert (result.code, "run dragoman db upgrade --store sqlite:///" in result.err) == (2, True)
