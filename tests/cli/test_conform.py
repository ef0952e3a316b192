"""CONFORM: a live agent is checked; good ones pass, and of broken ones it is told what is."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.calling import Cli, Result
from tests.cli.fake import FakeAgent, card
from tests.cli.mini_agent import MiniAgent, Raw, Refused, Stream, mini_agent
from tests.support.serving import AgentProcess

DESK = Path(__file__).parents[2] / "examples" / "desk" / "agent.py"
LONG = ("--long-message", "count down from 20")


@pytest.fixture(scope="module")
def desk() -> Iterator[str]:
    """The address of our demo agent."""
    flags = ("--advertise", "grpc", "--push-allow-hosts", "127.0.0.1")
    with AgentProcess(DESK, "--store", "memory:", *flags) as process:
        yield process.url


@pytest.fixture
def mini() -> Iterator[MiniAgent]:
    """An agent with all capabilities, which does right."""
    with mini_agent() as agent:
        yield agent


def failures(result: Result) -> dict[str, str]:
    """What was found by the checks that have failed."""
    return {row["id"]: row["found"] for row in result.json["checks"] if row["status"] == "fail"}


def checked(cli: Cli, agent: MiniAgent, *flags: str) -> Result:
    return cli("conformance", agent.url, "-o", "json", "--check-timeout", "2s", *flags)


# --- good agents ----------------------------------------------------------------------------------


def test_conform_001_a_good_agent_passes_everything_on_all_bindings(alone: Cli, desk: str) -> None:
    # It looks at addresses before it takes them; nobody has to answer at this one.
    webhook = ("--webhook-url", "https://127.0.0.1/webhook")
    result = alone("conformance", desk, *LONG, *webhook, "-o", "json")
    assert result.code == 0
    assert failures(result) == {}
    checks = result.json["checks"]
    assert {row["status"] for row in checks} == {"pass"}
    per_binding = {
        binding: [row["id"] for row in checks if row["binding"] == binding]
        for binding in ("JSONRPC", "HTTP+JSON", "GRPC")
    }
    # The same is looked at on each of them, and nothing twice.
    assert len({tuple(ids) for ids in per_binding.values()}) == 1
    assert len(set(per_binding["GRPC"])) == len(per_binding["GRPC"]) >= 24
    assert result.json["summary"] == {
        "pass": len(checks),
        "fail": 0,
        "skip": 0,
        "mustFailures": 0,
    }
    assert result.json["agent"] == "Desk"
    # What it was about to do is told while it does it.
    assert [line.split()[1] for line in result.err.splitlines()] == list(per_binding)


STREAMING = '''
from collections.abc import AsyncIterator

from dragoman import Agent

agent = Agent("Speller", "Spells.")


@agent.skill
async def spell(text: str) -> AsyncIterator[str]:
    """Give the words one by one."""
    for word in text.split():
        yield f"{word} "
'''


def test_conform_001_an_agent_that_streams_passes(alone: Cli, tmp_path: Path) -> None:
    path = tmp_path / "speller.py"
    path.write_text(STREAMING)
    with AgentProcess(path, "--store", "memory:") as process:
        result = alone("conformance", process.url, "--legacy", "-o", "json")
    assert failures(result) == {}
    streams = [row for row in result.json["checks"] if row["id"] == "stream.send"]
    assert {row["status"] for row in streams} == {"pass"}
    assert {row["version"] for row in streams} >= {"0.3", "1.0"}


def test_conform_001_nothing_is_left_at_the_agent(alone: Cli, desk: str) -> None:
    assert alone("conformance", desk, *LONG).code == 0
    for state in ("working", "submitted", "input-required"):
        listed = alone("task", "list", "-a", desk, "--status", state, "-o", "json").json
        assert listed["tasks"] == []


def test_conform_001_old_versions_are_checked_if_asked_for(alone: Cli, desk: str) -> None:
    plain = alone("conformance", desk, "-o", "json").json["checks"]
    assert {row["version"] for row in plain} == {"", "1.0"}
    result = alone("conformance", desk, "--legacy", *LONG, "-o", "json")
    assert result.code == 0
    assert failures(result) == {}
    old = [row for row in result.json["checks"] if row["version"] == "0.3"]
    assert {row["id"] for row in old} >= {"send.answer", "get.task", "stream.send", "cancel.task"}
    # The ids of requirements are those of 1.0.
    assert {row["requirement"] for row in old} == {""}
    only = alone(
        "conformance", desk, "--a2a-version", "0.3", "--transport", "jsonrpc", "-o", "json"
    )
    assert {row["version"] for row in only.json["checks"]} == {"", "0.3"}


def test_conform_001_a_transport_is_all_that_is_checked(alone: Cli, desk: str) -> None:
    result = alone("conformance", desk, "--transport", "grpc", "-o", "json")
    assert result.code == 0
    assert {row["binding"] for row in result.json["checks"]} == {"", "GRPC"}


def test_conform_001_text_is_a_record_per_check(alone: Cli, mini: MiniAgent) -> None:
    mini.wrong["GetTask"] = lambda _: Raw(b"\x1b[31moops")
    result = alone("conformance", mini.url, "--check-timeout", "2s")
    assert result.code == 1
    assert result.field("Conforms") == "no"
    assert "interface.answers" in result.fields("Check")
    assert any("the body is not JSON" in found for found in result.fields("Found"))
    assert not [char for char in result.out if ord(char) < 32 and char != "\n"]


def test_conform_001_stream_is_a_line_per_check_and_the_summary(
    alone: Cli, mini: MiniAgent
) -> None:
    lines = alone("conformance", mini.url, "-o", "json", "--stream").lines
    assert [line["id"] for line in lines[:2]] == ["card.available", "card.schema"]
    assert lines[-1]["summary"]["pass"] == len(lines) - 1


def test_conform_001_webhooks_and_extended_cards_are_checked(alone: Cli, mini: MiniAgent) -> None:
    result = checked(alone, mini)
    assert (result.code, failures(result)) == (0, {})
    assert {row["status"] for row in result.json["checks"]} == {"pass"}
    ids = {row["id"] for row in result.json["checks"]}
    assert ids >= {"push.round-trip", "extended-card.get", "subscribe.task"}
    assert (mini.running(), mini.configs) == ([], {})


def test_conform_001_an_agent_that_declares_nothing_must_say_so(alone: Cli) -> None:
    with mini_agent(streaming=False) as agent:
        result = checked(alone, agent)
        assert set(failures(result)) == {
            "stream.undeclared",
            "subscribe.undeclared",
            "push.undeclared",
            "extended-card.undeclared",
        }
        refusal = Refused(-32004, "UNSUPPORTED_OPERATION")
        for method in ("SendStreamingMessage", "SubscribeToTask", "GetExtendedAgentCard"):
            agent.wrong[method] = raising(refusal)
        agent.wrong["ListTaskPushNotificationConfigs"] = raising(
            Refused(-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED")
        )
        assert failures(checked(alone, agent)) == {}


def test_conform_001_credentials_go_along_and_do_not_show(alone: Cli, mini: MiniAgent) -> None:
    mini.card["securitySchemes"] = {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}
    mini.card["securityRequirements"] = [{"schemes": {"b": {"list": []}}}]
    result = checked(alone, mini, "--bearer", "canary-1", "--debug")
    assert result.code == 0
    assert mini.credentials == {"Bearer canary-1"}
    assert "canary-1" not in result.out + result.err


# --- broken agents --------------------------------------------------------------------------------


def raising(refused: Refused) -> Callable[[Any], object]:
    def answer(_: Any) -> object:
        raise refused

    return answer


def enveloped(result: object, **members: object) -> Raw:
    return Raw(json.dumps({"jsonrpc": "2.0", "id": "conformance-1", "result": result}).encode())


TASK: dict[str, Any] = {
    "id": "t-9",
    "contextId": "c-9",
    "status": {"state": "TASK_STATE_COMPLETED"},
}
BROKEN: dict[str, tuple[str, Callable[[Any], object], str, str]] = {
    "content type": (
        "ListTasks",
        lambda _: Raw(b'{"jsonrpc":"2.0","id":"conformance-1","result":{}}', 200, "text/html"),
        "list.tasks",
        "the content type must be application/json, but is 'text/html'",
    ),
    "no state": (
        "SendMessage",
        lambda _: {"task": {**TASK, "status": {}}},
        "send.answer",
        "/task/status/state: is missing",
    ),
    "a state of 0.3": (
        "SendMessage",
        lambda _: {"task": {**TASK, "status": {"state": "completed"}}},
        "send.answer",
        "/task/status/state: must be a TASK_STATE_ name, but is 'completed'",
    ),
    "both": (
        "SendMessage",
        lambda _: {"task": TASK, "message": {}},
        "send.answer",
        "must have exactly one of task, message",
    ),
    "does not wait": (
        "SendMessage",
        lambda _: {"task": {**TASK, "status": {"state": "TASK_STATE_WORKING"}}},
        "send.waits",
        "the answer to a send that waits has a task in TASK_STATE_WORKING",
    ),
    "wrong code": (
        "CancelTask",
        raising(Refused(-32603)),
        "cancel.unknown-task",
        "InternalError (-32603: No.), instead of TaskNotFoundError",
    ),
    "HTTP 500": (
        "ListTasks",
        lambda _: Raw(b"<h1>Oops</h1>", 500, "text/html"),
        "list.tasks",
        "HTTP status 500",
    ),
    "not JSON": (
        "CancelTask",
        lambda _: Raw(b"Oops"),
        "cancel.task",
        "the body is not JSON: 'Oops'",
    ),
    "no JSON-RPC": (
        "ListTasks",
        lambda _: Raw(b'{"tasks": []}'),
        "list.tasks",
        'the response has no "jsonrpc": "2.0"',
    ),
    "endless stream": (
        "SendStreamingMessage",
        lambda _: Stream([{"task": TASK}], is_endless=True),
        "stream.send",
        "there is no end of it after 2 s",
    ),
    "stream ends early": (
        "SendStreamingMessage",
        lambda _: Stream([{"task": {**TASK, "status": {"state": "TASK_STATE_WORKING"}}}]),
        "stream.send",
        "the stream ends while the task is in TASK_STATE_WORKING",
    ),
    "stream begins with an update": (
        "SendStreamingMessage",
        lambda _: Stream(
            [{"statusUpdate": {"taskId": "t", "contextId": "c", "status": TASK["status"]}}]
        ),
        "stream.send",
        "the first event is statusUpdate, not the task or a message",
    ),
    "empty stream": (
        "SendStreamingMessage",
        lambda _: Stream([]),
        "stream.send",
        "the stream ends without any event",
    ),
    "no stream at all": (
        "SendStreamingMessage",
        lambda _: enveloped({"task": TASK}),
        "stream.send",
        "a stream must be text/event-stream",
    ),
    "lies about streams": (
        "SendStreamingMessage",
        raising(Refused(-32004, "UNSUPPORTED_OPERATION")),
        "stream.send",
        "it is refused with UnsupportedOperationError",
    ),
    "lies about webhooks": (
        "CreateTaskPushNotificationConfig",
        raising(Refused(-32003, "PUSH_NOTIFICATION_NOT_SUPPORTED")),
        "push.round-trip",
        "it is refused with PushNotificationNotSupportedError",
    ),
    "forgets webhooks": (
        "ListTaskPushNotificationConfigs",
        lambda _: {},
        "push.round-trip",
        "the list does not have the webhook that was just made",
    ),
    "shows artifacts": (
        "ListTasks",
        lambda _: {"tasks": [], "nextPageToken": "", "pageSize": 5, "totalSize": 0},
        "list.tasks",
        "the list of its context does not have the task that was just made",
    ),
    "no page token": (
        "ListTasks",
        lambda _: {"tasks": [], "pageSize": 5, "totalSize": 0},
        "list.tasks",
        "/nextPageToken: is missing",
    ),
    "errors without types": (
        "CancelTask",
        lambda _: Raw(
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"No.","data":[{}]}}'
        ),
        "cancel.unknown-task",
        "every object of error.data must have an @type",
    ),
    "no extended card": (
        "GetExtendedAgentCard",
        lambda _: {"name": "Half"},
        "extended-card.get",
        "/supportedInterfaces: is missing",
    ),
}


def test_conform_001_an_empty_text_says_the_same_as_none(alone: Cli, mini: MiniAgent) -> None:
    part = {"text": "", "filename": "", "mediaType": ""}
    artifact = {"artifactId": "a", "name": "", "parts": [part]}
    mini.wrong["SendMessage"] = lambda _: {"task": {**TASK, "artifacts": [artifact]}}
    assert "send.answer" not in failures(checked(alone, mini))


@pytest.mark.parametrize("time", ["2026-01-01T00:00:00.123456+00:00", "2026-01-01T01:00:00"])
def test_conform_001_a_time_of_0_3_may_be_any_of_iso_8601(
    alone: Cli, fake: FakeAgent, time: str
) -> None:
    fake.card = {**card(fake.url), "protocolVersion": "0.3.0", "url": f"{fake.url}/"}
    del fake.card["supportedInterfaces"]  # type: ignore[attr-defined] - it is a dict
    task = {"kind": "task", "id": "t", "contextId": "c"}
    status = {"state": "completed", "timestamp": time}
    fake.answers["message/send"] = lambda _: {**task, "status": status}
    result = alone("conformance", fake.url, "-o", "json", "--check-timeout", "2s")
    (answer,) = [row for row in result.json["checks"] if row["id"] == "send.answer"]
    assert answer["status"] == "pass", answer


@pytest.mark.parametrize("kind", BROKEN)
def test_conform_001_a_broken_agent_is_caught(alone: Cli, mini: MiniAgent, kind: str) -> None:
    method, answer, check, told = BROKEN[kind]
    mini.wrong[method] = answer
    result = checked(alone, mini)
    assert result.code == 1
    assert told in failures(result)[check]
    # What has nothing to do with it is not blamed.
    area = {"SendMessage": "", "ListTasks": "list", "CancelTask": "cancel"}
    blamed = {failed.partition(".")[0] for failed in failures(result)}
    expected = area.get(method, check.partition(".")[0])
    assert not expected or blamed == {expected}
    # And nothing is left there that could be put away.
    assert mini.configs == {}
    assert mini.running() == [] or method == "CancelTask"


def test_conform_001_an_unknown_version_must_be_refused(alone: Cli, mini: MiniAgent) -> None:
    answer = mini.answer
    mini.answer = lambda method, params, version: answer(method, params, "1.0")  # type: ignore[method-assign] - that is what is broken
    result = checked(alone, mini)
    assert failures(result) == {
        "version.unknown": "it is refused with TaskNotFoundError (-32001: No.), "
        "instead of VersionNotSupportedError"
    }


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (Raw(b"<h1>Oops</h1>", 500, "text/html"), "500"),
        (Raw(b"", 404), "no agent card"),
    ],
)
def test_conform_001_an_address_without_a_card_is_a_finding(
    alone: Cli, mini: MiniAgent, reply: Raw, found: str
) -> None:
    mini.card_reply = reply
    result = checked(alone, mini)
    assert result.code == 1
    assert found in failures(result)["card.available"]


def test_conform_001_a_broken_card_is_told_and_what_it_offers_is_checked(
    alone: Cli, mini: MiniAgent
) -> None:
    mini.card.pop("skills")
    mini.wrong["GetExtendedAgentCard"] = raising(Refused(-32007))
    result = checked(alone, mini)
    assert failures(result) == {"card.schema": "/skills: is missing"}
    assert "send.answer" in {row["id"] for row in result.json["checks"]}


def test_conform_001_what_is_no_card_is_told(alone: Cli, mini: MiniAgent) -> None:
    mini.card_reply = Raw(b"[]")
    result = checked(alone, mini)
    assert result.code == 1
    assert set(failures(result)) == {"card.available"}


def test_conform_001_an_interface_that_is_not_there_is_told(alone: Cli, mini: MiniAgent) -> None:
    mini.card["supportedInterfaces"] += [
        {"url": "127.0.0.1:9", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        {"url": mini.url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        {"url": "mqtt://x", "protocolBinding": "MQTT", "protocolVersion": "1.0"},
    ]
    result = checked(alone, mini)
    assert result.code == 1
    by_binding = {
        row["binding"]: row["status"]
        for row in result.json["checks"]
        if row["id"] == "interface.answers"
    }
    assert by_binding == {"JSONRPC": "pass", "GRPC": "fail", "HTTP+JSON": "fail", "MQTT": "skip"}


def test_conform_001_a_card_without_a_fitting_interface_does_not_pass(
    alone: Cli, mini: MiniAgent
) -> None:
    result = checked(alone, mini, "--transport", "grpc")
    assert result.code == 1
    assert failures(result) == {"card.interfaces": "it declares JSONRPC 1.0"}


def test_conform_001_an_agent_that_wants_credentials_does_not_pass(
    alone: Cli, mini: MiniAgent
) -> None:
    mini.wrong["GetTask"] = raising(Refused(-31401, "UNAUTHENTICATED"))
    result = checked(alone, mini)
    assert result.code == 1
    assert "credentials are wanted" in failures(result)["interface.answers"]


def test_conform_001_the_exit_code_can_be_decoupled(alone: Cli, mini: MiniAgent) -> None:
    mini.wrong["ListTasks"] = lambda _: {}
    assert checked(alone, mini).code == 1
    result = checked(alone, mini, "--exit-zero")
    assert result.code == 0
    assert failures(result)


def test_conform_001_who_is_not_there_cannot_be_checked(alone: Cli) -> None:
    result = alone("conformance", "http://127.0.0.1:9", "-o", "json")
    assert (result.code, result.error["code"]) == (3, "A2ACLI_ERR_UNREACHABLE")
    missing = alone("conformance", "./nothing.json", "-o", "json")
    assert (missing.code, missing.error["code"]) == (3, "A2ACLI_ERR_CARD_NOT_FOUND")


@pytest.mark.parametrize(
    "flags",
    [
        (),
        ("--endpoint", "http://127.0.0.1:9", "--transport", "jsonrpc"),
        ("http://127.0.0.1:9", "--check-timeout", "0"),
        ("http://127.0.0.1:9", "--check-timeout", "soon"),
    ],
)
def test_conform_001_wrong_usage_is_told(alone: Cli, flags: tuple[str, ...]) -> None:
    result = alone("conformance", *flags, "-o", "json")
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")


def test_conform_001_a_card_in_a_file_is_checked(alone: Cli, mini: MiniAgent) -> None:
    (alone.folder / "card.json").write_text(json.dumps(mini.card))
    result = alone("conformance", "./card.json", "-o", "json")
    assert result.code == 0
    assert "card.etag" not in {row["id"] for row in result.json["checks"]}
