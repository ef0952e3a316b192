"""DEMO_SERVER: the agent to practise on, and its scenarios."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from dragoman.demo.scenarios import REFUSALS
from tests.cli.calling import Cli
from tests.support.serving import AgentProcess


@pytest.mark.parametrize("name", ["demo-server", "server"])
def test_demo_server_001_lists_its_scenarios(alone: Cli, cli: Cli, name: str) -> None:
    listed = [line.partition(":")[0] for line in alone(name, "--list").out.splitlines()]
    skills = [skill.partition(" ")[0] for skill in cli("card", "get").fields("Skill")]
    assert listed == skills
    assert {"slow", "ask", "consent", "cut", "hostile", "refuse"} <= set(listed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_demo_server_001_starts_talks_and_stops(tmp_path: Path, number: signal.Signals) -> None:
    process = AgentProcess(None)
    with process:
        assert f"is served at {process.url} (store: memory:)" in process.output[0]
        cli = Cli(tmp_path).to(process.url)
        assert cli("send", "hello there").out.count("hello there") == 1
        assert process.stop(number) == 0
    assert list(tmp_path.iterdir()) == []


def test_demo_server_001_a_skill_id_names_a_scenario_too(each: Cli) -> None:
    result = each("send", "mirror me", "--metadata", '{"skillId": "reply"}', "-o", "json")
    assert result.json["message"]["parts"] == [{"text": "You said mirror me."}]


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("chunks a b c", "COMPLETED"),
        ("everything", "COMPLETED"),
        ("fail now", "FAILED"),
        ("reject this", "REJECTED"),
        ("ask me", "INPUT_REQUIRED"),
        ("authorize me", "AUTH_REQUIRED"),
        ("refuse Nonsense", "REJECTED"),
    ],
)
def test_demo_server_001_scenarios_end_as_they_say(each: Cli, text: str, state: str) -> None:
    result = each("send", text)
    assert (result.code, result.field("State")) == (0, f"TASK_STATE_{state}")


def test_demo_server_001_a_task_goes_on_by_itself_after_consent(each: Cli) -> None:
    flags = ("--on-auth-required", "wait", "--poll-interval", "100ms")
    result = each("send", "consent 0.3", *flags)
    assert (result.code, result.field("State")) == (0, "TASK_STATE_COMPLETED")
    assert "https://id.example/agree" in result.err


# Over HTTP+JSON a client may look elsewhere first where the status says "not found".
@pytest.mark.parametrize("name", REFUSALS)
def test_demo_server_001_every_error_comes_by_order(each: Cli, name: str) -> None:
    result = each("send", f"refuse {name}", "-o", "json")
    own = {
        "UnauthenticatedError": "A2ACLI_ERR_CREDENTIALS_MISSING",
        "PermissionDeniedError": "A2ACLI_ERR_AUTH_FAILED",
        "UnavailableError": "A2ACLI_ERR_INTERNAL",
        "RateLimitedError": "A2ACLI_ERR_INTERNAL",
    }
    assert result.error["code"] == own.get(name, name)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("text", ["cut", "cut bare"])
def test_demo_server_001_a_stream_is_cut_and_resumed(cli: Cli, binding: str, text: str) -> None:
    flags = ("--stream", "--poll-interval", "100ms", "--debug", "-o", "json")
    result = cli.speaking(binding)("send", text, *flags)
    assert result.code == 0
    assert "TASK_STATE_COMPLETED" in result.out.splitlines()[-1]
    # Two streams were opened: the second one after the cut.
    assert result.err.count("< content-type: text/event-stream") == 2
    assert ("last-event-id" in result.err) is (text == "cut")


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
def test_demo_server_001_a_task_has_no_state_for_a_while(cli: Cli, binding: str) -> None:
    result = cli.speaking(binding)("send", "unspecified 1.5", "--async", "-o", "json")
    task_id = result.json["task"]["id"]
    flags = ("--wait", "--poll-interval", "100ms", "--debug", "-o", "json")
    waited = cli.speaking(binding)("task", "get", task_id, *flags)
    assert waited.json["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "TASK_STATE_UNSPECIFIED" in waited.err


def test_demo_server_001_the_card_can_be_made_difficult(tmp_path: Path) -> None:
    uri = "https://ext.example/v1"
    flags = ("--no-streaming", "--tenant", "acme", "--require-extension", uri, "--name", "Hard")
    with AgentProcess(None, *flags) as process:
        cli = Cli(tmp_path).to(process.url)
        card = cli("card", "get")
        assert (card.field("Name"), card.field("Streaming")) == ("Hard", "no")
        assert any("[acme]" in one for one in card.fields("Interface"))
        refused = cli("send", "x", "-o", "json")
        assert refused.error["code"] == "ExtensionSupportRequiredError"
        taken = cli("send", "look", "--extension", uri, "-o", "json")
        assert uri in taken.out


def test_demo_server_001_another_card_can_be_shown(cli: Cli, tmp_path: Path) -> None:
    """One that leads to an agent of 0.3 only."""
    found = cli("card", "get", "-o", "json").json
    old = [one for one in found["supportedInterfaces"] if one["protocolVersion"] == "0.3"]
    path = tmp_path / "old.json"
    path.write_text(json.dumps({**found, "name": "Old", "supportedInterfaces": old}))
    with AgentProcess(None, "--card", str(path)) as process:
        to_old = Cli(tmp_path).to(process.url)
        assert to_old("card", "get").field("Name") == "Old"
        refused = to_old("send", "hello", "--strict", "-o", "json")
        assert refused.error["code"] == "VersionNotSupportedError"
        assert to_old("send", "hello").code == 0
        assert to_old("send", "hello", "--legacy").code == 0


def test_demo_server_001_an_error_is_told_in_one_line(alone: Cli) -> None:
    assert alone("demo-server", "--card", "none.json", "--port", "0").code == 2
    assert alone("demo-server", "--tenant", "tasks").code == 2
    assert alone("demo-server", "--port", "-1").code == 2
