"""TX and VER: which interface is used, in which version, and what is checked before."""

import json
from typing import Any

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Refusal, card, task
from tests.cli.test_card import published


def interface(url: str, binding: str, version: str = "1.0", **members: str) -> dict[str, str]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version, **members}


def used(cli: Cli, *flags: str) -> str:
    """The interface that a command would use."""
    return cli("card", "get", *flags).field("Selected interface").partition(" ")[0]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_tx_001_the_card_decides_in_its_order(
    alone: Cli, stage: str, order: tuple[int, ...]
) -> None:
    found = published(stage)
    found["supportedInterfaces"] = [found["supportedInterfaces"][index] for index in order]
    (alone.folder / "card.json").write_text(json.dumps(found))
    cli = alone.to("./card.json")
    assert used(cli) == found["supportedInterfaces"][0]["protocolBinding"]
    # And that is what is really spoken.
    result = cli("send", "x", "--debug")
    assert result.code == 0
    assert f"* interface {used(cli)} 1.0" in result.err


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ((), "JSONRPC"),
        (("grpc",), "GRPC"),
        (("rest", "grpc"), "HTTP+JSON"),
        (("GRPC", "JSONRPC"), "GRPC"),
        (("https://bindings.example/mine", "http+json"), "HTTP+JSON"),
    ],
)
def test_tx_002_preferences_come_first_and_are_ordered(
    cli: Cli, wishes: tuple[str, ...], expected: str
) -> None:
    flags = [word for wish in wishes for word in ("--transport", wish)]
    assert used(cli, *flags) == expected


def test_tx_002_what_the_card_lacks_is_skipped(alone: Cli, fake: FakeAgent) -> None:
    assert used(alone.to(fake.url), "--transport", "GRPC", "--transport", "rest") == "JSONRPC"
    assert used(alone.to(fake.url), "--transport", "GRPC") == "JSONRPC"


def test_tx_002_grpc_that_is_not_there_gives_way_to_the_card(alone: Cli, fake: FakeAgent) -> None:
    fake.answers = {"SendMessage": lambda _: {"task": task()}}
    result = alone.to(fake.url)("send", "x", "--transport", "GRPC")
    assert result.code == 0
    assert len(fake.calls("SendMessage")) == 1


def test_tx_002_the_environment_may_prefer(cli: Cli) -> None:
    result = cli("card", "get", A2ACLI_TRANSPORT="grpc, jsonrpc")
    assert result.field("Selected interface").startswith("GRPC ")


def test_tx_003_the_tenant_is_told_back_exactly(alone: Cli, fake: FakeAgent) -> None:
    fake.answers = {
        "GetTask": lambda _: task(),
        "SendMessage": lambda _: {"task": task()},
        "CancelTask": lambda _: task("CANCELED"),
        "ListTasks": lambda _: {"tasks": [], "nextPageToken": "", "pageSize": 0, "totalSize": 0},
    }
    commands = (
        ("GetTask", ("task", "get", "t-1")),
        ("SendMessage", ("send", "x")),
        ("CancelTask", ("task", "cancel", "t-1")),
        ("ListTasks", ("task", "list")),
    )
    cli = alone.to(fake.url)
    for method, arguments in commands:
        assert cli(*arguments).code == 0
        assert "tenant" not in fake.calls(method)[0].params
    listed = [interface(f"{fake.url}/", "JSONRPC", tenant="ACME/eu")]
    fake.card = card(fake.url, supportedInterfaces=listed)
    for method, arguments in commands:
        assert cli(*arguments).code == 0
        assert fake.calls(method)[1].params["tenant"] == "ACME/eu"


