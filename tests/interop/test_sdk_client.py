"""The official client, a2a-sdk 1.3.0, against our server, over each binding.

One process of the SDK plays all scenarios of ``sdk_client.py`` for a binding; each test looks at
what it saw in one of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.interop.reading import kinds, said, texts
from tests.interop.sdk import BINDINGS, Saw, play
from tests.serving import AgentProcess

pytestmark = [
    pytest.mark.interop,
    pytest.mark.xdist_group("interop-sdk"),
    # The first test may have to install the SDK.
    pytest.mark.timeout(300),
]

AGENT = Path(__file__).with_name("agent.py")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = tmp_path_factory.mktemp("interop") / "tasks.db"
    with AgentProcess(AGENT, "--store", f"sqlite:///{store}") as process:
        yield process.url


@pytest.fixture(scope="module", params=BINDINGS)
def saw(request: pytest.FixtureRequest, sdk_python: Path, url: str) -> Saw:
    return _play_all(sdk_python, url, request.param)


# The order of the tests is random: a fixture may be asked for the same binding again.
@cache
def _play_all(python: Path, url: str, binding: str) -> Saw:
    return play(python, "sdk_client.py", url, binding)


# --- the card -----------------------------------------------------------------------------------


def test_the_card_is_resolved(saw: Saw, url: str) -> None:
    card = saw("card")
    assert card["name"] == "Interop"
    assert card["version"] == "7.8.9"
    assert card["provider"] == {
        "organization": "Dragoman tests",
        "url": "https://dragoman.example/",
    }
    assert card["capabilities"]["streaming"] is True
    assert card["capabilities"]["pushNotifications"] is False
    assert card["supportedInterfaces"][:2] == [
        {"url": f"{url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
    ]
    assert card["skills"][0] == {
        "id": "shout",
        "name": "Shout",
        "description": "Give the text back in capitals.",
        "tags": ["text", "simple"],
        "examples": ["hello"],
        "inputModes": ["text/plain"],
        "outputModes": ["text/plain"],
    }


def test_a_client_is_made_from_the_address_alone(saw: Saw) -> None:
    task = saw("client_from_url")["task"]
    assert texts(task["artifacts"][0]) == ["BY URL"]


# --- sending ------------------------------------------------------------------------------------


def test_a_message_is_answered_with_a_completed_task(saw: Saw) -> None:
    task = saw("send")["task"]
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [texts(artifact) for artifact in task["artifacts"]] == [["HELLO"]]
    assert said(task) == [["hello"]]
    assert task["history"][0]["role"] == "ROLE_USER"
    assert task["history"][0]["taskId"] == task["id"]
    assert task["history"][0]["contextId"] == task["contextId"]


def test_a_message_that_names_no_skill_goes_to_the_first(saw: Saw) -> None:
    task = saw("send_to_the_default_skill")["task"]
    assert texts(task["artifacts"][0]) == ["NO SKILL NAMED"]


def test_a_caller_that_polls_is_answered_before_the_task_ends(saw: Saw) -> None:
    told = saw("send_without_waiting")
    begun = told["begun"]["task"]
    assert begun["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    assert told["ended"]["id"] == begun["id"]
    assert told["ended"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert texts(told["ended"]["artifacts"][0]) == ["before after"]


def test_a_direct_answer_is_a_message_and_no_task(saw: Saw) -> None:
    message = saw("direct_message")["sent"]["message"]
    assert message["role"] == "ROLE_AGENT"
    assert message["parts"] == [{"text": "Hello, Ada!"}, {"data": {"greeted": "Ada"}}]
    assert message["contextId"] == "ctx-direct"
    assert "taskId" not in message


def test_a_direct_answer_is_the_only_event_of_a_stream(saw: Saw) -> None:
    [event] = saw("direct_message")["streamed"]
    assert texts(event["message"]) == ["Hello, Ada!", None]


def test_a_stream_tells_everything_in_order(saw: Saw) -> None:
    events = saw("stream")
    assert kinds(events) == [
        "task TASK_STATE_SUBMITTED",
        "statusUpdate TASK_STATE_WORKING",
        "statusUpdate TASK_STATE_WORKING",
        *["artifactUpdate"] * 5,
        "statusUpdate TASK_STATE_COMPLETED",
    ]
    assert texts(events[2]["statusUpdate"]["status"]["message"]) == ["Spelling."]
    chunks = [event["artifactUpdate"] for event in events[3:8]]
    assert [texts(chunk["artifact"]) for chunk in chunks] == [
        ["to "],
        ["be "],
        ["or "],
        ["not "],
        [""],
    ]
    assert [chunk.get("append", False) for chunk in chunks] == [False, True, True, True, True]
    assert [chunk.get("lastChunk", False) for chunk in chunks] == [False] * 4 + [True]
    assert len({chunk["artifact"]["artifactId"] for chunk in chunks}) == 1


def test_a_task_that_is_declined_says_why(saw: Saw) -> None:
    status = saw("rejected")["task"]["status"]
    assert status["state"] == "TASK_STATE_REJECTED"
    assert texts(status["message"]) == ["No tea here."]


def test_a_task_that_fails_is_a_result_and_keeps_the_exception_to_itself(saw: Saw) -> None:
    told = saw("failed")
    assert told["sent"]["task"]["status"]["state"] == "TASK_STATE_FAILED"
    assert kinds(told["streamed"])[-1] == "statusUpdate TASK_STATE_FAILED"
    statuses = [
        told["sent"]["task"]["status"],
        told["streamed"][-1]["statusUpdate"]["status"],
    ]
    for status in statuses:
        [text] = texts(status["message"])
        assert text is not None
        assert text.startswith("The agent failed. Error id: ")


def test_a_message_sent_twice_makes_one_task(saw: Saw) -> None:
    first, second = saw("sent_twice")
    assert texts(first["task"]["artifacts"][0]) == ["ONCE"]
    assert second == first


def test_a_tenant_has_its_tasks_to_itself(saw: Saw) -> None:
    told = saw("tenant")
    assert told["sent"]["task"]["artifacts"][0]["metadata"]["tenant"] == "acme"
    assert told["there"] == told["sent"]["task"]
    assert told["elsewhere"]["error"] == "TaskNotFoundError"
    assert told["unknown"]["error"] == "InvalidParamsError"


# --- parts --------------------------------------------------------------------------------------


def test_bytes_go_both_ways_unharmed(saw: Saw) -> None:
    told = saw("files")
    assert told["is_reversed"] is True
    assert told["part"] == {
        "raw": None,
        "filename": "reversed-gr\u00fcn.png",
        "mediaType": "image/png",
    }


def test_files_by_address_and_by_value_come_back_as_they_were(saw: Saw) -> None:
    told = saw("files")
    assert told["mirrored"]["task"]["artifacts"][0]["parts"] == [
        {"url": "https://files.example/a?b=c&d", "filename": "a.png", "mediaType": "image/png"},
        {"raw": told["sent_raw"], "filename": "gr\u00fcn.png", "mediaType": "image/png"},
    ]


@pytest.mark.parametrize("place", ["answered", "streamed", "in_history"])
def test_data_of_every_kind_comes_back_as_it_was(saw: Saw, place: str) -> None:
    told = saw("data")
    assert told[place] == told["sent"]
    assert told[place][-1] is None


def test_text_with_other_line_separators_comes_back_as_it_was(saw: Saw) -> None:
    told = saw("line_separators")
    assert texts(told["answered"]["task"]["artifacts"][0]) == [told["sent"]]
    chunks = [event["artifactUpdate"] for event in told["streamed"] if "artifactUpdate" in event]
    assert [texts(chunk["artifact"]) for chunk in chunks] == [[told["sent"]]]


def test_a_whole_number_is_an_int_although_the_sdk_writes_a_float(saw: Saw) -> None:
    task = saw("typed_data")["task"]
    assert task["artifacts"][0]["parts"] == [{"data": {"sum": 42}}]


def test_metadata_references_and_output_modes_reach_the_skill(saw: Saw) -> None:
    artifact = saw("metadata")["task"]["artifacts"][0]
    assert (artifact["name"], artifact["description"]) == ("Mirror", "What you sent")
    assert artifact["metadata"] == {
        "message": {"skillId": "mirror", "trace": {"id": "t-1", "hops": [1, 2]}},
        "request": {"priority": "high"},
        "outputModes": ["text/plain", "application/json"],
        "references": ["earlier-1", "earlier-2"],
        "tenant": "",
    }


# --- tasks --------------------------------------------------------------------------------------


def test_a_task_is_read_with_its_whole_history(saw: Saw) -> None:
    task = saw("get")["whole"]
    assert said(task) == [["Oslo"], ["Which day?"], ["Monday"]]
    assert [message["role"] for message in task["history"]] == [
        "ROLE_USER",
        "ROLE_AGENT",
        "ROLE_USER",
    ]
    assert texts(task["status"]["message"])[0] == "How many seats?"


def test_a_task_is_read_with_as_much_history_as_is_wanted(saw: Saw) -> None:
    told = saw("get")
    assert said(told["last_two"]) == [["Which day?"], ["Monday"]]
    assert "history" not in told["none"]
    assert told["none"]["status"] == told["whole"]["status"]


def test_the_tasks_of_a_context_are_listed_newest_first(saw: Saw) -> None:
    told = saw("list_tasks")
    tasks = told["context"]["tasks"]
    assert [said(task) for task in tasks] == [[["Rome"]], [["3"]], [["2"]], [["1"]], [["0"]]]
    assert (told["context"]["totalSize"], told["context"]["pageSize"]) == (5, 50)
    assert "nextPageToken" not in told["context"]
    assert not any("artifacts" in task for task in tasks)


def test_the_pages_of_a_list_are_the_list(saw: Saw) -> None:
    told = saw("list_tasks")
    pages = told["pages"]
    assert [len(page["tasks"]) for page in pages] == [2, 2, 1]
    assert [page["totalSize"] for page in pages] == [5, 5, 5]
    assert [page["pageSize"] for page in pages] == [2, 2, 2]
    assert [task for page in pages for task in page["tasks"]] == told["context"]["tasks"]


def test_a_list_is_filtered_by_state_and_shows_artifacts_when_asked(saw: Saw) -> None:
    told = saw("list_tasks")["completed"]
    assert told["totalSize"] == 4
    assert [texts(task["artifacts"][0]) for task in told["tasks"]] == [["3"], ["2"], ["1"], ["0"]]


def test_a_list_without_history_has_none(saw: Saw) -> None:
    told = saw("list_tasks")
    [task] = told["waiting"]["tasks"]
    assert task["id"] == told["last"]
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert "history" not in task


def test_a_list_begins_at_the_time_asked_for(saw: Saw) -> None:
    told = saw("list_tasks")
    assert told["last"] in [task["id"] for task in told["since"]["tasks"]]
    assert told["since"]["totalSize"] < 5
    assert told["nowhere"].get("tasks", []) == []


def test_a_running_task_is_canceled_and_its_stream_ends(saw: Saw) -> None:
    told = saw("cancel")
    assert told["answer"]["status"]["state"] == "TASK_STATE_CANCELED"
    assert texts(told["answer"]["artifacts"][0]) == ["before "]
    assert kinds(told["rest"]) == ["statusUpdate TASK_STATE_CANCELED"]
    assert told["stored"] == told["answer"]


def test_a_canceled_task_is_not_canceled_again(saw: Saw) -> None:
    told = saw("cancel")
    assert told["again"]["error"] == "TaskNotCancelableError"
    assert told["again"]["data"] == {
        "taskId": told["answer"]["id"],
        "state": "TASK_STATE_CANCELED",
    }


def test_a_broken_stream_is_taken_up_by_a_subscription(saw: Saw) -> None:
    told = saw("subscribe")
    assert kinds(told["begun"])[0] == "task TASK_STATE_SUBMITTED"
    task = told["snapshot"]["task"]
    assert task["id"] == told["begun"][0]["task"]["id"]
    assert task["status"]["state"] == "TASK_STATE_WORKING"
    assert texts(task["status"]["message"]) == ["Holding."]
    assert texts(task["artifacts"][0]) == ["before "]
    assert kinds(told["rest"]) == ["artifactUpdate", "statusUpdate TASK_STATE_COMPLETED"]
    update = told["rest"][0]["artifactUpdate"]
    assert texts(update["artifact"]) == ["after"]
    assert update["append"] is True
    assert update["lastChunk"] is True
    assert update["artifact"]["artifactId"] == task["artifacts"][0]["artifactId"]
    assert texts(told["stored"]["artifacts"][0]) == ["before after"]


def test_a_subscription_outlasts_the_questions_of_the_agent(saw: Saw) -> None:
    told = saw("subscribe_while_input_is_required")
    assert kinds([told["snapshot"]]) == ["task TASK_STATE_INPUT_REQUIRED"]
    assert kinds(told["rest"]) == [
        "statusUpdate TASK_STATE_WORKING",
        "statusUpdate TASK_STATE_INPUT_REQUIRED",
        "statusUpdate TASK_STATE_WORKING",
        "artifactUpdate",
        "statusUpdate TASK_STATE_COMPLETED",
    ]
    [part] = told["rest"][3]["artifactUpdate"]["artifact"]["parts"]
    assert part["data"] == {"city": "Bern", "day": "Friday", "seats": 3}


def test_a_question_is_answered_in_the_same_task(saw: Saw) -> None:
    told = saw("input_required")
    assert len({task["id"] for task in told.values()}) == 1
    assert len({task["contextId"] for task in told.values()}) == 1
    assert told["asked"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert texts(told["asked"]["status"]["message"]) == ["Which day?"]
    assert told["again"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    done = told["done"]
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert done["artifacts"][0]["parts"] == [
        {"data": {"city": "Paris", "day": "Tuesday", "seats": 2}}
    ]
    assert [message["role"] for message in done["history"]] == ["ROLE_USER", "ROLE_AGENT"] * 3 + [
        "ROLE_USER"
    ]


def test_a_question_with_a_form_shows_its_schema_and_is_asked_until_the_answer_fits(
    saw: Saw,
) -> None:
    told = saw("input_required")
    question, form = told["again"]["status"]["message"]["parts"]
    assert question == {"text": "How many seats?"}
    assert form["data"]["schema"]["type"] == "integer"
    assert told["misfit"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    complaint, *again = told["misfit"]["status"]["message"]["parts"]
    assert "must be int" in complaint["text"]
    assert again == [question, form]


def test_a_stream_ends_at_a_question(saw: Saw) -> None:
    assert kinds(saw("input_required_in_streams")["asked"]) == [
        "task TASK_STATE_SUBMITTED",
        "statusUpdate TASK_STATE_WORKING",
        "statusUpdate TASK_STATE_INPUT_REQUIRED",
    ]


def test_the_stream_of_an_answer_begins_with_the_task_and_ends_at_the_next_question(
    saw: Saw,
) -> None:
    told = saw("input_required_in_streams")
    assert told["again"][0]["task"]["id"] == told["asked"][0]["task"]["id"]
    assert said(told["again"][0]["task"])[-1] == ["Sunday"]
    assert kinds(told["again"])[-1].endswith("TASK_STATE_INPUT_REQUIRED")


def test_the_stream_of_the_last_answer_ends_with_the_task(saw: Saw) -> None:
    done = saw("input_required_in_streams")["done"]
    assert kinds(done)[-1].endswith("TASK_STATE_COMPLETED")
    whole = [event["task"].get("artifacts", []) for event in done if "task" in event]
    chunks = [[event["artifactUpdate"]["artifact"]] for event in done if "artifactUpdate" in event]
    [artifact] = [artifact for artifacts in (*whole, *chunks) for artifact in artifacts]
    assert artifact["parts"] == [{"data": {"city": "Riga", "day": "Sunday", "seats": 4}}]


# --- errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["get", "cancel", "subscribe", "send", "stream"])
def test_a_task_that_is_unknown_is_not_found(saw: Saw, call: str) -> None:
    assert saw("unknown_task")[call] == {
        "error": "TaskNotFoundError",
        "message": "Task not found",
        "data": {"taskId": "no-such-task"},
    }


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("cancel", "TaskNotCancelableError"),
        ("subscribe", "UnsupportedOperationError"),
        ("send", "UnsupportedOperationError"),
        ("stream", "UnsupportedOperationError"),
    ],
)
def test_a_task_that_has_ended_takes_nothing_more(saw: Saw, call: str, error: str) -> None:
    told = saw("finished_task")
    assert told[call]["error"] == error
    assert told[call]["data"] == {"taskId": told["task_id"], "state": "TASK_STATE_COMPLETED"}


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        ("no_message", "message is required"),
        ("no_parts", "message.parts is required"),
        ("no_parts_in_a_stream", "message.parts is required"),
        ("empty_part", "message.parts[0] needs exactly one of text, raw, url, data"),
        ("no_message_id", "message.messageId is required"),
        ("no_role", "message.role is required"),
        ("unknown_skill", "message.metadata.skillId names no skill of this agent"),
        ("missing_parameter", "message.parts[0].data.b is required"),
        ("wrong_parameter", "message.parts[0].data.b must be int, not float"),
        ("wrong_context", "message.contextId must be the context of the task"),
        ("negative_history", "historyLength must be between 0 and"),
        ("page_too_large", "pageSize must be between 1 and 100"),
        ("page_too_small", "pageSize must be between 1 and 100"),
        ("bad_page_token", "pageToken must be the nextPageToken"),
    ],
)
def test_a_request_that_makes_no_sense_is_told_why(saw: Saw, case: str, complaint: str) -> None:
    told = saw("bad_params")[case]
    assert told["error"] == "InvalidParamsError"
    assert told["message"].startswith(f"Invalid parameters: {complaint}")


def test_content_that_no_skill_takes_is_refused(saw: Saw) -> None:
    told = saw("unsupported_content_type")
    assert told["error"] == "ContentTypeNotSupportedError"
    assert told["data"] == {"mediaType": "video/mp4"}


@pytest.mark.parametrize("call", ["create", "get", "list", "delete", "in_send"])
def test_push_notifications_are_refused_while_the_card_promises_none(saw: Saw, call: str) -> None:
    assert saw("push_config")[call]["error"] == "PushNotificationNotSupportedError"


def test_an_extended_card_is_refused_while_the_card_promises_none(saw: Saw) -> None:
    assert saw("extended_card")["error"] == "UnsupportedOperationError"


@pytest.mark.parametrize("call", ["get", "send", "stream"])
def test_an_unknown_version_is_refused_with_the_versions_there_are(saw: Saw, call: str) -> None:
    told = saw("unsupported_version")[call]
    assert told["error"] == "VersionNotSupportedError"
    assert told["data"] == {"requestedVersion": "9.9", "supportedVersions": "1.0"}


def test_a_request_without_a_version_is_served(saw: Saw) -> None:
    task = saw("missing_version")["result"]["task"]
    assert texts(task["artifacts"][0]) == ["NO VERSION"]


@pytest.fixture(scope="module")
def strict_url() -> Iterator[str]:
    with AgentProcess(AGENT, "--store", "memory:", "--strict-versions") as process:
        yield process.url


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_request_without_a_version_is_refused_where_versions_are_strict(
    sdk_python: Path, strict_url: str, binding: str
) -> None:
    saw = play(sdk_python, "sdk_client.py", strict_url, binding, "send", "missing_version")
    assert texts(saw("send")["task"]["artifacts"][0]) == ["HELLO"]
    assert saw("missing_version")["error"] == "VersionNotSupportedError"
