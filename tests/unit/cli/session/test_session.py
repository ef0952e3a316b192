import json

import pytest

from tests.cli.calling import Cli
from tests.cli.fake import FakeAgent, Refusal, asking_for, card


def test_warnings_come_before_anything_else(cli: Cli) -> None:
    result = cli("task", "get", "t-1", "--insecure")
    assert result.code == 0
    assert result.err.startswith("Warning: the certificate of the agent is not verified")


@pytest.mark.parametrize("binding", ["SMOKE", "https://mine.example"])
def test_a_card_without_anything_we_speak_is_told_with_what_it_offers(
    cli: Cli, fake: FakeAgent, binding: str
) -> None:
    listed = [{"url": "x://a", "protocolBinding": binding, "protocolVersion": "1.0"}]
    fake.card = card(fake.url, supportedInterfaces=listed)
    result = cli("task", "get", "t-1", "-o", "json")
    assert (result.code, result.error["code"]) == (1, "A2ACLI_ERR_INTERNAL")
    assert f"{binding} 1.0" in result.error["message"]
    assert [each.method for each in fake.asked] == ["card"]


def test_an_older_version_that_is_not_there_is_told(cli: Cli) -> None:
    result = cli("task", "get", "t-1", "--a2a-version", "0.2", "-o", "json")
    assert result.error["code"] == "VersionNotSupportedError"
    assert "0.2 is not supported here; supported: 1.0" in result.error["message"]


def test_a_binding_that_cannot_be_used_is_no_question_of_the_version(
    cli: Cli, fake: FakeAgent
) -> None:
    listed = [{"url": fake.url, "protocolBinding": "PIGEON", "protocolVersion": "1.0"}]
    fake.card = card(fake.url, supportedInterfaces=listed)
    result = cli("task", "get", "t-1", "-o", "json")
    assert result.error["code"] == "A2ACLI_ERR_INTERNAL"


def test_a_newer_version_is_not_ours_to_speak(cli: Cli, fake: FakeAgent) -> None:
    listed = [{"url": fake.url, "protocolBinding": "JSONRPC", "protocolVersion": "2.0"}]
    fake.card = card(fake.url, supportedInterfaces=listed)
    result = cli("task", "get", "t-1", "-o", "json")
    assert result.error["code"] == "VersionNotSupportedError"
    assert "supported: 2.0" in result.error["message"]


def test_credentials_that_do_not_fit_are_told_before_anybody_is_asked(
    cli: Cli, fake: FakeAgent
) -> None:
    key = {"apiKeySecurityScheme": {"location": "header", "name": "x-key"}}
    fake.card = card(fake.url, **asking_for(key))
    result = cli("task", "get", "t-1", "--bearer", "a-token", "-o", "json")
    assert (result.code, result.error["code"]) == (4, "A2ACLI_ERR_CREDENTIALS_MISSING")
    assert "--api-key" in result.error["hint"]
    assert not fake.calls("GetTask")


def test_a_key_that_the_card_does_not_ask_for_needs_a_name(cli: Cli, fake: FakeAgent) -> None:
    result = cli("task", "get", "t-1", "--api-key", "a-key", "-o", "json")
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")
    assert "--svc-param NAME:KEY" in result.error["hint"]
    assert not fake.calls("GetTask")


def test_who_is_too_busy_is_told_with_when_to_come_back(cli: Cli, fake: FakeAgent) -> None:
    fake.answers["GetTask"] = lambda _: Refusal(-31429, "Slow down.", 429, "RATE_LIMITED")
    result = cli("task", "get", "t-1", "-o", "json")
    assert (result.code, result.error["code"]) == (1, "A2ACLI_ERR_INTERNAL")
    assert result.error["a2aCode"] == -31429


def test_a_card_that_is_refused_is_told_as_such(cli: Cli, fake: FakeAgent) -> None:
    fake.card_status = 401
    fake.card_headers = {"WWW_Authenticate": "Bearer"}
    result = cli("task", "get", "t-1", "-o", "json")
    assert result.error["code"] == "A2ACLI_ERR_CREDENTIALS_MISSING"
    assert "--card-auth" in result.error["hint"]


def test_the_file_of_a_card_is_found_where_the_command_runs(cli: Cli, fake: FakeAgent) -> None:
    (cli.folder / "here.json").write_text(json.dumps(card(fake.url)))
    assert Cli(cli.folder).to("here.json")("task", "get", "t-1").code == 0
