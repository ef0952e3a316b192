from typing import Any

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, task


def page(params: Any) -> dict[str, Any]:
    number = int(params.get("pageToken", "1"))
    return {
        "tasks": [task(task_id=f"t-{number}")],
        "nextPageToken": str(number + 1) if number < 3 else "",
        "pageSize": 1,
        "totalSize": 3,
    }


def test_everything_that_was_said_is_asked_for(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["ListTasks"] = page
    flags = ("--status", "working", "--since", "2026-01-31T12:00:00Z", "--history", "2")
    more = ("--page-size", "7", "--context", "c", "--with-artifacts")
    assert cli("task", "list", *flags, *more).code == 0
    assert fake.calls("ListTasks")[0].params == {
        "status": "TASK_STATE_WORKING",
        "statusTimestampAfter": "2026-01-31T12:00:00Z",
        "historyLength": 2,
        "pageSize": 7,
        "contextId": "c",
        "includeArtifacts": True,
    }


def test_all_pages_are_one(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["ListTasks"] = page
    found = cli("task", "list", "--all", "-o", "json").json
    assert [each["id"] for each in found["tasks"]] == ["t-1", "t-2", "t-3"]
    assert (found["nextPageToken"], found["pageSize"], found["totalSize"]) == ("", 3, 3)
    lines = cli("task", "list", "--all", "--stream", "-o", "json")
    assert [each["id"] for each in lines.lines] == ["t-1", "t-2", "t-3"]
    assert "Next page" not in lines.err


def test_the_end_of_a_list_has_no_next_page(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["ListTasks"] = page
    result = cli("task", "list", "--page-token", "3")
    assert result.field("Total") == "3"
    assert not result.fields("Next page")


def test_a_filter_that_is_none_is_told(cli: Cli, fake: FakeAgent) -> None:
    for flags in (("--status", "lost"), ("--page-size", "0"), ("--since", "yesterday")):
        assert cli("task", "list", *flags).code == 2
    assert fake.asked == []
