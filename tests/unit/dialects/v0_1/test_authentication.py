import msgspec
import pytest

from dragoman.dialects.v0_1.authentication import (
    AgentAuthentication,
    decode_authentication,
    encode_authentication,
)
from dragoman.model.cards import AgentCapabilities, AgentCard
from dragoman.model.security import (
    APIKeySecurityScheme,
    AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow,
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


def http(scheme: str) -> SecurityScheme:
    return SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme=scheme))


def api_key(location: str, name: str) -> SecurityScheme:
    return SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location=location, name=name)
    )


def oauth2(flows: OAuthFlows) -> SecurityScheme:
    return SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(flows=flows))


def openid(url: str) -> SecurityScheme:
    scheme = OpenIdConnectSecurityScheme(open_id_connect_url=url)
    return SecurityScheme(open_id_connect_security_scheme=scheme)


TOKENS = "https://t.example"
MUTUAL_TLS = SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())
CODE = OAuthFlows(
    authorization_code=AuthorizationCodeOAuthFlow(
        authorization_url="https://a.example", token_url=TOKENS, scopes={"r": "read"}
    )
)
CLIENT = OAuthFlows(client_credentials=ClientCredentialsOAuthFlow(token_url=TOKENS, scopes={}))
DEVICE = OAuthFlows(
    device_code=DeviceCodeOAuthFlow(
        device_authorization_url="https://d.example", token_url=TOKENS, scopes={}
    )
)


def card(schemes: dict[str, SecurityScheme], *requirements: tuple[str, ...]) -> AgentCard:
    return AgentCard(
        name="a",
        description="",
        supported_interfaces=(),
        version="1",
        capabilities=AgentCapabilities(),
        security_schemes=schemes,
        security_requirements=tuple(
            SecurityRequirement(schemes={name: StringList() for name in names})
            for names in requirements
        ),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("Bearer", http("Bearer")),
        ("Digest", http("Digest")),
        ("ApiKey", api_key("query", "k")),
        ("OAuth2", oauth2(CODE)),
        ("OAuth2", oauth2(CLIENT)),
        ("OpenIdConnect", openid("https://o.example")),
        ("mTLS", MUTUAL_TLS),
    ],
)
def test_a_scheme_is_named_and_described_and_reads_back(name: str, scheme: SecurityScheme) -> None:
    found = encode_authentication(card({"x": scheme}, ("x",)))
    assert found is not None
    assert found.schemes == (name,)
    assert decode_authentication(found) == (
        {name: scheme},
        (SecurityRequirement(schemes={name: StringList()}),),
    )


def test_details_are_json_text() -> None:
    found = encode_authentication(card({"x": oauth2(CODE)}, ("x",)))
    assert found is not None
    assert msgspec.json.decode(found.credentials or "") == {
        "authorizationUrl": "https://a.example",
        "tokenUrl": "https://t.example",
        "scopes": {"r": "read"},
    }


def test_a_device_code_flow_is_reduced_to_its_token_url() -> None:
    found = encode_authentication(card({"x": oauth2(DEVICE)}, ("x",)))
    schemes, _ = decode_authentication(found)
    assert schemes == {"OAuth2": oauth2(CLIENT)}


def test_any_one_of_the_schemes_will_do() -> None:
    schemes = {"k": api_key("header", "K"), "l": api_key("header", "L"), "b": http("Basic")}
    found = encode_authentication(card(schemes, ("k", "b"), ("l",), ("b",), ("missing",)))
    # Of two keys the first is described.
    assert found == AgentAuthentication(
        schemes=("ApiKey", "Basic"), credentials='{"in":"header","name":"K"}'
    )
    _, requirements = decode_authentication(found)
    assert [tuple(requirement.schemes) for requirement in requirements] == [("ApiKey",), ("Basic",)]


def test_nothing_required_is_nothing_said() -> None:
    assert encode_authentication(card({"b": http("Basic")})) is None
    assert encode_authentication(card({"b": http("Basic")}, ())) is None
    assert decode_authentication(None) == ({}, ())


@pytest.mark.parametrize(
    ("name", "credentials", "scheme"),
    [
        ("bearer", None, http("bearer")),
        ("jwt", None, http("Bearer")),
        ("apikey", None, api_key("header", "X-API-Key")),
        ("ApiKey", '{"in":5,"name":"k"}', api_key("header", "k")),
        ("ApiKey", "ask me", api_key("header", "X-API-Key")),
        ("oauth2", None, http("Bearer")),
        ("OAuth2", '{"authorizationUrl":"https://a.example"}', http("Bearer")),
        ("OAuth2", '{"tokenUrl":"https://t.example","scopes":5}', oauth2(CLIENT)),
        ("OAuth2", "[]", http("Bearer")),
        ("OpenIdConnect", "https://o.example", openid("https://o.example")),
        ("OpenIdConnect", None, http("Bearer")),
        ("MTLS", None, MUTUAL_TLS),
    ],
)
def test_names_in_the_field(name: str, credentials: str | None, scheme: SecurityScheme) -> None:
    found = AgentAuthentication(schemes=(name,), credentials=credentials)
    assert decode_authentication(found)[0] == {name: scheme}


def test_scopes_may_be_a_list() -> None:
    credentials = '{"tokenUrl":"https://t.example","scopes":["r","w"]}'
    schemes, _ = decode_authentication(
        AgentAuthentication(schemes=("OAuth2",), credentials=credentials)
    )
    flows = OAuthFlows(
        client_credentials=ClientCredentialsOAuthFlow(token_url=TOKENS, scopes={"r": "", "w": ""})
    )
    assert schemes == {"OAuth2": oauth2(flows)}


def test_a_bare_name_is_a_list_of_one() -> None:
    assert decode_authentication(AgentAuthentication(schemes="Bearer"))[0] == {
        "Bearer": http("Bearer")
    }


def test_a_scheme_without_a_name_is_none() -> None:
    assert decode_authentication(AgentAuthentication(schemes=("",))) == ({}, ())
