"""What a card cannot carry: the rows of the table that are about cards."""

from collections.abc import Callable
from typing import Final, cast

import msgspec
import pytest
from msgspec.structs import replace

from dragoman.errors import UnsupportedOperationError
from dragoman.model.base import JsonObject
from dragoman.model.cards import (
    AgentCapabilities,
    AgentCard,
    AgentCardSignature,
    AgentExtension,
    AgentInterface,
    AgentSkill,
)
from dragoman.model.operations import GetExtendedAgentCardRequest
from dragoman.model.security import (
    APIKeySecurityScheme,
    AuthorizationCodeOAuthFlow,
    DeviceCodeOAuthFlow,
    HTTPAuthSecurityScheme,
    OAuth2SecurityScheme,
    OAuthFlows,
    PasswordOAuthFlow,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)
from tests.support.dialects.carrying import (
    AS_JSON,
    OLD,
    SINCE_0_2,
    Showing,
    asked,
    card_back,
    read_card,
    write_card,
)
from tests.support.losses import Form

shows = Showing()

SKILL: Final = AgentSkill(id="s", name="S", description="does", tags=("t",))


def interface(form: Form, url: str = "https://agent.example/", tenant: str = "") -> AgentInterface:
    return AgentInterface(
        url=url, protocol_binding="JSONRPC", protocol_version=form[:3], tenant=tenant
    )


def card_of(form: Form, **members: object) -> AgentCard:
    card = AgentCard(
        name="Agent",
        description="An agent",
        supported_interfaces=(interface(form),),
        version="1",
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=("text/plain",),
        default_output_modes=("text/plain",),
        skills=(SKILL,),
    )
    return replace(card, **members)


@pytest.mark.parametrize("form", OLD)
def test_this_card_loses_nothing(form: Form) -> None:
    assert card_back(form, card_of(form)) == card_of(form)


def check_lost(form: Form, **members: object) -> None:
    """Assert that a card reads back as if it had not had these members."""
    assert card_back(form, card_of(form, **members)) == card_of(form)


# --- what is left out ---------------------------------------------------------------------------


@shows("interfaces-of-other-versions", *OLD)
def test_a_card_lists_the_interfaces_of_its_version(form: Form) -> None:
    ours, newer = interface(form), interface("1.0-grpc")
    card = card_of(form, supported_interfaces=(newer, ours))
    assert card_back(form, card).supported_interfaces == (ours,)


@shows("interfaces-with-tenant", *OLD)
def test_a_card_lists_no_interface_of_a_tenant(form: Form) -> None:
    tenants, ours = interface(form, tenant="acme"), interface(form, "https://b.example/")
    card = card_of(form, supported_interfaces=(tenants, ours))
    assert card_back(form, card).supported_interfaces == (ours,)


def test_in_0_1_a_tenant_may_be_in_the_address() -> None:
    tenants = interface("0.1", "https://agent.example/acme/", tenant="acme")
    card = card_back("0.1", card_of("0.1", supported_interfaces=(tenants,)))
    assert card.supported_interfaces == (replace(tenants, tenant=""),)


@shows("further-interfaces", "0.1")
def test_a_card_has_one_address(form: Form) -> None:
    first, second = interface(form), interface(form, "https://b.example/")
    card = card_of(form, supported_interfaces=(first, second))
    assert card_back(form, card).supported_interfaces == (first,)


@shows("card-signatures", *OLD)
def test_signatures_are_left_out(form: Form) -> None:
    check_lost(form, signatures=(AgentCardSignature(protected="p", signature="s"),))


@shows("card-extensions", "0.1")
def test_a_card_names_no_extensions(form: Form) -> None:
    extension = AgentExtension(uri="urn:x", required=True)
    check_lost(form, capabilities=AgentCapabilities(streaming=True, extensions=(extension,)))


@shows("extended-card", "0.1")
def test_there_is_no_extended_card(form: Form) -> None:
    check_lost(form, capabilities=AgentCapabilities(streaming=True, extended_agent_card=True))
    with pytest.raises(UnsupportedOperationError):
        asked(form, GetExtendedAgentCardRequest())


@shows("icon-url", "0.1")
def test_a_card_has_no_icon(form: Form) -> None:
    check_lost(form, icon_url="https://agent.example/icon.png")


@shows("skill-security", "0.1")
def test_a_skill_has_no_requirements(form: Form) -> None:
    needed = SecurityRequirement(schemes={"key": StringList()})
    check_lost(form, skills=(replace(SKILL, security_requirements=(needed,)),))


# --- what a card says of security ---------------------------------------------------------------

TOKENS: Final = "https://auth.example/token"
LOGIN: Final = "https://auth.example/login"
CODE: Final = AuthorizationCodeOAuthFlow(authorization_url=LOGIN, token_url=TOKENS, scopes={})
BASIC: Final = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Basic"))
BEARER: Final = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))


def oauth(**flow: object) -> SecurityScheme:
    flows = cast("Callable[..., OAuthFlows]", OAuthFlows)(**flow)
    return SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(flows=flows))


def needing(form: Form, *requirements: str, **schemes: SecurityScheme) -> AgentCard:
    """Return a card with schemes; a requirement names those that apply together."""
    needed = tuple(
        SecurityRequirement(schemes={name: StringList() for name in names.split("+")})
        for names in requirements
    )
    return card_of(form, security_schemes=schemes, security_requirements=needed)


