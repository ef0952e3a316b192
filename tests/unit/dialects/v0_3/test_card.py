import msgspec
import pytest
from hypothesis import given

from dragoman.dialects.v0_3.card import decode_card, encode_card
from dragoman.errors import A2AError, FieldViolation, InvalidParamsError, JSONParseError
from dragoman.model.base import JsonObject
from dragoman.model.cards import (
    AgentCapabilities,
    AgentCard,
    AgentCardSignature,
    AgentExtension,
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
from tests.strategies import agent_cards, json_objects

BEARER = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
REQUIREMENT = SecurityRequirement(schemes={"b": StringList(list=("s",))})


def interface(
    url: str, *, version: str = "0.3", binding: str = "JSONRPC", tenant: str = ""
) -> AgentInterface:
    return AgentInterface(
        url=url, protocol_binding=binding, protocol_version=version, tenant=tenant
    )


CARD = AgentCard(
    name="n",
    description="d",
    supported_interfaces=(
        interface("https://h/", version="1.0"),
        interface("https://h/rpc"),
        interface("https://h/rest", binding="HTTP+JSON"),
        interface("https://h/t", tenant="t"),
        interface("https://h/old", version="0.1"),
    ),
    provider=AgentProvider(url="p", organization="o"),
    version="7",
    documentation_url="doc",
    capabilities=AgentCapabilities(
        streaming=True,
        push_notifications=False,
        extended_agent_card=True,
        extensions=(AgentExtension(uri="u", required=True, params={"k": None}),),
    ),
    security_schemes={"b": BEARER},
    security_requirements=(REQUIREMENT,),
    default_input_modes=("text/plain",),
    default_output_modes=("text/plain", "image/png"),
    skills=(
        AgentSkill(
            id="s",
            name="S",
            description="does",
            tags=("x",),
            examples=("e",),
            security_requirements=(REQUIREMENT,),
        ),
    ),
    signatures=(AgentCardSignature(protected="p", signature="s"),),
    icon_url="icon",
)
WIRE: JsonObject = {
    "protocolVersion": "0.3.0",
    "name": "n",
    "description": "d",
    "url": "https://h/rpc",
    "preferredTransport": "JSONRPC",
    "additionalInterfaces": [
        {"url": "https://h/rpc", "transport": "JSONRPC"},
        {"url": "https://h/rest", "transport": "HTTP+JSON"},
    ],
    "version": "7",
    "capabilities": {
        "stateTransitionHistory": False,
        "streaming": True,
        "pushNotifications": False,
        "extensions": [{"uri": "u", "required": True, "params": {"k": None}}],
    },
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain", "image/png"],
    "skills": [
        {
            "id": "s",
            "name": "S",
            "description": "does",
            "tags": ["x"],
            "examples": ["e"],
            "security": [{"b": ["s"]}],
        }
    ],
    "supportsAuthenticatedExtendedCard": True,
    "provider": {"url": "p", "organization": "o"},
    "documentationUrl": "doc",
    "iconUrl": "icon",
    "securitySchemes": {"b": {"type": "http", "scheme": "Bearer"}},
    "security": [{"b": ["s"]}],
}
SMALL: JsonObject = {"name": "n", "url": "https://h/"}


def read(value: object) -> AgentCard:
    return decode_card(msgspec.json.encode(value))


def test_a_card_offers_the_interfaces_of_0_3() -> None:
    assert msgspec.json.decode(encode_card(CARD)) == WIRE


def test_a_card_without_such_an_interface_names_none() -> None:
    card = msgspec.structs.replace(CARD, supported_interfaces=())
    written = msgspec.json.decode(encode_card(card))
    assert (written["url"], written["additionalInterfaces"]) == ("", [])


def test_a_card_reads_back() -> None:
    interfaces = (interface("https://h/rpc"), interface("https://h/rest", binding="HTTP+JSON"))
    assert read(WIRE) == msgspec.structs.replace(
        CARD, supported_interfaces=interfaces, signatures=()
    )


def test_signatures_are_read() -> None:
    signature = {"protected": "p", "signature": "s", "header": {"kid": "k"}}
    assert read({**SMALL, "signatures": [signature]}).signatures == (
        AgentCardSignature(protected="p", signature="s", header={"kid": "k"}),
    )


def test_a_card_of_an_early_0_2_is_read() -> None:
    card = read(
        {
            **SMALL,
            "provider": {"organization": "o"},
            "skills": [{"id": "s"}, {"id": "t", "tags": [], "name": "T", "inputModes": ["text"]}],
            "defaultOutputModes": ["text", "file"],
            "capabilities": None,
            "xpr:account": "a",
        }
    )
    assert card == AgentCard(
        name="n",
        description="",
        supported_interfaces=(interface("https://h/", version="0.2"),),
        provider=AgentProvider(url="https://h/", organization="o"),
        version="",
        capabilities=AgentCapabilities(),
        default_input_modes=("text/plain",),
        default_output_modes=("text/plain", "application/octet-stream"),
        skills=(
            AgentSkill(id="s", name="s", description="s", tags=("s",)),
            AgentSkill(id="t", name="T", description="T", tags=(), input_modes=("text/plain",)),
        ),
    )


@pytest.mark.parametrize(
    ("version", "shown"), [("0.2.9", "0.2"), ("0.3.0", "0.3"), ("0.3", "0.3"), (None, "0.2")]
)
def test_the_version_of_a_card_is_that_of_its_interfaces(version: object, shown: str) -> None:
    (found,) = read({**SMALL, "protocolVersion": version}).supported_interfaces
    assert found.protocol_version == shown


def test_the_primary_interface_is_not_repeated() -> None:
    card = read(
        {
            **SMALL,
            "preferredTransport": "GRPC",
            "additionalInterfaces": [
                {"url": "https://h/", "transport": "GRPC"},
                {"url": "https://h/", "transport": "JSONRPC"},
            ],
        }
    )
    assert [found.protocol_binding for found in card.supported_interfaces] == ["GRPC", "JSONRPC"]


def test_a_draft_name_of_the_extended_card_is_read() -> None:
    assert read({**SMALL, "supportsExtendedAgentCard": True}).capabilities.extended_agent_card


@pytest.mark.parametrize(
    ("value", "field", "description"),
    [
        ([], "", "expected object, got array"),
        ({}, "name", "is required"),
        ({"name": "n"}, "url", "is required"),
        ({**SMALL, "skills": [{"name": "n"}]}, "skills[0].id", "is required"),
        ({**SMALL, "provider": {}}, "provider.organization", "is required"),
        (
            {**SMALL, "additionalInterfaces": [{"url": "u"}]},
            *("additionalInterfaces[0].transport", "is required"),
        ),
    ],
)
def test_what_is_wrong_is_named(value: object, field: str, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        read(value)
    assert caught.value.violations == (FieldViolation(field, description),)


def test_what_is_not_json_is_a_parse_error() -> None:
    with pytest.raises(JSONParseError):
        decode_card(b"{")


@given(json_objects, json_objects)
def test_whatever_json_comes_nothing_else_is_raised(members: JsonObject, inner: JsonObject) -> None:
    for value in (members, {**SMALL, **members}, {**SMALL, "securitySchemes": inner}):
        try:
            read(value)
        except A2AError:
            continue


@given(agent_cards)
def test_any_card_can_be_written(card: AgentCard) -> None:
    assert msgspec.json.decode(encode_card(card))["name"] == card.name
