import json

import pytest

from dragoman.cli.session.card_check import advice_on, findings_in
from dragoman.dialects.v1_0.card import decode_card, encode_card
from tests.cli.fake import card
from tests.unit.cli.views.test_card import CARD


def test_a_valid_card_has_no_findings() -> None:
    assert findings_in(CARD) == []
    assert findings_in(encode_card(decode_card(CARD))) == []
    assert findings_in(json.dumps(card("https://a.example", novelty=1)).encode()) == []


def test_every_finding_is_told() -> None:
    broken = card("https://a.example", version=True, skills=[{"id": "", "tags": "x"}])
    del broken["name"]
    assert findings_in(json.dumps(broken).encode()) == [
        "/name: is missing",
        "/version: must be a string",
        "/skills/0/name: is missing",
        "/skills/0/description: is missing",
        "/skills/0/id: must not be empty",
        "/skills/0/tags: must be an array",
    ]


@pytest.mark.parametrize(
    ("content", "finding"),
    [
        (b"{", "/: is not JSON"),
        (b"\xff", "/: is not JSON"),
        (b"[]", "/: must be an object"),
        (b"{}", "/name: is missing"),
    ],
)
def test_what_is_no_card_is_told(content: bytes, finding: str) -> None:
    assert findings_in(content)[0] == finding


def test_members_of_maps_are_looked_at() -> None:
    schemes = {"a/b~c": {"apiKeySecurityScheme": {"location": "header"}}}
    broken = card("https://a.example", securitySchemes=schemes)
    assert findings_in(json.dumps(broken).encode()) == [
        "/securitySchemes/a~1b~0c/apiKeySecurityScheme/name: is missing"
    ]


def test_free_members_may_be_anything() -> None:
    extensions = [{"uri": "https://e", "params": {"any": [1, None]}}]
    found = card("https://a.example", capabilities={"extensions": extensions})
    assert findings_in(json.dumps(found).encode()) == []


def test_an_older_card_has_its_own_schema() -> None:
    old = {"name": "Old", "url": "https://a.example", "skills": [{"id": "s"}]}
    found = findings_in(json.dumps(old).encode())
    assert "/description: is missing" in found
    assert "/skills/0/tags: is missing" in found
    assert not [each for each in found if "supportedInterfaces" in each]


def test_advice_is_given_on_what_is_empty() -> None:
    bare = card("https://a.example", skills=[], defaultInputModes=[], defaultOutputModes=[])
    found = decode_card(json.dumps(bare).encode())
    assert list(advice_on(found)) == [
        "skills is empty",
        "defaultInputModes is empty",
        "defaultOutputModes is empty",
    ]


@pytest.mark.parametrize(
    ("url", "is_advised"),
    [
        ("https://a.example", False),
        ("http://127.0.0.1:1", False),
        ("http://a.example", True),
        ("http://", True),
        ("a.example:50051", False),
    ],
)
def test_advice_is_given_on_addresses(url: str, *, is_advised: bool) -> None:
    found = card("")
    found["supportedInterfaces"][0]["url"] = url
    advice = list(advice_on(decode_card(json.dumps(found).encode())))
    assert bool(advice) is is_advised