@shows("security-details", "0.1")
def test_security_schemes_go_by_fixed_names(form: Form) -> None:
    key = APIKeySecurityScheme(location="header", name="X-Key", description="ask us")
    card = needing(form, "k", k=SecurityScheme(api_key_security_scheme=key), unused=BASIC)
    plain = SecurityScheme(api_key_security_scheme=replace(key, description=""))
    assert card_back(form, card) == needing(form, "ApiKey", ApiKey=plain)


@shows("security-combinations", "0.1")
def test_any_one_scheme_will_do(form: Form) -> None:
    card = needing(form, "Basic+Bearer", Basic=BASIC, Bearer=BEARER)
    assert card_back(form, card) == needing(form, "Basic", "Bearer", Basic=BASIC, Bearer=BEARER)


@shows("oauth-flow-kind", "0.1")
def test_an_oauth_flow_is_known_by_its_addresses(form: Form) -> None:
    device = DeviceCodeOAuthFlow(device_authorization_url=LOGIN, token_url=TOKENS, scopes={})
    read = card_back(form, needing(form, "OAuth2", OAuth2=oauth(device_code=device)))
    scheme = read.security_schemes["OAuth2"].oauth2_security_scheme
    assert scheme is not None
    assert scheme.flows.client_credentials is not None
    assert scheme.flows.client_credentials.token_url == TOKENS
    nothing = oauth(password=PasswordOAuthFlow())
    assert card_back(form, needing(form, "OAuth2", OAuth2=nothing)) == needing(
        form, "OAuth2", OAuth2=BEARER
    )


@shows("oauth-device-code", *SINCE_0_2)
def test_a_bearer_token_stands_in_for_a_device_code(form: Form) -> None:
    device = DeviceCodeOAuthFlow(device_authorization_url=LOGIN, token_url=TOKENS, scopes={})
    card = needing(form, "o", o=oauth(device_code=device))
    assert card_back(form, card) == needing(form, "o", o=BEARER)


@shows("oauth-pkce-required", *OLD)
def test_the_need_for_pkce_is_not_said(form: Form) -> None:
    strict = oauth(authorization_code=replace(CODE, pkce_required=True))
    card = card_back(form, needing(form, "OAuth2", OAuth2=strict))
    assert card == needing(form, "OAuth2", OAuth2=oauth(authorization_code=CODE))


@shows("several-oauth-flows", "0.3", "0.3-proto")
def test_several_flows_become_several_schemes(form: Form) -> None:
    members = msgspec.json.decode(write_card(form, card_of(form)))
    password: JsonObject = {"tokenUrl": TOKENS, "scopes": {}}
    flows = {"password": password, "authorizationCode": CODE}
    members["securitySchemes"] = {"o": {"type": "oauth2", "flows": flows}}
    members["security"] = [{"o": []}]
    schemes = {
        "o": oauth(authorization_code=CODE),
        "o-2": oauth(password=PasswordOAuthFlow(token_url=TOKENS)),
    }
    read = read_card(form, msgspec.json.encode(members))
    assert read == needing(form, "o", "o-2", **schemes)


@shows("card-security-for-proto-readers", "0.3-proto")
def test_requirements_are_not_in_proto_json(form: Form) -> None:
    written = msgspec.json.decode(write_card(form, needing(form, "b", b=BASIC)))
    assert written["security"] == [{"b": []}]  # ProtoJSON: [{"schemes": {"b": {}}}]


# --- what a card leaves out, and what it has beside ---------------------------------------------


@pytest.mark.parametrize("form", OLD)
def test_the_words_of_a_card_become_media_types(form: Form) -> None:
    # mode-words: the other half of what a send shows.
    skill = replace(SKILL, input_modes=("json",))
    read = card_back(form, card_of(form, default_input_modes=("text",), skills=(skill,)))
    assert read.default_input_modes == ("text/plain",)
    assert read.skills[0].input_modes == ("application/json",)


@shows("empty-skill-tags", "0.3-grpc")
def test_a_skill_without_tags_has_its_id(form: Form) -> None:
    (read,) = card_back(form, card_of(form, skills=(replace(SKILL, tags=()),))).skills
    assert read == replace(SKILL, tags=("s",))


@shows("empty-card-modes", "0.3-grpc")
def test_a_card_without_modes_is_for_text(form: Form) -> None:
    check_lost(form, default_input_modes=(), default_output_modes=())


@shows("absent-or-false", "0.3-grpc")
def test_false_is_absent(form: Form) -> None:
    capabilities = AgentCapabilities(
        streaming=True, push_notifications=False, extended_agent_card=False
    )
    check_lost(form, capabilities=capabilities, documentation_url="")


@shows("state-transition-history", *AS_JSON)
def test_a_capability_without_meaning_is_dropped(form: Form) -> None:
    members = msgspec.json.decode(write_card(form, card_of(form)))
    members["capabilities"]["stateTransitionHistory"] = True
    assert read_card(form, msgspec.json.encode(members)) == card_of(form)


@shows("unknown-members", *AS_JSON)
def test_unknown_members_are_dropped(form: Form) -> None:
    members = msgspec.json.decode(write_card(form, card_of(form)))
    members["xpr:account"] = "someone"
    members["securitySchemes"] = {"q": {"type": "quantum"}}
    assert read_card(form, msgspec.json.encode(members)) == card_of(form)


@shows("unknown-members", "0.3-grpc")
def test_unknown_fields_are_dropped(form: Form) -> None:
    field_99 = b"\x98\x06\x01"
    written = write_card(form, card_of(form)) + field_99
    assert read_card(form, written) == card_of(form)
