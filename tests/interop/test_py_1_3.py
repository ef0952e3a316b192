"""a2a-sdk 1.3 against our server: what 1.0 has and older versions have not, over each binding.

One process of the SDK plays all scenarios of ``peers/py_1_3_more.py`` for a binding; each test
looks at what it saw in one of them.
"""

from __future__ import annotations

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

AGENT = Path(__file__).with_name("agent.py")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    store = tmp_path_factory.mktemp("interop") / "tasks.db"
    with AgentProcess(AGENT, "--advertise", "grpc", "--store", f"sqlite:///{store}") as process:
        yield process.url


@pytest.fixture(scope="module", params=["JSONRPC", "HTTP+JSON", "GRPC"])
def saw(request: pytest.FixtureRequest, play: Callable[..., Saw], url: str) -> Saw:
    return play("py_1_3", url, request.param, program="py_1_3_more")


on_http = pytest.mark.parametrize("saw", ["JSONRPC", "HTTP+JSON"], indirect=True)


def test_a_client_is_made_from_the_address_alone(saw: Saw) -> None:
    task = saw("client_from_url")["task"]
    assert texts(task["artifacts"][0]) == ["BY URL"]


def test_a_message_sent_twice_makes_one_task(saw: Saw) -> None:
    first, second = saw("sent_twice")
    assert texts(first["task"]["artifacts"][0]) == ["ONCE"]
    assert second == first


def test_a_tenant_has_its_tasks_to_itself(saw: Saw) -> None:
    told = saw("tenant")
    assert told["answered"]["task"]["artifacts"][0]["metadata"]["tenant"] == "acme"
    assert told["there"] == told["answered"]["task"]
    assert told["elsewhere"]["error"] == "TaskNotFoundError"
    assert told["unknown"]["error"] == "InvalidParamsError"


@pytest.mark.parametrize("place", ["answered", "streamed", "in_history"])
def test_data_of_every_kind_comes_back_as_it_was(saw: Saw, place: str) -> None:
    told = saw("data_of_every_kind")
    assert told[place] == told["sent"]
    assert told[place][-1] is None


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


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        ("no_message", "message is required"),
        ("empty_part", "message.parts[0] needs exactly one of text, raw, url, data"),
        ("no_message_id", "message.messageId is required"),
        ("no_role", "message.role is required"),
        ("negative_history", "historyLength must be"),
        ("page_too_large", "pageSize must be"),
        ("page_too_small", "pageSize must be"),
        ("bad_page_token", "pageToken must be the nextPageToken"),
    ],
)
def test_a_request_that_makes_no_sense_is_told_why(saw: Saw, case: str, complaint: str) -> None:
    told = saw("bad_requests")[case]
    assert told["error"] == "InvalidParamsError"
    assert told["message"].startswith(f"Invalid parameters: {complaint}")


def test_an_extended_card_is_refused_while_the_card_promises_none(saw: Saw) -> None:
    assert saw("extended_card")["error"] == "UnsupportedOperationError"


# Over gRPC the SDK sends its own version, too.
@on_http
@pytest.mark.parametrize("call", ["get", "send", "stream"])
def test_an_unknown_version_is_refused_with_the_versions_there_are(saw: Saw, call: str) -> None:
    told = saw("unsupported_version")[call]
    assert told["error"] == "VersionNotSupportedError"
    assert told["data"] == {"requestedVersion": "9.9", "supportedVersions": "1.0,0.3,0.2,0.1"}


@on_http
def test_a_request_without_a_version_is_served(saw: Saw) -> None:
    task = saw("missing_version")["result"]["task"]
    assert texts(task["artifacts"][0]) == ["NO VERSION"]


@pytest.fixture(scope="module")
def strict_url() -> Iterator[str]:
    with AgentProcess(AGENT, "--store", "memory:", "--strict-versions") as process:
        yield process.url


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
def test_a_request_without_a_version_is_refused_where_versions_are_strict(
    play: Callable[..., Saw], strict_url: str, binding: str
) -> None:
    saw = play("py_1_3", strict_url, binding, "missing_version", program="py_1_3_more")
    assert saw("missing_version")["error"] == "VersionNotSupportedError"
