from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.legacy.tolerant import media_type
from dragoman.dialects.v0_1.card import decode_card, encode_card
from dragoman.errors import FieldViolation, InvalidParamsError, JSONParseError
from dragoman.model.cards import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentProvider,
    AgentSkill,
)
from dragoman.model.security import (
    HTTPAuthSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from tests.support.strategies import agent_cards, json_values

OURS = AgentInterface(
    url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="0.1"
)
CARD = AgentCard(
    name="Haiku",
    description="Writes haiku",
    supported_interfaces=(OURS,),
    provider=AgentProvider(organization="Acme", url="https://acme.example"),
    version="2.1",
    documentation_url="https://docs.example",
    capabilities=AgentCapabilities(streaming=True, push_notifications=False),
    security_schemes={
        "Bearer": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
    },
    security_requirements=(SecurityRequirement(schemes={"Bearer": StringList()}),),
    default_input_modes=("text/plain",),
    default_output_modes=("text/plain", "image/png"),
    skills=(
        AgentSkill(
            id="write",
            name="Write",
            description="Writes one",
            tags=("poetry",),
            examples=("about rain",),
            input_modes=("text/plain",),
            output_modes=("text/plain",),
        ),
    ),
)
WIRE = {
    "name": "Haiku",
    "description": "Writes haiku",
    "url": "https://agent.example/",
    "provider": {"organization": "Acme", "url": "https://acme.example"},
    "version": "2.1",
    "documentationUrl": "https://docs.example",
    "capabilities": {"streaming": True, "pushNotifications": False},
    "authentication": {"schemes": ["Bearer"]},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain", "image/png"],
    "skills": [
        {
            "id": "write",
            "name": "Write",
            "description": "Writes one",
            "tags": ["poetry"],
            "examples": ["about rain"],
            "inputModes": ["text/plain"],
            "outputModes": ["text/plain"],
        }
    ],
}
LEAST = '{"name":"a","url":"u","version":"1","capabilities":{},"skills":[%s]}'


def address(*interfaces: AgentInterface) -> str:
    wire = encode_card(msgspec.structs.replace(CARD, supported_interfaces=interfaces))
    return msgspec.json.decode(wire)["url"]


def test_a_card_is_written_and_reads_back() -> None:
    wire = encode_card(CARD)
    assert msgspec.json.decode(wire) == WIRE
    assert decode_card(wire) == CARD


def test_the_first_interface_of_this_version_is_the_address() -> None:
    other = msgspec.structs.replace(OURS, url="https://other.example", protocol_version="0.1.0")
    newer = msgspec.structs.replace(OURS, protocol_version="1.0")
    grpc = msgspec.structs.replace(OURS, protocol_binding="GRPC")
    assert address(newer, grpc, other, OURS) == "https://other.example"
    assert address(newer, grpc) == ""
    assert address() == ""


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://agent.example/acme/", "https://agent.example/acme/"),
        ("https://agent.example/", ""),
    ],
)
def test_a_tenant_must_be_in_the_address(url: str, shown: str) -> None:
    assert address(msgspec.structs.replace(OURS, url=url, tenant="acme")) == shown


def test_what_0_1_leaves_out_has_a_default() -> None:
    card = decode_card((LEAST % '{"id":"s","name":"S"}').encode())
    assert card == AgentCard(
        name="a",
        description="",
        supported_interfaces=(
            AgentInterface(url="u", protocol_binding="JSONRPC", protocol_version="0.1"),
        ),
        version="1",
        capabilities=AgentCapabilities(),
        default_input_modes=("text/plain",),
        default_output_modes=("text/plain",),
        skills=(AgentSkill(id="s", name="S", description="", tags=("s",)),),
    )


def test_nulls_and_unknown_members_are_nothing() -> None:
    wire = (
        b'{"name":"a","description":null,"url":"u","provider":null,"version":"1",'
        b'"documentationUrl":null,"capabilities":{"streaming":null,"pushNotifications":null,'
        b'"stateTransitionHistory":true},"authentication":null,"defaultInputModes":null,'
        b'"defaultOutputModes":null,"skills":[],"xpr:account":"x"}'
    )
    assert decode_card(wire) == decode_card((LEAST % "").encode())


def test_modes_are_media_types() -> None:
    card = decode_card(
        b'{"name":"a","url":"u","version":"1","capabilities":{},"defaultInputModes":["text"],'
        b'"defaultOutputModes":["file","data"],"skills":[{"id":"s","name":"S",'
        b'"inputModes":["text"],"outputModes":["json","image/png"]}]}'
    )
    assert card.default_input_modes == ("text/plain",)
    assert card.default_output_modes == ("application/octet-stream", "application/json")
    assert card.skills[0].input_modes == ("text/plain",)
    assert card.skills[0].output_modes == ("application/json", "image/png")


def test_a_provider_may_have_no_address() -> None:
    wire = (LEAST % "").replace('"url"', '"provider":{"organization":"Acme"},"url"')
    provider = decode_card(wire.encode()).provider
    assert provider is not None
    assert (provider.organization, provider.url) == ("Acme", "")


@pytest.mark.parametrize("name", ["name", "url", "version", "capabilities", "skills"])
def test_a_card_without_a_required_member_is_refused(name: str) -> None:
    card = {member: value for member, value in WIRE.items() if member != name}
    with pytest.raises(InvalidParamsError) as caught:
        decode_card(msgspec.json.encode(card))
    assert caught.value.violations == (FieldViolation(name, "is required"),)


# What a card of 0.1 cannot say, by the names of the losses.
def without_losses(card: AgentCard) -> AgentCard:
    return msgspec.structs.replace(
        card,
        supported_interfaces=(OURS,),  # other-interfaces
        capabilities=msgspec.structs.replace(
            card.capabilities,
            extensions=(),  # card-extensions
            extended_agent_card=None,  # extended-card
        ),
        security_schemes={},  # security-details
        security_requirements=(),
        skills=tuple(
            msgspec.structs.replace(
                skill,
                security_requirements=(),  # skill-security
                input_modes=tuple(map(media_type, skill.input_modes)),
                output_modes=tuple(map(media_type, skill.output_modes)),
            )
            for skill in card.skills
        ),
        default_input_modes=tuple(map(media_type, card.default_input_modes)),
        default_output_modes=tuple(map(media_type, card.default_output_modes)),
        signatures=(),  # card-signatures
        icon_url=None,  # icon-url
    )


@given(agent_cards)
def test_a_card_reads_back_but_for_the_losses(card: AgentCard) -> None:
    offers = (*card.supported_interfaces, OURS)
    wire = encode_card(msgspec.structs.replace(card, supported_interfaces=offers))
    read = decode_card(wire)
    assert msgspec.structs.replace(
        read, security_schemes={}, security_requirements=()
    ) == without_losses(card)


_names = st.sampled_from((*WIRE, "schemes", "credentials", "id", "streaming", "organization"))
_objects = st.recursive(
    json_values, lambda inner: st.dictionaries(_names, inner, max_size=4), max_leaves=6
)


@given(st.dictionaries(_names, _objects, max_size=2))
def test_any_json_raises_a2a_errors_only(members: dict[str, object]) -> None:
    with suppress(JSONParseError, InvalidParamsError):
        decode_card(msgspec.json.encode({**WIRE, **members}))


def test_what_is_not_json_is_a_parse_error() -> None:
    with pytest.raises(JSONParseError):
        decode_card(b"<html>")
