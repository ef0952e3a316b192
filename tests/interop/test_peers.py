"""Clients of every generation against our server: the official SDKs, over each of their bindings.

One process of an SDK plays all scenarios of ``peers/scenarios.py`` (or ``.mjs``) over a binding;
each test looks at what it saw in one of them. What an SDK itself cannot do or gets wrong is told
here, where a test makes an exception for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.interop.playing import Saw
from tests.interop.reading import final_marks, kinds, said, texts
from tests.interop.refusals import assert_refused
from tests.support.serving import AgentProcess
from tests.support.wire import Json

pytestmark = [
    pytest.mark.interop,
    # The first test of a peer may have to install it.
    pytest.mark.timeout(600),
]

AGENT = Path(__file__).with_name("agent.py")


def over_all_bindings(peer: str) -> list[str]:
    return [f"{peer} {binding}" for binding in ("JSONRPC", "HTTP+JSON", "GRPC")]


OLD = [
    *("py_0_2 JSONRPC", "py_0_2 GRPC"),
    *over_all_bindings("py_0_3"),
    *over_all_bindings("js_0_3"),
]
NEW = [*over_all_bindings("py_1_3"), *over_all_bindings("js_1_3")]
ALL = OLD + NEW


def of(*peers: str) -> pytest.MarkDecorator:
    """Run a test with what these peers saw, instead of with all."""
    return pytest.mark.parametrize("saw", peers, indirect=True)


def without(*peers: str) -> pytest.MarkDecorator:
    """Run a test with what all but these peers saw."""
    return of(*(peer for peer in ALL if peer not in peers))


OLD_SUBSCRIBERS = [peer for peer in OLD if "py_0_2" not in peer]
"""0.2.16 has no call to subscribe again."""

JS_IN_PROTOBUF = ("js_0_3 HTTP+JSON", "js_0_3 GRPC")
"""Reading protobuf, 0.3.14 drops the names of files, and append; it sends no names either."""

OLDEST_IN_PROTOBUF = "py_0_2 GRPC"
"""Over gRPC, 0.2.16 knows neither names nor types of files, no state rejected, no length of a
history, drops the metadata of an artifact, and takes every answer for a task."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = tmp_path_factory.mktemp("interop") / "tasks.db"
    with AgentProcess(AGENT, "--advertise", "grpc", "--store", f"sqlite:///{store}") as process:
        yield process.url


@pytest.fixture(scope="module", params=ALL)
def saw(request: pytest.FixtureRequest, play: Callable[..., Saw], url: str) -> Saw:
    peer, binding = request.param.split()
    return play(peer, url, binding)


# --- the card -----------------------------------------------------------------------------------


def test_the_card_says_who_the_agent_is(saw: Saw) -> None:
    card = saw("card")
    assert (card["name"], card["version"]) == ("Interop", "7.8.9")
    assert card["provider"] == {
        "organization": "Dragoman tests",
        "url": "https://dragoman.example/",
    }
    assert card["capabilities"]["streaming"] is True
    assert card["capabilities"]["pushNotifications"] is True
    assert card["skills"][0] == {
        "id": "shout",
        "name": "Shout",
        "description": "Give the text back in capitals.",
        "tags": ["text", "simple"],
        "examples": ["hello"],
        "inputModes": ["text/plain"],
        "outputModes": ["text/plain"],
    }


@of(*NEW)
def test_the_card_of_1_0_lists_every_binding(saw: Saw, url: str) -> None:
    interfaces = [
        (each["protocolBinding"], each["url"])
        for each in saw("card")["supportedInterfaces"]
        if each["protocolVersion"] == "1.0" and "tenant" not in each
    ]
    assert interfaces == [
        ("JSONRPC", f"{url}/"),
        ("HTTP+JSON", url),
        ("GRPC", url.removeprefix("http://")),
    ]


