"""One card per row of the table of evidence (0.x reference, 6.4)."""

import json
import logging
from typing import Any

import pytest

from dragoman.client.discovery.cards import is_card, read_card
from dragoman.client.errors import CardInvalidError

NEW = "https://a.example/.well-known/agent-card.json"
OLD = "https://a.example/.well-known/agent.json"

SKILL = {"id": "s", "name": "S", "description": "Does.", "tags": ["x"]}
KEY: dict[str, list[str]] = {"k": []}


def bare(**members: Any) -> dict[str, Any]:
    """Return a card with what every version has."""
    return {
        "name": "A",
        "description": "An agent.",
        "url": "https://a.example/rpc",
        "version": "1",
        "capabilities": {},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [SKILL],
        **members,
    }


def new(**members: Any) -> dict[str, Any]:
    card = bare(
        supportedInterfaces=[
            {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        **members,
    )
    del card["url"]
    return card


def interfaces(card: dict[str, Any], place: str = NEW) -> list[tuple[str, str]]:
    found = read_card(json.dumps(card).encode(), place).card.supported_interfaces
    return [(each.protocol_binding, each.protocol_version) for each in found]


def test_interfaces_say_their_own_version() -> None:
    card = new()
    card["supportedInterfaces"].append(
        {"url": "a.example:1", "protocolBinding": "GRPC", "protocolVersion": "0.3"}
    )
    # What stands beside them for older readers does not count.
    card |= {"protocolVersion": "0.3.0", "url": "https://a.example/old"}
    assert interfaces(card) == [("JSONRPC", "1.0"), ("GRPC", "0.3")]


def test_an_interface_without_a_version_is_of_1_0() -> None:
    card = new()
    del card["supportedInterfaces"][0]["protocolVersion"]
    assert interfaces(card) == [("JSONRPC", "1.0")]


@pytest.mark.parametrize(
    ("members", "place", "version"),
    [
        pytest.param({"protocolVersion": "1.0"}, NEW, "1.0", id="1.x with url only"),
        pytest.param({"protocolVersion": "0.3.0"}, NEW, "0.3", id="says 0.3"),
        pytest.param({"protocolVersion": "0.2.9"}, OLD, "0.2", id="says 0.2"),
        pytest.param(
            {"signatures": [{"protected": "a", "signature": "b"}]}, OLD, "0.3", id="is signed"
        ),
        pytest.param(
            {"securitySchemes": {"m": {"type": "mutualTLS"}}}, OLD, "0.3", id="has mutual TLS"
        ),
        pytest.param({"skills": [{**SKILL, "security": [KEY]}]}, OLD, "0.3", id="secured skill"),
        pytest.param({"preferredTransport": "JSONRPC"}, OLD, "0.2", id="has a transport"),
        pytest.param(
            {"additionalInterfaces": [{"url": "https://a.example/x", "transport": "GRPC"}]},
            OLD,
            "0.2",
            id="has interfaces",
        ),
        pytest.param({"security": [KEY]}, OLD, "0.2", id="has security"),
        pytest.param({"iconUrl": "https://a.example/i.png"}, OLD, "0.2", id="has an icon"),
        pytest.param(
            {"capabilities": {"extensions": [{"uri": "urn:x"}]}}, OLD, "0.2", id="has extensions"
        ),
        pytest.param({"xpr:account": "a"}, OLD, "0.2", id="is of XPR"),
        pytest.param({"authentication": {"schemes": ["Bearer"]}}, NEW, "0.1", id="authentication"),
        pytest.param({}, NEW, "0.3", id="nothing, at the new path"),
        pytest.param({}, OLD, "0.2", id="nothing, complete, at the old path"),
        pytest.param({"defaultInputModes": ["text"]}, OLD, "0.1", id="a mode is a word"),
        pytest.param({"defaultOutputModes": []}, OLD, "0.1", id="has no modes"),
        pytest.param({"provider": {"organization": "O"}}, OLD, "0.1", id="provider without url"),
        pytest.param({"skills": [{"id": "s", "name": "S"}]}, OLD, "0.1", id="skill without tags"),
    ],
)
def test_the_first_evidence_counts(members: dict[str, Any], place: str, version: str) -> None:
    assert interfaces(bare(**members), place)[0] == ("JSONRPC", version)


def test_transports_of_old_cards_are_listed_primary_first() -> None:
    card = bare(
        protocolVersion="0.3.0",
        preferredTransport="HTTP+JSON",
        additionalInterfaces=[
            {"url": "https://a.example/rpc", "transport": "HTTP+JSON"},
            {"url": "a.example:1", "transport": "GRPC"},
        ],
    )
    assert interfaces(card) == [("HTTP+JSON", "0.3"), ("GRPC", "0.3")]


def test_a_sloppy_card_of_0_1_is_read_all_the_same() -> None:
    card = bare(authentication={"schemes": ["Bearer"]})
    del card["capabilities"], card["version"]
    assert interfaces(card) == [("JSONRPC", "0.1")]


def test_the_agents_of_xpr_are_known() -> None:
    assert read_card(json.dumps(bare(**{"xpr:account": "a"})).encode(), OLD).profiles
    assert not read_card(json.dumps(bare()).encode(), OLD).profiles


@pytest.mark.requirement("R-A.2-2", "R-A.2-3")
def test_security_of_0_3_in_a_card_of_1_0_is_understood(caplog: pytest.LogCaptureFixture) -> None:
    card = new(
        security=[{"key": []}],
        securitySchemes={"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    )
    with caplog.at_level(logging.WARNING):
        found = read_card(json.dumps(card).encode(), NEW).card
    assert list(found.security_schemes) == ["key"]
    assert [list(each.schemes) for each in found.security_requirements] == [["key"]]
    assert "in the words of 0.3" in caplog.text


@pytest.mark.parametrize(
    ("data", "finding"),
    [
        (b"<html>", "not well-formed JSON"),
        (b"[]", "expected object"),
        (b'{"name": "A"}', "url is required"),
        (json.dumps(new(securityRequirements=1)).encode(), "securityRequirements"),
    ],
)
def test_what_is_no_card_is_refused(data: bytes, finding: str) -> None:
    with pytest.raises(CardInvalidError, match=finding):
        read_card(data, NEW)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (json.dumps(bare()).encode(), True),
        (json.dumps(new()).encode(), True),
        (b'{"name": "A"}', False),
        (b'{"url": "https://a"}', False),
        (b"[1]", False),
        (b"<html>", False),
    ],
)
def test_what_could_be_meant_as_a_card(data: bytes, *, expected: bool) -> None:
    assert is_card(data) is expected
