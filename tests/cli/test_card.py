"""CARD_GET: the card of an agent."""

import json
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from joserfc.jwk import ECKey

import dragoman
from dragoman.auth.cards.signing import CardSigner
from dragoman.client.discovery.cards import read_card
from dragoman.dialects.v1_0.card import encode_card
from tests.cli.calling import Cli
from tests.cli.fake import CARD_PATH, FakeAgent, Refusal, asking_for, card


def published(stage: str) -> dict[str, Any]:
    """The card as the agent publishes it."""
    request = Request(stage + CARD_PATH, headers={"A2A-Version": "1.0"})  # noqa: S310 - ours
    with urlopen(request, timeout=10) as response:  # noqa: S310 - our own server
        return json.loads(response.read())


@pytest.mark.parametrize("form", ["host", "origin", "url", "file", "file url", "relative path"])
def test_card_get_001_takes_a_host_a_url_or_a_file(alone: Cli, stage: str, form: str) -> None:
    path = alone.folder / "card.json"
    path.write_text(json.dumps(published(stage)))
    reference = {
        "host": stage.removeprefix("http://"),
        "origin": stage,
        "url": stage + CARD_PATH,
        "file": str(path),
        "file url": path.as_uri(),
        "relative path": "card.json",
    }[form]
    assert alone("card", "get", "--agent-card", reference, "-o", "json").json == published(stage)
    # The same card is used to choose how to speak.
    assert alone("send", "hello", "--agent-card", reference).code == 0


def test_card_get_001_shows_who_what_and_how(cli: Cli, stage: str) -> None:
    result = cli("card", "get")
    assert result.code == 0
    assert result.field("Name") == "Demo"
    assert result.field("Version") == dragoman.__version__
    assert result.field("Streaming") == "yes"
    assert result.field("Push notifications") == "yes"
    assert result.field("Extended card") == "no"
    assert f"JSONRPC 1.0 {stage}/" in result.fields("Interface")
    assert result.field("Selected interface") == f"JSONRPC 1.0 {stage}/"
    assert "echo" not in result.fields("Skill")
    assert "mirror Mirror" in result.fields("Skill")
    assert "  Plays scripted scenarios to try clients on; the first word names one." in result.out


def test_card_get_001_takes_the_reference_as_an_argument_too(alone: Cli, stage: str) -> None:
    assert alone("card", "get", stage).field("Name") == "Demo"


def test_card_get_001_shows_a_card_of_an_older_version_as_that_of_1_0(
    alone: Cli, fake: FakeAgent
) -> None:
    fake.card = {
        "protocolVersion": "0.3.0",
        "name": "Old",
        "description": "Old.",
        "url": f"{fake.url}/",
        "version": "1",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
    }
    shown = alone("card", "get", fake.url, "-o", "json").json
    assert shown["supportedInterfaces"][0]["protocolVersion"] == "0.3"


def test_card_get_001_keeps_what_it_does_not_know(alone: Cli, fake: FakeAgent) -> None:
    fake.card = card(fake.url, novelty={"a": [1]})
    assert alone("card", "get", fake.url, "-o", "json").json["novelty"] == {"a": [1]}


def test_card_get_001_tells_that_there_is_no_card(alone: Cli, fake: FakeAgent) -> None:
    fake.card_status = 404
    result = alone("card", "get", fake.url, "-o", "json")
    assert result.code == 3
    assert result.error["code"] == "A2ACLI_ERR_CARD_NOT_FOUND"
    missing = alone("card", "get", "./nothing.json", "-o", "json")
    assert (missing.code, missing.error["code"]) == (3, "A2ACLI_ERR_CARD_NOT_FOUND")


def test_card_get_002_takes_a_valid_card(alone: Cli, fake: FakeAgent) -> None:
    fake.card = card(fake.url)
    result = alone("card", "get", fake.url, "--validate")
    assert result.code == 0
    assert result.field("Valid") == "yes"
    # Nothing is added to the card itself.
    assert alone("card", "get", fake.url, "--validate", "-o", "json").json == fake.card


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"skills": None}, "/skills: must be an array"),
        ({"version": 1}, "/version: must be a string"),
        ({"capabilities": {"streaming": "yes"}}, "/capabilities/streaming: must be a boolean"),
        ({"skills": [{"id": "s"}]}, "/skills/0/name: is missing"),
        ({"supportedInterfaces": [{"url": ""}]}, "/supportedInterfaces/0/url: must not be empty"),
    ],
)
def test_card_get_002_tells_where_a_card_is_broken(
    alone: Cli, fake: FakeAgent, change: dict[str, object], place: str
) -> None:
    fake.card = card(fake.url, **change)
    result = alone("card", "get", fake.url, "--validate", "-o", "json")
    assert result.code == 1
    assert result.error["code"] == "A2ACLI_ERR_CARD_INVALID"
    assert place in result.error["message"]


def test_card_get_002_checks_an_older_card_by_its_own_schema(alone: Cli) -> None:
    (alone.folder / "card.json").write_text('{"name": "Old", "url": "http://127.0.0.1:1/"}')
    result = alone("card", "get", "./card.json", "--validate", "-o", "json")
    assert result.error["code"] == "A2ACLI_ERR_CARD_INVALID"
    assert "/description: is missing" in result.error["message"]
    assert "supportedInterfaces" not in result.error["message"]