@of(*OLD)
def test_the_card_of_0_x_lists_every_binding(saw: Saw, url: str) -> None:
    card = saw("card")
    assert card["protocolVersion"] == "0.3.0"
    assert card["preferredTransport"] == "JSONRPC"
    assert card["url"] == f"{url}/"
    assert {each["transport"]: each["url"] for each in card["additionalInterfaces"]} == {
        "JSONRPC": f"{url}/",
        "HTTP+JSON": url,
        "GRPC": url.removeprefix("http://"),
    }


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
    assert told["begun"]["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    assert told["later"]["id"] == told["begun"]["id"]
    assert texts(told["later"]["artifacts"][0]) == ["before after"]


@without(OLDEST_IN_PROTOBUF)
def test_a_direct_answer_is_a_message_and_no_task(saw: Saw) -> None:
    message = saw("direct_message")["answered"]["message"]
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
        *["artifactUpdate"] * 4,
        "statusUpdate TASK_STATE_COMPLETED",
    ]
    assert texts(events[2]["statusUpdate"]["status"]["message"]) == ["Spelling."]
    chunks = [event["artifactUpdate"] for event in events[3:7]]
    assert [texts(chunk["artifact"]) for chunk in chunks] == [
        ["to "],
        ["be "],
        ["or "],
        ["not "],
    ]
    if saw.name not in JS_IN_PROTOBUF:
        assert [chunk.get("append", False) for chunk in chunks] == [False, True, True, True]
    assert [chunk.get("lastChunk", False) for chunk in chunks] == [False] * 3 + [True]
    assert len({chunk["artifact"]["artifactId"] for chunk in chunks}) == 1


@of(*OLD)
def test_only_the_last_status_of_a_stream_is_final(saw: Saw) -> None:
    assert final_marks(saw("stream")) == [False, False, True]
    assert final_marks(saw("failed")["streamed"])[-1] is True


@without(OLDEST_IN_PROTOBUF)
def test_a_task_that_is_declined_says_why(saw: Saw) -> None:
    status = saw("rejected")["task"]["status"]
    assert status["state"] == "TASK_STATE_REJECTED"
    assert texts(status["message"]) == ["No tea here."]


def test_a_task_that_fails_is_a_result_and_keeps_the_exception_to_itself(saw: Saw) -> None:
    told = saw("failed")
    assert told["answered"]["task"]["status"]["state"] == "TASK_STATE_FAILED"
    assert kinds(told["streamed"])[-1] == "statusUpdate TASK_STATE_FAILED"
    statuses = [
        told["answered"]["task"]["status"],
        told["streamed"][-1]["statusUpdate"]["status"],
    ]
    for status in statuses:
        [text] = texts(status["message"])
        assert text is not None
        assert text.startswith("The agent failed. Error id: ")


# --- parts --------------------------------------------------------------------------------------


def file(saw: Saw, filename: str, **content: str) -> Json:
    """Return the part of an image, as far as the peer sees it."""
    if saw.name == OLDEST_IN_PROTOBUF:
        return {**content}
    name = {} if saw.name in JS_IN_PROTOBUF else {"filename": filename}
    return {**content, **name, "mediaType": "image/png"}


def test_bytes_go_both_ways_unharmed(saw: Saw) -> None:
    told = saw("files")
    [update] = [event["artifactUpdate"] for event in told["streamed"] if "artifactUpdate" in event]
    part = file(saw, "reversed-gr\u00fcn.png", raw=told["reversed_raw"])
    for artifact in (told["reversed"]["task"]["artifacts"][0], update["artifact"]):
        assert artifact["parts"] == [part]


def test_files_by_address_and_by_value_come_back_as_they_were(saw: Saw) -> None:
    told = saw("files")
    assert told["mirrored"]["task"]["artifacts"][0]["parts"] == [
        file(saw, "a.png", url="https://files.example/a?b=c&d"),
        file(saw, "gr\u00fcn.png", raw=told["sent_raw"]),
    ]


def test_data_comes_back_as_it_was(saw: Saw) -> None:
    told = saw("data")
    [streamed] = told["streamed"]
    for holder in (told["answered"], streamed["artifact"], told["stored"]["history"][0]):
        assert [part["data"] for part in holder["parts"]] == told["sent"]


def test_a_whole_number_is_an_int_although_the_peer_may_write_a_float(saw: Saw) -> None:
    [part] = saw("data")["added"]["task"]["artifacts"][0]["parts"]
    assert part["data"] == {"sum": 42}


def test_text_with_other_line_separators_comes_back_as_it_was(saw: Saw) -> None:
    told = saw("line_separators")
    assert texts(told["answered"]["task"]["artifacts"][0]) == [told["sent"]]
    chunks = [event["artifactUpdate"] for event in told["streamed"] if "artifactUpdate" in event]
    assert [texts(chunk["artifact"]) for chunk in chunks] == [[told["sent"]]]


