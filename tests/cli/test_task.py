"""TASK_GET, TASK_CANCEL, TASK_LIST, TASK_SUBSCRIBE: tasks by their ids."""

from typing import Any

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Frames, card, task


def started(each: Cli, text: str) -> str:
    """Start a task and return its id."""
    return each("send", text, "--async", "-o", "json").json["task"]["id"]


# --- get ------------------------------------------------------------------------------------------


def test_task_get_001_shows_state_artifacts_and_history(each: Cli) -> None:
    task_id = each("send", "x", "-o", "json").json["task"]["id"]
    found = each("task", "get", task_id, "-o", "json").json
    assert found["id"] == task_id
    assert found["status"]["state"] == "TASK_STATE_COMPLETED"
    assert found["artifacts"][0]["parts"] == [{"text": "x"}]
    assert [message["parts"][0]["text"] for message in found["history"]] == ["x"]


@pytest.mark.parametrize(("length", "expected"), [("0", 0), ("1", 1), ("2", 2), (None, 3)])
def test_task_get_001_shortens_the_history(each: Cli, length: str | None, expected: int) -> None:
    task_id = each("send", "ask", "-o", "json").json["task"]["id"]
    assert each("send", "Rome", "--task-id", task_id).code == 0
    flags = () if length is None else ("--history", length)
    found = each("task", "get", task_id, *flags, "-o", "json").json
    assert len(found.get("history", ())) == expected


