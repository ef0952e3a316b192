import json

import pytest
from hypothesis import given
from msgspec.structs import replace

from dragoman.auth.cards.forms import WEAK_FORMS, CardForm, payloads_of
from dragoman.dialects.v1_0.card import encode_card
from dragoman.errors import A2AError
from dragoman.model.cards import AgentCapabilities, AgentCard, AgentExtension
from dragoman.model.security import SecurityRequirement, StringList
from tests.support.auth.signing_cards import EMPTIES, FULL, OLD, document_of
from tests.support.strategies import agent_cards

UNSCOPED = (SecurityRequirement(schemes={"key": StringList()}),)


def forms(document: bytes) -> list[tuple[CardForm, str]]:
    return [(form, content.decode()) for form, content in payloads_of(document)]


def as_1_0(document: bytes) -> str:
    (found,) = [content for form, content in forms(document) if form == "canonical"]
    return found


def whole(document: bytes) -> str:
    return next(content for form, content in forms(document) if form == "whole")


# --- RFC 8785 ----------------------------------------------------------------------------------


@pytest.mark.requirement("R-8.4.1-1", "R-8.4.1-7")
def test_json_is_written_as_rfc_8785_shows_it() -> None:
    # The example of 3.2.2 and its result in 3.2.4.
    document = rb"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    assert whole(document) == (
        '{"literals":[null,true,false],'
        '"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\N{EURO SIGN}$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


@pytest.mark.requirement("R-8.4.1-7")
def test_members_are_sorted_by_utf_16() -> None:
    # The example of 3.2.3.
    document = rb"""{
      "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }"""
    assert [name.split(" ")[0] for name in json.loads(whole(document)).values()] == [
        "Carriage",
        "One",
        "Control",
        "Latin",
        "Euro",
        "Emoji:",
        "Hebrew",
    ]


@pytest.mark.parametrize("digits", [17, 400])
def test_a_form_that_cannot_be_written_is_left_out(digits: int) -> None:
    # More than a double can tell apart, and more than it can hold.
    number = "9" * digits
    assert "whole" not in dict(forms(f'{{"n": {number}}}'.encode()))
    extension = AgentExtension(uri="u", params={"n": int(number)})
    card = replace(FULL, capabilities=AgentCapabilities(extensions=(extension,)))
    assert not {"canonical", "whole"} & set(dict(forms(encode_card(card))))


@pytest.mark.parametrize("document", [b"[]", b"null", b"<html>", b""])
def test_what_is_no_json_object_is_refused(document: bytes) -> None:
    with pytest.raises(A2AError):
        payloads_of(document)


def test_nesting_beyond_all_measure_is_no_crash() -> None:
    document = b'{"x": ' + b"[" * 900 + b"]" * 900 + b"}"
    for form, _ in forms(document):
        assert form in ("whole", "py-0.3")


# --- 1.0 ---------------------------------------------------------------------------------------


@pytest.mark.requirement("R-8.4.1-2", "R-8.4.1-3", "R-8.4.1-4", "R-8.4.1-5", "R-8.4.1-6")
def test_the_example_of_the_specification_comes_out_as_it_shows() -> None:
    # 1.0 reference, 8.4, step 5; with the REQUIRED members that the example leaves out.
    document = document_of(
        {
            "name": "Example Agent",
            "description": "",
            "version": "",
            "capabilities": {"streaming": False, "pushNotifications": False, "extensions": []},
            "supportedInterfaces": [],
            "defaultInputModes": [],
            "defaultOutputModes": [],
            "skills": [],
        }
    )
    assert as_1_0(document) == (
        '{"capabilities":{"pushNotifications":false,"streaming":false},'
        '"defaultInputModes":[],"defaultOutputModes":[],"description":"",'
        '"name":"Example Agent","skills":[],"supportedInterfaces":[],"version":""}'
    )


