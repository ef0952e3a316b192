"""The extended card."""

import json
from contextlib import suppress

import msgspec
from hypothesis import given

from dragoman.dialects.v0_3_proto.card import decode_card, encode_card
from dragoman.errors import A2AError, InvalidParamsError
from dragoman.model.base import JsonObject
from dragoman.model.cards import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
)
from dragoman.model.security import (
    APIKeySecurityScheme,
    AuthorizationCodeOAuthFlow,
    HTTPAuthSecurityScheme,
    ImplicitOAuthFlow,
    MutualTlsSecurityScheme,
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from tests.support.strategies import agent_cards, json_values

REST = AgentInterface(url="https://a/", protocol_binding="HTTP+JSON", protocol_version="0.3")
RPC = AgentInterface(url="https://a/rpc", protocol_binding="JSONRPC", protocol_version="0.3")
FLOW = AuthorizationCodeOAuthFlow(authorization_url="a", token_url="t", scopes={"s": "d"})  # noqa: S106 - no secret
SCHEMES = {
    "key": SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location="header", name="K")
    ),
    "http": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer")),
    "oauth": SecurityScheme(
        oauth2_security_scheme=OAuth2SecurityScheme(flows=OAuthFlows(authorization_code=FLOW))
    ),
    "oidc": SecurityScheme(
        open_id_connect_security_scheme=OpenIdConnectSecurityScheme(open_id_connect_url="u")
    ),
    "mtls": SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme(description="d")),
}
REQUIREMENT = SecurityRequirement(schemes={"oauth": StringList(list=("s",)), "key": StringList()})
CARD = AgentCard(
    name="agent",
    description="",
    supported_interfaces=(REST, RPC),
    provider=AgentProvider(url="https://p", organization="p"),
    version="7",
    documentation_url="https://d",
    capabilities=AgentCapabilities(
        streaming=True,
        push_notifications=False,
        extensions=(AgentExtension(uri="urn:e", required=True, params={"k": 1}),),
        extended_agent_card=True,
    ),
    security_schemes=SCHEMES,
    security_requirements=(REQUIREMENT,),
    default_input_modes=("text/plain",),
    default_output_modes=("text/plain",),
    skills=(
        AgentSkill(
            id="s", name="skill", description="d", tags=("t",), security_requirements=(REQUIREMENT,)
        ),
    ),
    icon_url="https://i",
)
MINIMAL = {"name": "agent", "url": "https://a/"}


def test_a_card_is_written_as_the_schema_has_it() -> None:
    card = msgspec.structs.replace(CARD, security_schemes={}, skills=())
    assert json.loads(encode_card(card)) == {
        "protocolVersion": "0.3.0",
        "name": "agent",
        "description": "",
        "url": "https://a/",
        "preferredTransport": "HTTP+JSON",
        "additionalInterfaces": [
            {"url": "https://a/", "transport": "HTTP+JSON"},
            {"url": "https://a/rpc", "transport": "JSONRPC"},
        ],
        "provider": {"url": "https://p", "organization": "p"},
        "version": "7",
        "documentationUrl": "https://d",
        "capabilities": {
            "streaming": True,
            "pushNotifications": False,
            "extensions": [{"uri": "urn:e", "required": True, "params": {"k": 1}}],
        },
        "security": [{"oauth": ["s"], "key": []}],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
        "supportsAuthenticatedExtendedCard": True,
        "iconUrl": "https://i",
    }


def test_a_scheme_is_written_for_readers_of_both_shapes() -> None:
    schemes = json.loads(encode_card(CARD))["securitySchemes"]
    flows = {"authorizationCode": {"authorizationUrl": "a", "tokenUrl": "t", "scopes": {"s": "d"}}}
    assert schemes == {
        "key": {
            "type": "apiKey",
            "in": "header",
            "name": "K",
            "apiKeySecurityScheme": {"location": "header", "name": "K"},
        },
        "http": {
            "type": "http",
            "scheme": "Bearer",
            "httpAuthSecurityScheme": {"scheme": "Bearer"},
        },
        "oauth": {"type": "oauth2", "flows": flows, "oauth2SecurityScheme": {"flows": flows}},
        "oidc": {
            "type": "openIdConnect",
            "openIdConnectUrl": "u",
            "openIdConnectSecurityScheme": {"openIdConnectUrl": "u"},
        },
        "mtls": {
            "type": "mutualTLS",
            "description": "d",
            "mtlsSecurityScheme": {"description": "d"},
        },
    }


def test_scopes_are_written_even_if_there_are_none() -> None:
    flows = OAuthFlows(implicit=ImplicitOAuthFlow(authorization_url="a"))
    scheme = SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(flows=flows))
    card = msgspec.structs.replace(CARD, security_schemes={"o": scheme})
    written = json.loads(encode_card(card))["securitySchemes"]["o"]
    assert written["flows"] == {"implicit": {"authorizationUrl": "a", "scopes": {}}}


def test_a_card_reads_back() -> None:
    assert decode_card(encode_card(CARD)) == CARD


def test_a_card_is_read_from_proto_json() -> None:
    flow = {"authorizationUrl": "a", "tokenUrl": "t"}
    data: JsonObject = {
        **MINIMAL,
        "securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": {"authorizationCode": flow}}}},
        "security": [{"schemes": {"o": {"list": ["s"]}, "p": {}}}],
        "skills": [{"id": "s", "security": [{"schemes": {"o": {}}}]}],
    }
    card = decode_card(json.dumps(data).encode())
    (requirement,) = card.security_requirements
    assert requirement.schemes == {"o": StringList(list=("s",)), "p": StringList()}
    scheme = card.security_schemes["o"].oauth2_security_scheme
    assert scheme is not None
    assert scheme.flows.authorization_code is not None
    assert scheme.flows.authorization_code.scopes == {}
    assert card.skills == (
        AgentSkill(
            id="s",
            name="s",
            description="s",
            tags=("s",),
            security_requirements=(SecurityRequirement(schemes={"o": StringList()}),),
        ),
    )


@given(agent_cards)
def test_every_card_can_be_written(card: AgentCard) -> None:
    written = json.loads(encode_card(card))
    assert written["name"] == card.name
    with suppress(InvalidParamsError):  # a card that offers nothing of 0.3 has no url
        assert decode_card(encode_card(card)).name == card.name


@given(json_values)
def test_nothing_but_our_errors_comes_of_any_json(value: object) -> None:
    for data in (value, {**MINIMAL, "securitySchemes": value}, {**MINIMAL, "skills": [value]}):
        with suppress(A2AError):
            decode_card(msgspec.json.encode(data))
