from typing import Any

import pytest

from dragoman.conformance.shapes import flaws_in

NONE: dict[str, Any] = {}
EMPTY: list[Any] = []
MESSAGE: dict[str, Any] = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "x"}]}
TASK: dict[str, Any] = {
    "id": "t",
    "contextId": "c",
    "status": {
        "state": "TASK_STATE_WORKING",
        "message": MESSAGE,
        "timestamp": "2026-01-01T00:00:00.000Z",
    },
    "artifacts": [{"artifactId": "a", "parts": [{"data": None}, {"raw": "AA=="}]}],
    "history": [MESSAGE],
    "metadata": {"mine": 1},
    "novelty": ["not", "known"],
}


def flaws(value: object, kind: str) -> list[str]:
    return list(flaws_in(value, kind))


def test_a_whole_task_has_no_flaws() -> None:
    assert flaws(TASK, "Task") == []


@pytest.mark.parametrize(
    ("change", "flaw"),
    [
        ({"id": None}, "/id: is missing"),
        ({"id": ""}, "/id: must be a text that is not empty"),
        ({"id": 7}, "/id: must be a text that is not empty"),
        ({"status": NONE}, "/status/state: is missing"),
        ({"status": "done"}, "/status: must be an object (TaskStatus)"),
        (
            {"status": {"state": "TASK_STATE_UNSPECIFIED"}},
            "/status/state: must be a TASK_STATE_ name, but is 'TASK_STATE_UNSPECIFIED'",
        ),
        (
            {"status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-01-01T00:00:00+01:00"}},
            "/status/timestamp: must be a time of UTC such as 2026-01-01T00:00:00.000Z, "
            "but is '2026-01-01T00:00:00+01:00'",
        ),
        ({"artifacts": NONE}, "/artifacts: must be an array"),
        (
            {"artifacts": [{"artifactId": "a", "parts": EMPTY}]},
            "/artifacts/0/parts: must not be empty",
        ),
        (
            {"history": [{**MESSAGE, "parts": [{"text": "x", "url": "y"}]}]},
            "/history/0/parts/0: must have exactly one of text, raw, url, data",
        ),
        (
            {"history": [{**MESSAGE, "role": "user"}]},
            "/history/0/role: must be ROLE_USER or ROLE_AGENT, but is 'user'",
        ),
        ({"metadata": EMPTY}, "/metadata: must be an object"),
    ],
)
def test_a_flaw_is_told_with_its_place(change: dict[str, object], flaw: str) -> None:
    assert flaws({**TASK, **change}, "Task") == [flaw]


def test_unions_have_exactly_one_member() -> None:
    assert flaws({"task": TASK}, "SendMessageResponse") == []
    both = flaws({"task": TASK, "message": MESSAGE}, "SendMessageResponse")
    assert both == ["/: must have exactly one of task, message"]
    assert flaws({}, "StreamResponse") == [
        "/: must have exactly one of task, message, statusUpdate, artifactUpdate"
    ]


def test_a_part_may_have_nothing_to_say() -> None:
    assert flaws({**MESSAGE, "parts": [{"text": ""}]}, "Message") == []
    assert flaws({**MESSAGE, "parts": [{"text": 7}]}, "Message") == [
        "/parts/0/text: must be a text"
    ]


def test_a_page_has_all_its_members_and_an_empty_token_is_one() -> None:
    page: dict[str, Any] = {"tasks": [], "nextPageToken": "", "pageSize": 5, "totalSize": 0}
    assert flaws(page, "ListTasksResponse") == []
    assert flaws({**page, "pageSize": True}, "ListTasksResponse") == [
        "/pageSize: must be a whole number"
    ]
    event = {"taskId": "t", "contextId": "c", "artifact": TASK["artifacts"][0], "append": "yes"}
    assert flaws({"artifactUpdate": event}, "StreamResponse") == [
        "/artifactUpdate/append: must be true or false"
    ]