def test_tx_003_an_endpoint_takes_a_tenant(alone: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: task()
    flags = ("--endpoint", f"{fake.url}/", "--transport", "jsonrpc", "--tenant", "me")
    assert alone("task", "get", "t-1", *flags).code == 0
    assert [each.method for each in fake.asked] == ["GetTask"]
    assert fake.calls("GetTask")[0].params["tenant"] == "me"


@pytest.mark.parametrize(
    "flags",
    [
        ("--endpoint", "http://127.0.0.1:1"),
        ("--endpoint", "http://127.0.0.1:1", "--transport", "rest", "--transport", "grpc"),
        ("--endpoint", "http://127.0.0.1:1", "--transport", "rest", "--agent-card", "x"),
        ("--agent-card", "http://127.0.0.1:1", "--tenant", "me"),
        (),
    ],
)
def test_tx_004_an_agent_is_named_in_one_way(alone: Cli, flags: tuple[str, ...]) -> None:
    result = alone("task", "get", "t-1", *flags, "-o", "json")
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")


@pytest.mark.parametrize("transport", ["JSONRPC", "HTTP+JSON"])
def test_tx_004_two_transports_can_be_selected(cli: Cli, transport: str) -> None:
    result = cli("send", "x", "--transport", transport, "--debug")
    assert f"* interface {transport} 1.0" in result.err


def test_tx_005_grpc_can_be_selected(cli: Cli) -> None:
    result = cli("send", "x", "--transport", "grpc", "--debug")
    assert result.code == 0
    assert "* interface GRPC 1.0" in result.err


# --- VER ------------------------------------------------------------------------------------------


def test_ver_001_the_version_is_told_with_every_request(alone: Cli, fake: FakeAgent) -> None:
    fake.answers = {"SendMessage": lambda _: {"task": task("WORKING")}, "GetTask": lambda _: task()}
    assert alone.to(fake.url)("send", "x", "--poll-interval", "0.1").code == 0
    assert {each.method for each in fake.asked} == {"card", "SendMessage", "GetTask"}
    assert {each.headers["a2a-version"] for each in fake.asked} == {"1.0"}


@pytest.fixture
def old(fake: FakeAgent) -> FakeAgent:
    """An agent of 0.3."""
    fake.card = {
        **card(fake.url),
        "protocolVersion": "0.3.0",
        "url": f"{fake.url}/",
        "preferredTransport": "JSONRPC",
    }
    del fake.card["supportedInterfaces"]  # type: ignore[attr-defined] - it is a dict
    done: dict[str, Any] = {"kind": "task", "id": "t-1", "contextId": "c-1"}
    done["status"] = {"state": "completed"}
    fake.answers["tasks/get"] = lambda _: done
    return fake


def test_ver_001_an_older_agent_is_not_spoken_to_in_silence(alone: Cli, old: FakeAgent) -> None:
    result = alone.to(old.url)("task", "get", "t-1", "-o", "json")
    assert result.code == 0
    assert result.err.splitlines()[0] == "speaking A2A 0.3, as the card of the agent declares"
    strict = alone.to(old.url)("task", "get", "t-1", "--strict", "-o", "json")
    assert strict.code == 1
    assert strict.error["code"] == "VersionNotSupportedError"
    assert "--strict" in strict.error["hint"]
    assert [each.method for each in old.asked] == ["card", "tasks/get", "card"]


@pytest.mark.parametrize(
    ("flags", "variables"),
    [
        (("--legacy",), {}),
        (("--a2a-version", "0.3"), {}),
        ((), {"A2ACLI_LEGACY": "1"}),
        ((), {"A2ACLI_A2A_VERSION": "0.3"}),
    ],
)
def test_ver_001_an_older_agent_can_be_spoken_to(
    alone: Cli, old: FakeAgent, flags: tuple[str, ...], variables: dict[str, str]
) -> None:
    result = alone.to(old.url)("task", "get", "t-1", *flags, "-o", "json", **variables)
    assert (result.code, result.err) == (0, "")
    assert result.json["status"]["state"] == "TASK_STATE_COMPLETED"


def test_ver_001_a_refusal_is_not_answered_by_an_older_version(alone: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: Refusal(-32009, "0.3", 200, "VERSION_NOT_SUPPORTED")
    result = alone.to(fake.url)("task", "get", "t-1", "-o", "json")
    assert result.error["code"] == "VersionNotSupportedError"
    assert {each.method for each in fake.asked} == {"card", "GetTask"}


@pytest.mark.parametrize("version", ["0.1", "0.2", "0.3"])
def test_ver_001_the_real_agent_is_spoken_to_in_every_version(cli: Cli, version: str) -> None:
    result = cli("send", "hello", "--a2a-version", version, "-o", "json")
    assert result.code == 0
    assert result.json["task"]["artifacts"][0]["parts"] == [{"text": "hello"}]


def test_ver_002_required_extensions_are_declared(alone: Cli, fake: FakeAgent) -> None:
    uri = "https://extensions.example/needed"
    capabilities = {"extensions": [{"uri": uri, "required": True}, {"uri": "https://e/optional"}]}
    fake.card = card(fake.url, capabilities=capabilities)
    fake.answers["GetTask"] = lambda _: task()
    cli = alone.to(fake.url)
    result = cli("task", "get", "t-1", "-o", "json")
    assert (result.code, result.error["code"]) == (1, "ExtensionSupportRequiredError")
    assert not fake.calls("GetTask")
    assert cli("task", "get", "t-1", "--extension", uri).code == 0
    assert fake.calls("GetTask")[0].headers["a2a-extensions"] == uri


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("task", "push-config", "list", "t-1"), "PushNotificationNotSupportedError"),
        (
            ("task", "push-config", "create", "t-1", "--url", "https://me.example"),
            "PushNotificationNotSupportedError",
        ),
        (("card", "get", "--extended"), "UnsupportedOperationError"),
    ],
)
def test_ver_003_what_the_card_does_not_offer_is_not_asked_for(
    alone: Cli, fake: FakeAgent, arguments: tuple[str, ...], name: str
) -> None:
    result = alone.to(fake.url)(*arguments, "-o", "json")
    assert (result.code, result.error["code"]) == (1, name)
    assert {each.method for each in fake.asked} == {"card"}


def test_ver_003_streams_are_not_asked_for(alone: Cli, fake: FakeAgent) -> None:
    fake.answers = {
        "SendMessage": lambda _: {"task": task("WORKING")},
        "GetTask": lambda _: task(),
    }
    assert alone.to(fake.url)("send", "x", "--poll-interval", "0.1").code == 0
    assert alone.to(fake.url)("task", "subscribe", "t-1").code == 0
    methods = {each.method for each in fake.asked}
    assert methods == {"card", "SendMessage", "GetTask"}
