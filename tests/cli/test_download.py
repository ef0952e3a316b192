"""DOWNLOAD and PUSH: artifacts to disk, and webhooks."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Refusal, card


def test_download_001_saves_every_kind_of_part(each: Cli) -> None:
    task_id = each("send", "everything", "-o", "json").json["task"]["id"]
    result = each("task", "download", task_id, "--output-dir", "got")
    assert result.code == 0
    got = each.folder / "got"
    assert {path.name for path in got.iterdir()} == {"words.txt", "facts.json", "raw.bin"}
    assert (got / "words.txt").read_text() == "a text"
    assert json.loads((got / "facts.json").read_text()) == {"answer": 42}
    assert (got / "raw.bin").read_bytes() == b"\x00\x01\x02"
    assert f"{got / 'raw.bin'} (application/x-raw, 3 bytes)" in result.fields("Saved")
    assert result.field("Task") == task_id
    # What is far away stays there unless it is asked for.
    assert "not fetched: https://files.example/far.png" in result.err


def test_download_001_names_stay_in_the_folder(each: Cli) -> None:
    task_id = each("send", "files", "-o", "json").json["task"]["id"]
    result = each("task", "download", task_id, "--output-dir", "got")
    assert result.code == 0
    saved = {path.relative_to(each.folder).as_posix() for path in each.folder.rglob("*.*")}
    assert saved == {
        "got/up.txt",
        "got/abs.txt",
        "got/dots.txt",
        "got/same.txt",
        "got/same (1).txt",
        "got/named.json",
    }
    assert (each.folder / "got" / "same.txt").read_bytes() == b"one"
    assert (each.folder / "got" / "same (1).txt").read_bytes() == b"two"


def test_download_001_does_not_overwrite_unless_told(cli: Cli) -> None:
    task_id = cli("send", "everything", "-o", "json").json["task"]["id"]
    (cli.folder / "words.txt").write_text("mine")
    assert cli("task", "download", task_id).code == 2
    assert (cli.folder / "words.txt").read_text() == "mine"
    assert list(cli.folder.iterdir()) == [cli.folder / "words.txt"]
    assert cli("task", "download", task_id, "--overwrite").code == 0
    assert (cli.folder / "words.txt").read_text() == "a text"


def test_download_001_saves_one_artifact_and_prints_the_task(cli: Cli) -> None:
    found = cli("send", "everything", "-o", "json").json["task"]
    facts = next(each for each in found["artifacts"] if each["name"] == "facts")["artifactId"]
    result = cli("task", "download", found["id"], "--artifact", facts, "-o", "json")
    assert result.json["id"] == found["id"]
    assert [path.name for path in cli.folder.iterdir()] == ["facts.json"]
    assert f"Saved: {cli.folder / 'facts.json'}" in result.err
    assert cli("task", "download", found["id"], "--artifact", "none").code == 2


# --- PUSH -----------------------------------------------------------------------------------------


@pytest.fixture(params=["JSONRPC", "HTTP+JSON"])
def pushing(request: pytest.FixtureRequest, alone: Cli, fake: FakeAgent) -> Cli:
    """The command line, and an agent that keeps webhooks."""
    listed = [
        {"url": f"{fake.url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": fake.url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
    ]
    fake.card = card(fake.url, supportedInterfaces=listed, capabilities={"pushNotifications": True})
    kept: dict[str, Any] = {}

    def create(params: Any) -> Any:
        kept[params.get("id") or "p-1"] = {"taskId": "t-1", "id": "p-1", **params}
        return kept[params.get("id") or "p-1"]

    def get(_: Any) -> Any:
        return kept.get("p-1") or Refusal(-32001, "No.", 404, "TASK_NOT_FOUND")

    def listing(_: Any) -> Any:
        return {"configs": list(kept.values())} if kept else {}

    def delete(_: Any) -> Any:
        kept.clear()
        return {}

    place = "/tasks/t-1/pushNotificationConfigs"
    fake.answers = {
        "CreateTaskPushNotificationConfig": create,
        "GetTaskPushNotificationConfig": get,
        "ListTaskPushNotificationConfigs": listing,
        "DeleteTaskPushNotificationConfig": delete,
        f"POST {place}": create,
        f"GET {place}/p-1": get,
        f"GET {place}": listing,
        f"DELETE {place}/p-1": delete,
    }
    return alone.to(fake.url).speaking(request.param)


def test_push_001_webhooks_are_made_shown_listed_and_removed(pushing: Cli) -> None:
    push = ("task", "push-config")
    flags = ("--url", "https://me.example/hook", "--id", "p-1", "--token", "tok-secret")
    auth = ("--auth-scheme", "Bearer", "--auth-credentials", "cred-secret")
    made = pushing(*push, "create", "t-1", *flags, *auth, "-o", "json")
    assert made.json["url"] == "https://me.example/hook"
    assert made.json["authentication"] == {"scheme": "Bearer", "credentials": "cred-secret"}
    shown = pushing(*push, "get", "t-1", "p-1")
    assert shown.out == ("Config: p-1\nTask: t-1\nURL: https://me.example/hook\nAuth: Bearer\n")
    listed = pushing(*push, "list", "t-1", "-o", "json").json
    assert [config["id"] for config in listed["configs"]] == ["p-1"]
    assert pushing(*push, "list", "t-1").field("Total") == "1"
    removed = pushing(*push, "delete", "t-1", "p-1", "-o", "json")
    assert removed.json == {}
    assert pushing(*push, "list", "t-1", "-o", "json").json.get("configs", []) == []
    assert pushing(*push, "get", "t-1", "p-1", "-o", "json").error["code"] == "TaskNotFoundError"


def test_push_001_what_is_missing_is_wrong_usage(alone: Cli) -> None:
    push = ("task", "push-config", "create", "t-1", "-a", "http://127.0.0.1:1")
    assert alone(*push).code == 2
    assert alone(*push, "--url", "https://me.example", "--auth-credentials", "x").code == 2


def test_the_mode_of_a_saved_file_is_that_of_any_file(cli: Cli) -> None:
    task_id = cli("send", "everything", "-o", "json").json["task"]["id"]
    assert cli("task", "download", task_id).code == 0
    (cli.folder / "other").write_text("")
    modes = {oct(Path(cli.folder / name).stat().st_mode) for name in ("other", "words.txt")}
    assert len(modes) == 1