def test_task_get_001_keeps_nothing_back(alone: Cli, fake: FakeAgent) -> None:
    whole = task(
        metadata={"k": 1},
        history=[{"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "q"}]}],
        artifacts=[{"artifactId": "a", "parts": [{"data": None}], "metadata": {"n": [1]}}],
    )
    fake.answers["GetTask"] = lambda _: whole
    assert alone.to(fake.url)("task", "get", "t-1", "-o", "json").json == whole
    shown = alone.to(fake.url)("task", "get", "t-1", "--verbose").out
    assert "History message:\n  ROLE_USER m\n  q\n" in shown
    assert shown.count("Metadata:\n") == 2


# --- cancel ---------------------------------------------------------------------------------------


def test_task_cancel_001_cancels_and_may_be_repeated(each: Cli) -> None:
    task_id = started(each, "forever")
    for _ in range(2):
        result = each("task", "cancel", task_id)
        assert result.code == 0
        assert result.field("State") == "TASK_STATE_CANCELED"


def test_task_cancel_001_tells_that_a_task_has_ended_otherwise(each: Cli) -> None:
    task_id = each("send", "x", "-o", "json").json["task"]["id"]
    result = each("task", "cancel", task_id, "-o", "json")
    assert result.code == 1
    assert result.error["code"] == "TaskNotCancelableError"
    assert "TASK_STATE_COMPLETED" in result.error["message"]


# --- list -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(stage: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A context with seven tasks in it."""
    cli = Cli(tmp_path_factory.mktemp("many")).to(stage)
    context = cli("send", "x", "-o", "json").json["task"]["contextId"]
    for text in ("x", "x", "x", "ask", "fail", "x"):
        assert cli("send", text, "--context-id", context).code == 0
    return context


def test_task_list_001_pages_by_cursor(each: Cli, many: str) -> None:
    token, found = "", list[str]()
    flags = ("--context-id", many, "--page-size", "3", "-o", "json")
    for size in (3, 3, 1):
        page = each("task", "list", *flags, *(("--page-token", token) if token else ())).json
        assert len(page["tasks"]) == size
        assert page["totalSize"] == 7
        found += [item["id"] for item in page["tasks"]]
        token = page["nextPageToken"]
    assert token == ""
    assert len(set(found)) == 7
    everything = each("task", "list", *flags, "--all").json
    assert [item["id"] for item in everything["tasks"]] == found


@pytest.fixture(scope="module")
def crowd(stage: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A context with 120 tasks in it."""
    cli = Cli(tmp_path_factory.mktemp("crowd")).to(stage)
    context = cli("send", "x", "-o", "json").json["task"]["contextId"]
    for _ in range(119):
        assert cli("send", "x", "--context-id", context).code == 0
    return context


def test_task_list_001_pages_through_120_tasks(each: Cli, crowd: str) -> None:
    token, found, sizes = "", list[str](), list[int]()
    while not sizes or token:
        flags = ("--page-token", token) if token else ()
        page = each("task", "list", "--context-id", crowd, *flags, "-o", "json").json
        assert page.get("totalSize") == 120, page
        sizes.append(len(page["tasks"]))
        found += [item["id"] for item in page["tasks"]]
        token = page["nextPageToken"]
    # The agent's own size of a page, as none was asked for.
    assert sizes == [50, 50, 20]
    assert len(set(found)) == 120
    everything = each("task", "list", "--context-id", crowd, "--all", "-o", "json").json
    assert [item["id"] for item in everything["tasks"]] == found
    lines = each("task", "list", "--context-id", crowd, "--all", "--stream", "-o", "json").lines
    assert [item["id"] for item in lines] == found


def test_task_list_001_filters_by_state_and_context(each: Cli, many: str) -> None:
    def states(*flags: str) -> list[str]:
        page = each("task", "list", "--context-id", many, *flags, "-o", "json").json
        return [item["status"]["state"] for item in page["tasks"]]

    assert states("--status", "input-required") == ["TASK_STATE_INPUT_REQUIRED"]
    assert states("--status", "TASK_STATE_FAILED") == ["TASK_STATE_FAILED"]
    assert states("--since", "2999-01-01T00:00:00Z") == []
    assert each("task", "list", "--context-id", "none", "-o", "json").json["tasks"] == []


def test_task_list_001_leaves_artifacts_out_unless_asked(each: Cli, many: str) -> None:
    flags = ("--context-id", many, "--page-size", "1", "-o", "json")
    assert "artifacts" not in each("task", "list", *flags).json["tasks"][0]
    assert each("task", "list", *flags, "--with-artifacts").json["tasks"][0]["artifacts"]


def test_task_list_001_shows_a_record_per_task(each: Cli, many: str) -> None:
    result = each("task", "list", "--context-id", many, "--limit", "2")
    assert len(result.fields("Task")) == 2
    assert result.fields("Context") == [many, many]
    assert result.field("Total") == "7"
    assert result.field("Next page")


def test_task_list_001_shows_a_task_per_line_with_stream(each: Cli, many: str) -> None:
    flags = ("--context-id", many, "--page-size", "3", "--stream", "-o", "json")
    result = each("task", "list", *flags)
    assert [item["contextId"] for item in result.lines] == [many] * 3
    assert "Next page: " in result.err


# --- subscribe ------------------------------------------------------------------------------------


def test_task_subscribe_001_follows_a_task(each: Cli) -> None:
    task_id = started(each, "slow")
    events = each("task", "subscribe", task_id, "--stream", "-o", "json").lines
    assert events[0]["task"]["id"] == task_id
    assert events[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_task_subscribe_001_waits_for_the_end_without_stream(each: Cli) -> None:
    task_id = started(each, "slow")
    found = each("task", "subscribe", task_id, "-o", "json").json
    assert found["status"]["state"] == "TASK_STATE_COMPLETED"
    assert found["artifacts"]


def test_task_subscribe_001_shows_a_task_that_has_ended(each: Cli) -> None:
    task_id = each("send", "x", "-o", "json").json["task"]["id"]
    result = each("task", "subscribe", task_id, "--stream", "-o", "json")
    assert result.code == 0
    assert [event["task"]["id"] for event in result.lines] == [task_id]


def test_task_subscribe_001_stops_where_input_is_required(each: Cli) -> None:
    task_id = each("send", "ask", "-o", "json").json["task"]["id"]
    result = each("task", "subscribe", task_id)
    assert result.code == 0
    assert result.field("State") == "TASK_STATE_INPUT_REQUIRED"


def update(state: str) -> dict[str, Any]:
    status = {"state": f"TASK_STATE_{state}"}
    return {"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": status}}


def test_task_subscribe_002_resumes_after_a_cut(alone: Cli, fake: FakeAgent) -> None:
    fake.card = card(fake.url, capabilities={"streaming": True})
    streams = iter(
        [
            Frames([{"task": task("SUBMITTED")}, update("WORKING")], is_cut=True),
            Frames([{"task": task("WORKING")}, update("COMPLETED")]),
        ]
    )
    fake.answers["SubscribeToTask"] = lambda _: next(streams)
    result = alone.to(fake.url)("task", "subscribe", "t-1", "--stream", "-o", "json")
    assert result.code == 0
    states = [
        (event.get("task") or event.get("statusUpdate"))["status"]["state"].rpartition("_")[2]
        for event in result.lines
    ]
    # The task that the second stream begins with is known already: it is not shown again.
    assert states == ["SUBMITTED", "WORKING", "COMPLETED"]
    assert not fake.calls("GetTask")
    assert len(fake.calls("SubscribeToTask")) == 2
