import msgspec
from hypothesis import given

from dragoman.dialects.v0_3.card import decode_card, encode_card
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
from tests.support.strategies import agent_cards

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


def test_a_card_offers_the_interfaces_of_0_3() -> None:
    assert msgspec.json.decode(encode_card(CARD)) == WIRE


def test_a_card_without_such_an_interface_names_none() -> None:
    card = msgspec.structs.replace(CARD, supported_interfaces=())
    written = msgspec.json.decode(encode_card(card))
    assert (written["url"], written["additionalInterfaces"]) == ("", [])


def test_a_card_reads_back() -> None:
    interfaces = (interface("https://h/rpc"), interface("https://h/rest", binding="HTTP+JSON"))
    assert decode_card(encode_card(CARD)) == msgspec.structs.replace(
        CARD, supported_interfaces=interfaces, signatures=()
    )


@given(agent_cards)
def test_any_card_can_be_written(card: AgentCard) -> None:
    assert msgspec.json.decode(encode_card(card))["name"] == card.name