@pytest.mark.requirement("R-8.4.1-2", "R-8.4.1-3", "R-8.4.1-4", "R-8.4.1-5", "R-8.4.1-6")
def test_presence_decides_what_is_written_at_every_depth() -> None:
    document = document_of(
        {
            **json.loads(encode_card(EMPTIES)),
            # Not set, in the way of ProtoJSON.
            "documentationUrl": None,
            # A message that is set, and empty.
            "securitySchemes": {"m": {"mtlsSecurityScheme": {"description": ""}}},
            "signatures": [{"protected": "a", "signature": "b"}],
        }
    )
    assert json.loads(as_1_0(document)) == {
        # Required.
        "name": "R\N{LATIN SMALL LETTER O WITH CIRCUMFLEX}le",
        "description": "",
        "version": "1",
        "supportedInterfaces": [
            {"url": "https://a.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        # What is free stays as it is, down to null.
        "capabilities": {
            "extensions": [{"uri": "u", "params": {"a": "", "b": [], "c": None, "d": 0}}]
        },
        "defaultInputModes": [],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
        # Optional, and set.
        "iconUrl": "",
        # Not at its default, though what is in it is.
        "securitySchemes": {"m": {"mtlsSecurityScheme": {}}},
        "securityRequirements": [{"schemes": {"key": {}}}],
    }


@pytest.mark.requirement("R-8.4.1-8")
def test_signatures_are_not_signed() -> None:
    unsigned = json.loads(encode_card(FULL))
    signed = {**unsigned, "signatures": [{"protected": "a", "signature": "b"}]}
    assert forms(document_of(signed)) == forms(document_of(unsigned))
    assert forms(document_of({**OLD, "signatures": []})) == forms(document_of(OLD))


def test_a_card_in_which_nothing_is_empty_has_one_form() -> None:
    assert [form for form, _ in forms(encode_card(FULL))] == ["canonical"]


def test_members_that_1_0_does_not_know_are_in_the_whole_alone() -> None:
    document = document_of({**json.loads(encode_card(FULL)), "url": "https://a.example"})
    found = dict(forms(document))
    assert list(found) == ["canonical", "whole"]
    assert "url" not in json.loads(found["canonical"])
    assert "url" in json.loads(found["whole"])


@given(agent_cards)
def test_how_a_card_is_laid_out_does_not_matter(card: AgentCard) -> None:
    written = encode_card(card)
    relaid = json.dumps(dict(reversed(json.loads(written).items())), indent=3).encode()
    assert payloads_of(relaid) == payloads_of(written)


# --- SDKs --------------------------------------------------------------------------------------


def test_the_stripped_form_has_nothing_empty_in_it() -> None:
    found = [content for form, content in forms(encode_card(EMPTIES)) if form == "stripped"]
    # Until 1.2 the Python SDK escaped what is not ASCII, since 1.3 it does not.
    assert [json.loads(content) for content in found] == [
        {
            "name": "R\N{LATIN SMALL LETTER O WITH CIRCUMFLEX}le",
            "version": "1",
            "supportedInterfaces": [
                {
                    "url": "https://a.example/rpc",
                    "protocolBinding": "JSONRPC",
                    "protocolVersion": "1.0",
                }
            ],
            "capabilities": {"extensions": [{"uri": "u", "params": {"d": 0}}]},
            "defaultOutputModes": ["text/plain"],
            "securitySchemes": {
                "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}
            },
        }
    ] * 2
    assert [content.isascii() for content in found] == [False, True]


def test_an_old_card_is_signed_as_a_whole_or_as_the_sdk_of_its_time_did() -> None:
    found = forms(document_of(OLD))
    assert [form for form, _ in found] == ["whole", "py-0.3", "py-0.3"]
    assert json.loads(found[0][1]) == OLD
    common = {
        "name": "R\N{LATIN SMALL LETTER O WITH CIRCUMFLEX}le",
        "description": "Old, and still there.",
        "url": "https://a.example/",
        "version": "1.0.0",
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "securitySchemes": {"key": {"in": "header", "name": "X-Key"}},
        "skills": [{"id": "s", "name": "S", "description": "Does it.", "tags": ["t"]}],
    }
    # Since 0.3.24 false is kept; before, it was dropped.
    assert json.loads(found[1][1]) == {**common, "capabilities": {"streaming": False}}
    assert json.loads(found[2][1]) == common
    assert found[1][1].isascii()


def test_what_is_not_at_the_default_of_the_sdk_is_signed() -> None:
    card = {**OLD, "protocolVersion": "0.3.1", "preferredTransport": "GRPC"}
    signed = json.loads(forms(document_of(card))[1][1])
    assert (signed["protocolVersion"], signed["preferredTransport"]) == ("0.3.1", "GRPC")


def test_a_broken_card_of_1_0_is_not_taken_for_an_old_one() -> None:
    broken = {**json.loads(encode_card(FULL)), "name": None}
    assert [form for form, _ in forms(document_of(broken))] == ["whole"]


@pytest.mark.parametrize("schemes", [[], {"a": 1}, "x"])
def test_an_old_card_with_strange_schemes_has_its_forms(schemes: object) -> None:
    assert dict(forms(document_of({**OLD, "securitySchemes": schemes})))["py-0.3"]


def test_the_weak_forms_leave_out_a_requirement_without_scopes() -> None:
    members = json.loads(encode_card(FULL))
    guarded = json.loads(encode_card(replace(FULL, security_requirements=UNSCOPED)))
    weak = [content for form, content in forms(document_of(guarded)) if form in WEAK_FORMS]
    assert as_1_0(document_of(members)) in weak
    assert as_1_0(document_of(guarded)) not in weak