def test_card_get_002_advises_on_a_valid_card(alone: Cli, tmp_path: Path) -> None:
    listed = [
        {"url": "http://far.example", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        {"url": "mqtt://far.example", "protocolBinding": "MQTT", "protocolVersion": "1.0"},
    ]
    found = card("", supportedInterfaces=listed, **asking_for({}))
    del found["securitySchemes"]
    (tmp_path / "card.json").write_text(json.dumps(found))
    warnings = alone("card", "get", "./card.json", "--validate").err
    assert "http://far.example can be read by everybody" in warnings
    assert "binding MQTT is not one of A2A" in warnings
    assert "security scheme main is required, but not described" in warnings


# --- extended cards and signatures ----------------------------------------------------------------

BEARER = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}


def extended(fake: FakeAgent, **members: object) -> None:
    """Have an agent that has another card for those it knows."""
    fake.card = card(fake.url, capabilities={"extendedAgentCard": True}, **members)
    fake.answers["GetExtendedAgentCard"] = lambda _: card(fake.url, name="For you")


def test_card_get_003_the_extended_card_is_shown(alone: Cli, fake: FakeAgent) -> None:
    extended(fake, **asking_for(BEARER))
    result = alone.to(fake.url)("card", "get", "--extended", "--bearer", "the-token")
    assert result.field("Name") == "For you"
    asked = fake.calls("GetExtendedAgentCard")[0].headers
    assert asked["authorization"] == "Bearer the-token"


def test_card_get_003_nothing_is_shown_that_the_card_does_not_ask_for(
    alone: Cli, fake: FakeAgent
) -> None:
    key = {"apiKeySecurityScheme": {"location": "header", "name": "x-key"}}
    extended(fake, **asking_for(key))
    result = alone.to(fake.url)("card", "get", "--extended", "--bearer", "the-token", "-o", "json")
    assert (result.code, result.error["code"]) == (4, "A2ACLI_ERR_CREDENTIALS_MISSING")
    assert not fake.calls("GetExtendedAgentCard")


def test_card_get_003_an_agent_may_have_none_after_all(alone: Cli, fake: FakeAgent) -> None:
    extended(fake)
    name = "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
    fake.answers["GetExtendedAgentCard"] = lambda _: Refusal(-32007, "None.", 200, name)
    result = alone.to(fake.url)("card", "get", "--extended", "-o", "json")
    assert result.error["code"] == "ExtendedAgentCardNotConfiguredError"


def test_auth_008_a_card_is_asked_for_without_credentials(alone: Cli, fake: FakeAgent) -> None:
    secrets = {"A2ACLI_BEARER": "secret-1", "A2ACLI_API_KEY": "secret-2", "A2ACLI_AUTH": "secret-3"}
    flags = ("--svc-param", "Cookie: session=secret-4", "--svc-param", "X-Route: eu")
    assert alone("card", "get", fake.url, *flags, **secrets).code == 0
    headers = fake.calls("card")[0].headers
    assert "secret" not in json.dumps(headers)
    assert headers["x-route"] == "eu"


def test_auth_008_unless_that_is_wanted(alone: Cli, fake: FakeAgent) -> None:
    assert alone("card", "get", fake.url, "--card-auth", A2ACLI_BEARER="secret-1").code == 0
    assert fake.calls("card")[0].headers["authorization"] == "Bearer secret-1"


@pytest.fixture
def signer(tmp_path: Path) -> CardSigner:
    """Who signs cards; the key to know them by is in ``keys.json``."""
    signer = CardSigner(ECKey.generate_key("P-256").as_dict(private=True), kid="k-1")
    (tmp_path / "keys.json").write_text(json.dumps(signer.public_keys))
    # The same name, but the key of somebody else.
    other = CardSigner(ECKey.generate_key("P-256").as_dict(private=True), kid="k-1")
    (tmp_path / "others.json").write_text(json.dumps(other.public_keys))
    return signer


@pytest.mark.parametrize(
    ("kind", "flags", "outcome"),
    [
        ("signed", ("--jwks", "keys.json"), "verified k-1"),
        ("signed", (), "unverifiable"),
        ("signed", ("--jwks", "others.json"), "unverifiable"),
        ("tampered", ("--jwks", "keys.json"), "unverifiable"),
        ("unsigned", ("--jwks", "keys.json"), "absent"),
    ],
)
def test_card_get_004_tells_what_signatures_show(
    alone: Cli, signer: CardSigner, kind: str, flags: tuple[str, ...], outcome: str
) -> None:
    plain = read_card(json.dumps(card("http://127.0.0.1:1")).encode(), "here").card
    found = plain if kind == "unsigned" else signer.signed(plain)
    content = encode_card(found)
    if kind == "tampered":
        content = content.replace(b"Does as it is told.", b"Does as it likes.")
    (alone.folder / "card.json").write_bytes(content)
    result = alone("card", "get", "./card.json", *flags)
    assert result.code == 0
    assert result.field("Signature") == outcome
    assert ("cannot be verified" in result.err) == (outcome == "unverifiable")
    strict = alone("card", "get", "./card.json", *flags, "--require-signature", "-o", "json")
    assert strict.code == (0 if outcome.startswith("verified") else 1)
