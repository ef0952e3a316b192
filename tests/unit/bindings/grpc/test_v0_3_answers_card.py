from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dragoman._proto.messages import message_class
from dragoman.bindings.grpc.v0_3_answers import MessageEncoder, decode_result, encode_result
from dragoman.bindings.grpc.well_known import Proto
from dragoman.dialects.v0_3_proto.decode import Decoder
from dragoman.errors import A2AError, InvalidRequestError
from dragoman.model.cards import (
    AgentCapabilities,
    AgentCard,
    AgentCardSignature,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
)
from dragoman.model.operations import Operation
from dragoman.model.security import (
    APIKeySecurityScheme,
    AuthorizationCodeOAuthFlow,
    DeviceCodeOAuthFlow,
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from tests.support.strategies import agent_cards

GRPC = AgentInterface(url="h:443", protocol_binding="GRPC", protocol_version="0.3")
REST = AgentInterface(url="https://h/a", protocol_binding="HTTP+JSON", protocol_version="0.3")
NEW = AgentInterface(url="https://h/b", protocol_binding="JSONRPC", protocol_version="1.0")

TOKENS = "https://t"
CODE = AuthorizationCodeOAuthFlow(authorization_url="https://a", token_url=TOKENS, scopes={})
NEEDED = SecurityRequirement(schemes={"key": StringList(), "oauth": StringList(list=("read",))})

CARD = AgentCard(
    name="N",
    description="D",
    supported_interfaces=(GRPC, REST),
    provider=AgentProvider(url="https://p", organization="P"),
    version="7",
    documentation_url="https://d",
    capabilities=AgentCapabilities(
        streaming=True,
        extensions=(AgentExtension(uri="urn:x", required=True, params={"a": 1}),),
        extended_agent_card=True,
    ),
    security_schemes={
        "key": SecurityScheme(
            api_key_security_scheme=APIKeySecurityScheme(location="header", name="K")
        ),
        "http": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Basic")),
        "oauth": SecurityScheme(
            oauth2_security_scheme=OAuth2SecurityScheme(flows=OAuthFlows(authorization_code=CODE))
        ),
        "oidc": SecurityScheme(
            open_id_connect_security_scheme=OpenIdConnectSecurityScheme(
                open_id_connect_url="https://o"
            )
        ),
        "tls": SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme()),
    },
    security_requirements=(NEEDED,),
    default_input_modes=("text/plain",),
    default_output_modes=("text/plain", "image/png"),
    skills=(
        AgentSkill(
            id="s",
            name="S",
            description="does",
            tags=("t",),
            examples=("e",),
            security_requirements=(NEEDED,),
        ),
    ),
    icon_url="https://i",
)


def encode_card(card: AgentCard) -> bytes:
    return encode_result(Operation.GET_EXTENDED_AGENT_CARD, card, MessageEncoder(None))


def decode_card(data: bytes) -> AgentCard:
    card = decode_result(Operation.GET_EXTENDED_AGENT_CARD, data, Decoder(None))
    assert isinstance(card, AgentCard)
    return card


def sent(card: AgentCard) -> Proto:
    return message_class("a2a.v1.AgentCard").FromString(encode_card(card))


def test_a_card_reads_back() -> None:
    assert decode_card(encode_card(CARD)) == CARD


def test_the_interfaces_of_0_3_are_offered_the_first_as_the_primary_one() -> None:
    secret = replace(REST, url="https://h/c", tenant="x")
    card = sent(replace(CARD, supported_interfaces=(NEW, GRPC, secret, REST)))
    assert (card.url, card.preferred_transport, card.protocol_version) == ("h:443", "GRPC", "0.3.0")
    assert [(other.url, other.transport) for other in card.additional_interfaces] == [
        ("h:443", "GRPC"),
        ("https://h/a", "HTTP+JSON"),
    ]


def test_a_card_without_interfaces_of_0_3_offers_none() -> None:
    card = sent(replace(CARD, supported_interfaces=(NEW,)))
    assert card.url == ""
    assert list(card.additional_interfaces) == []


def test_signatures_over_another_card_are_not_passed_on() -> None:
    signature = AgentCardSignature(protected="p", signature="s")
    assert list(sent(replace(CARD, signatures=(signature,))).signatures) == []


def test_the_extended_card_is_declared_where_0_3_has_it() -> None:
    assert sent(CARD).supports_authenticated_extended_card
    plain = replace(CARD, capabilities=AgentCapabilities())
    assert not sent(plain).supports_authenticated_extended_card


def with_scheme(scheme: OAuth2SecurityScheme) -> AgentCard:
    return replace(CARD, security_schemes={"o": SecurityScheme(oauth2_security_scheme=scheme)})


def test_a_flow_that_0_3_lacks_becomes_a_bearer_token() -> None:
    flow = DeviceCodeOAuthFlow(device_authorization_url="https://a", token_url=TOKENS, scopes={})
    scheme = OAuth2SecurityScheme(description="d", flows=OAuthFlows(device_code=flow))
    bearer = sent(with_scheme(scheme)).security_schemes["o"].http_auth_security_scheme
    assert (bearer.scheme, bearer.description) == ("Bearer", "d")


def test_the_need_for_pkce_is_lost() -> None:
    flows = OAuthFlows(authorization_code=replace(CODE, pkce_required=True))
    read = decode_card(encode_card(with_scheme(OAuth2SecurityScheme(flows=flows))))
    assert read.security_schemes["o"].oauth2_security_scheme == OAuth2SecurityScheme(
        flows=OAuthFlows(authorization_code=CODE)
    )


@given(agent_cards)
def test_every_card_can_be_written(card: AgentCard) -> None:
    assert sent(card).name == card.name


def test_what_is_no_card_is_refused() -> None:
    with pytest.raises(InvalidRequestError):
        decode_card(b"\xff")


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(A2AError):
        decode_card(data)
