"""a2a-sdk 1.3 against the example agent Desk, over each binding."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.playing import Saw
from tests.interop.reading import kinds, said, texts
from tests.support.serving import AgentProcess

pytestmark = [
    pytest.mark.interop,
    # The first test may have to install the SDK.
    pytest.mark.timeout(600),
]

DESK = Path(__file__).resolve().parents[2] / "examples" / "desk" / "agent.py"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = tmp_path_factory.mktemp("desk") / "tasks.db"
    process = AgentProcess(DESK, "--advertise", "grpc", "--store", f"sqlite:///{store}")
    with pytest.MonkeyPatch.context() as patch:
        # Desk's seconds: short, but long enough to subscribe while twenty of them pass.
        patch.setenv("DESK_SECOND", "0.1")
        process.start()
    try:
        yield process.url
    finally:
        process.kill()


@pytest.fixture(scope="module", params=["JSONRPC", "HTTP+JSON", "GRPC"])
def saw(request: pytest.FixtureRequest, play: Callable[..., Saw], url: str) -> Saw:
    return play("py_1_3", url, request.param, program="py_1_3_desk")


@pytest.mark.parametrize(
    ("case", "part"),
    [
        # by its first word
        ("text", {"text": "5 km is 3.10686 mi"}),
        # by the shape of its data
        ("data", {"text": "100 C is 212 F"}),
    ],
)
def test_a_message_finds_its_skill(saw: Saw, case: str, part: dict[str, str]) -> None:
    task = saw("send")[case]["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert task["artifacts"][0]["parts"] == [part]


def test_a_skill_is_named_by_metadata(saw: Saw) -> None:
    [part] = saw("send")["by_skill_id"]["task"]["artifacts"][0]["parts"]
    assert (part["data"]["words"], part["data"]["sentences"]) == (7, 2)


def test_a_file_is_answered_with_a_file(saw: Saw) -> None:
    [part] = saw("send")["file"]["task"]["artifacts"][0]["parts"]
    assert (part["filename"], part["mediaType"]) == ("scores.json", "application/json")
    assert json.loads(base64.b64decode(part["raw"])) == [{"name": "Ada", "score": "3"}]


def test_help_is_a_message_and_no_task(saw: Saw) -> None:
    message = saw("send")["message"]["message"]
    assert "countdown: Count down the seconds" in message["parts"][0]["text"]


def test_what_cannot_be_done_is_rejected(saw: Saw) -> None:
    status = saw("send")["rejected"]["task"]["status"]
    assert status["state"] == "TASK_STATE_REJECTED"
    assert texts(status["message"]) == ["km measures length, but kg measures mass."]


def test_a_report_is_streamed_section_by_section(saw: Saw) -> None:
    told = saw("stream")
    events = told["events"]
    assert kinds(events)[0] == "task TASK_STATE_SUBMITTED"
    assert kinds(events)[-1] == "statusUpdate TASK_STATE_COMPLETED"
    statuses = [event["statusUpdate"]["status"] for event in events if "statusUpdate" in event]
    steps = [texts(status["message"]) for status in statuses if "message" in status]
    assert steps == [
        ["Section 1 of 3: Size"],
        ["Section 2 of 3: Outline"],
        ["Section 3 of 3: Frequent words"],
    ]
    chunks = [event["artifactUpdate"] for event in events if "artifactUpdate" in event]
    streamed = "".join(text or "" for chunk in chunks for text in texts(chunk["artifact"]))
    assert [streamed] == texts(told["stored"]["artifacts"][0])
    assert streamed.startswith("# Report\n")


def test_a_task_is_read_with_as_much_history_as_is_wanted(saw: Saw) -> None:
    told = saw("get")
    assert texts(told["whole"]["artifacts"][0]) == ["20 C is 68 F"]
    first, question, answer = said(told["whole"])
    assert (first, answer) == (["convert 20 C"], ["F"])
    assert question[0] == "Convert 20 C to what?"
    assert said(told["last"]) == [["F"]]
    assert "history" not in told["none"]


def test_the_tasks_of_a_context_are_listed_in_pages_and_by_state(saw: Saw) -> None:
    told = saw("list_tasks")
    listed = told["page"]["tasks"] + told["rest"]["tasks"]
    assert [said(task) for task in listed] == [
        [["convert 3 m to kg"]],
        [["convert 2 m to cm"]],
        [["convert 1 m to cm"]],
    ]
    assert told["page"]["totalSize"] == 3
    assert told["rejected"]["tasks"] == listed[:1]


def test_a_countdown_is_canceled(saw: Saw) -> None:
    told = saw("cancel")
    assert told["answer"]["status"]["state"] == "TASK_STATE_CANCELED"
    assert kinds(told["rest"])[-1] == "statusUpdate TASK_STATE_CANCELED"
    assert told["again"]["error"] == "TaskNotCancelableError"


def test_a_countdown_that_was_left_is_followed_to_its_end(saw: Saw) -> None:
    told = saw("subscribe")
    events = told["events"]
    assert kinds(events)[0] == "task TASK_STATE_WORKING"
    assert kinds(events)[-1] == "statusUpdate TASK_STATE_COMPLETED"
    before = [text for each in events[0]["task"].get("artifacts", []) for text in texts(each)]
    after = [
        text
        for event in events
        if "artifactUpdate" in event
        for text in texts(event["artifactUpdate"]["artifact"])
    ]
    counted = "".join(text or "" for text in [*before, *after])
    assert counted == "".join(f"{left} " for left in range(20, 0, -1)) + "Go!"
    assert texts(told["stored"]["artifacts"][0]) == [counted]


def test_questions_are_answered_with_data_and_with_text_in_the_same_task(saw: Saw) -> None:
    told = saw("input_required")
    assert len({task["id"] for task in told.values()}) == 1
    question, form = told["asked"]["status"]["message"]["parts"]
    assert question == {"text": "Convert what?"}
    assert form["data"]["schema"]["required"] == ["value", "source"]
    assert texts(told["further"]["status"]["message"])[0] == "Convert 20 C to what?"
    assert told["misfit"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert told["done"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert texts(told["done"]["artifacts"][0]) == ["20 C is 68 F"]


@pytest.mark.parametrize(
    ("case", "error"),
    [
        ("unknown", "TaskNotFoundError"),
        ("cancel", "TaskNotCancelableError"),
        ("subscribe", "UnsupportedOperationError"),
        ("send", "UnsupportedOperationError"),
        ("no_skill", "InvalidParamsError"),
        ("no_file", "InvalidParamsError"),
    ],
)
def test_what_makes_no_sense_is_refused(saw: Saw, case: str, error: str) -> None:
    assert saw("errors")[case]["error"] == error
