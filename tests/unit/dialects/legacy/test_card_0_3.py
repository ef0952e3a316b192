import msgspec
import pytest
from hypothesis import given

from dragoman.dialects.legacy.card_0_3 import card_members, decode_card
from dragoman.dialects.legacy.security_0_3 import wrapped_requirement, wrapped_scheme
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
    OAuth2SecurityScheme,
    OAuthFlows,
    PasswordOAuthFlow,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from tests.support.strategies import json_objects

SMALL: JsonObject = {"name": "n", "url": "https://h/"}
TWO_FLOWS: JsonObject = {"password": {}, "clientCredentials": {"tokenUrl": "t"}}


def read(value: object) -> AgentCard:
    return decode_card(msgspec.json.encode(value))


def interface(url: str, *, version: str = "0.3", tenant: str = "") -> AgentInterface:
    return AgentInterface(
        url=url, protocol_binding="JSONRPC", protocol_version=version, tenant=tenant
    )


# --- writing ------------------------------------------------------------------------------------


def written(card: AgentCard) -> JsonObject:
    members = card_members(card, wrapped_scheme, wrapped_requirement)
    return msgspec.json.decode(msgspec.json.encode(members))


def card_with(*interfaces: AgentInterface, **members: object) -> AgentCard:
    card = AgentCard(
        name="n",
        description="",
        supported_interfaces=interfaces,
        version="7",
        capabilities=AgentCapabilities(),
        default_input_modes=(),
        default_output_modes=("text/plain",),
        skills=(),
    )
    return msgspec.structs.replace(card, **members)


def test_what_a_card_does_not_have_is_not_written() -> None:
    assert written(card_with(interface("u"))) == {
        "protocolVersion": "0.3.0",
        "name": "n",
        "description": "",
        "url": "u",
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": "u", "transport": "JSONRPC"}],
        "version": "7",
        "capabilities": {},
        "defaultInputModes": [],
        "defaultOutputModes": ["text/plain"],
        "skills": [],
    }


@pytest.mark.parametrize("hidden", [interface("v", version="1.0"), interface("v", tenant="t")])
def test_interfaces_that_a_client_of_0_3_cannot_use_are_left_out(hidden: AgentInterface) -> None:
    members = written(card_with(hidden, interface("u")))
    assert members["url"] == "u"
    assert members["additionalInterfaces"] == [{"url": "u", "transport": "JSONRPC"}]
    assert written(card_with(hidden))["url"] == ""


def test_a_card_is_plain_data_with_security_as_the_form_has_it() -> None:
    needed = SecurityRequirement(schemes={"o": StringList(list=("s",))})
    flows = OAuthFlows(password=PasswordOAuthFlow(token_url="https://t"))  # noqa: S106 - no secret
    card = card_with(
        interface("u"),
        provider=AgentProvider(url="p", organization="o"),
        capabilities=AgentCapabilities(
            push_notifications=False, extensions=(AgentExtension(),), extended_agent_card=True
        ),
        security_schemes={
            "o": SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(flows=flows))
        },
        security_requirements=(needed,),
        skills=(
            AgentSkill(id="s", name="S", description="d", tags=(), security_requirements=(needed,)),
        ),
        signatures=(AgentCardSignature(protected="p", signature="s"),),
    )
    members = written(card)
    wire = {"schemes": {"o": {"list": ["s"]}}}
    assert members["provider"] == {"url": "p", "organization": "o"}
    assert members["capabilities"] == {"pushNotifications": False, "extensions": [{"uri": ""}]}
    assert members["supportsAuthenticatedExtendedCard"] is True
    assert members["securitySchemes"] == {
        "o": {
            "oauth2SecurityScheme": {"flows": {"password": {"tokenUrl": "https://t", "scopes": {}}}}
        }
    }
    assert members["security"] == [wire]
    skill = {"id": "s", "name": "S", "description": "d", "tags": [], "security": [wire]}
    assert members["skills"] == [skill]
    assert "signatures" not in members


# --- reading ------------------------------------------------------------------------------------


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
    "scheme",
    [
        {"type": "oauth2", "flows": TWO_FLOWS},
        {"oauth2SecurityScheme": {"flows": TWO_FLOWS}},
    ],
)
def test_whoever_requires_a_scheme_of_several_flows_requires_any_of_them(
    scheme: JsonObject,
) -> None:
    needed: JsonObject = {"schemes": {"o": {}}}
    skill = {"id": "s", "security": [needed]}
    members = {"securitySchemes": {"o": scheme}, "security": [needed], "skills": [skill]}
    card = read({**SMALL, **members})
    assert list(card.security_schemes) == ["o", "o-2"]
    either = tuple(
        SecurityRequirement(schemes={name: StringList()}) for name in card.security_schemes
    )
    assert card.security_requirements == either
    assert card.skills[0].security_requirements == either


@pytest.mark.parametrize(
    ("value", "field", "description"),
    [
        ([], "", "expected object, got array"),
        ({}, "name", "is required"),
        ({**SMALL, "name": ""}, "name", "must not be empty"),
        ({"name": "n"}, "url", "is required"),
        ({**SMALL, "skills": [{"name": "n"}]}, "skills[0].id", "is required"),
        ({**SMALL, "provider": {}}, "provider.organization", "is required"),
        (
            {**SMALL, "capabilities": {"streaming": 1}},
            *("capabilities.streaming", "expected boolean, got integer"),
        ),
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