@without(OLDEST_IN_PROTOBUF)
def test_metadata_references_and_output_modes_reach_the_skill(saw: Saw) -> None:
    artifact = saw("metadata")["task"]["artifacts"][0]
    assert (artifact["name"], artifact["description"]) == ("Mirror", "What you sent")
    # The protobuf of 0.x has no references.
    has_references = "JSONRPC" in saw.name or not saw.is_old
    assert artifact["metadata"] == {
        "message": {"skillId": "mirror", "trace": {"id": "t-1", "hops": [1, 2]}},
        "request": {"priority": "high"},
        "outputModes": ["text/plain", "application/json"],
        "references": ["earlier-1", "earlier-2"] if has_references else [],
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


@without(OLDEST_IN_PROTOBUF)
def test_a_task_is_read_with_as_much_history_as_is_wanted(saw: Saw) -> None:
    told = saw("get")
    assert said(told["last_two"]) == [["Which day?"], ["Monday"]]
    # Before 1.0 a zero asks for nothing in particular.
    assert told["zero"].get("history") == (told["whole"]["history"] if saw.is_old else None)
    assert told["zero"]["status"] == told["whole"]["status"]


def test_a_running_task_is_canceled_and_its_stream_ends(saw: Saw) -> None:
    told = saw("cancel")
    assert told["answer"]["status"]["state"] == "TASK_STATE_CANCELED"
    assert texts(told["answer"]["artifacts"][0]) == ["before "]
    assert kinds(told["rest"]) == ["statusUpdate TASK_STATE_CANCELED"]
    assert told["stored"] == told["answer"]


def test_a_canceled_task_is_not_canceled_again(saw: Saw) -> None:
    assert_refused(saw("cancel")["again"], "TaskNotCancelableError")


@of(*OLD_SUBSCRIBERS, *NEW)
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
    assert update.get("append", saw.name in JS_IN_PROTOBUF) is True
    assert update["lastChunk"] is True
    assert update["artifact"]["artifactId"] == task["artifacts"][0]["artifactId"]
    assert texts(told["stored"]["artifacts"][0]) == ["before after"]


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


@of(*OLD)
def test_the_question_that_ends_a_stream_is_final(saw: Saw) -> None:
    assert final_marks(saw("input_required_in_streams")["asked"]) == [False, True]


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


@pytest.mark.parametrize("call", ["get", "cancel", "send", "stream"])
def test_a_task_that_is_unknown_is_not_found(saw: Saw, call: str) -> None:
    assert_refused(saw("unknown_task")[call], "TaskNotFoundError")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ("cancel", "TaskNotCancelableError"),
        ("send", "UnsupportedOperationError"),
        ("stream", "UnsupportedOperationError"),
    ],
)
def test_a_task_that_has_ended_takes_nothing_more(saw: Saw, call: str, error: str) -> None:
    assert_refused(saw("finished_task")[call], error)


@of(*OLD_SUBSCRIBERS, *NEW)
def test_a_task_that_is_unknown_cannot_be_subscribed_to(saw: Saw) -> None:
    told = saw("subscribe_in_vain")["unknown"]
    if saw.name == "py_0_3 HTTP+JSON":
        # Here 0.3.26 does not look at the status, and calls all that is no stream a 400.
        assert told["http"] == 400
    else:
        assert_refused(told, "TaskNotFoundError")


@of(*OLD_SUBSCRIBERS)
def test_before_1_0_a_subscription_to_a_task_that_has_ended_tells_the_task(saw: Saw) -> None:
    events = saw("subscribe_in_vain")["finished"]["result"]
    assert kinds(events) == ["task TASK_STATE_COMPLETED", "statusUpdate TASK_STATE_COMPLETED"]
    assert texts(events[0]["task"]["artifacts"][0]) == ["DONE"]
    assert final_marks(events) == [True]


@of(*NEW)
def test_in_1_0_a_task_that_has_ended_cannot_be_subscribed_to(saw: Saw) -> None:
    assert_refused(saw("subscribe_in_vain")["finished"], "UnsupportedOperationError")


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        ("no_parts", "message.parts is required"),
        ("no_parts_in_a_stream", "message.parts is required"),
        ("unknown_skill", "message.metadata.skillId names no skill of this agent"),
        ("missing_parameter", "message.parts[0].data.b is required"),
        ("wrong_parameter", "message.parts[0].data.b must be int, not float"),
        ("wrong_context", "message.contextId must be the context of the task"),
    ],
)
def test_a_request_that_makes_no_sense_is_told_why(saw: Saw, case: str, complaint: str) -> None:
    told = saw("bad_params")[case]
    assert_refused(told, "InvalidParamsError")
    if not saw.is_old:
        assert told["message"].startswith(f"Invalid parameters: {complaint}")


@without(OLDEST_IN_PROTOBUF)
def test_content_that_no_skill_takes_is_refused(saw: Saw) -> None:
    assert_refused(saw("unsupported_content_type"), "ContentTypeNotSupportedError")
