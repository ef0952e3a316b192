import msgspec
import pytest
from hypothesis import given

from dragoman.dialects.fields import Fields
from dragoman.dialects.v0_3.security import (
    MAX_ALTERNATIVES,
    read_requirements,
    read_schemes,
    requirement_members,
    scheme_members,
)
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.base import JsonObject
from dragoman.model.security import (
    APIKeySecurityScheme,
    AuthorizationCodeOAuthFlow,
    DeviceCodeOAuthFlow,
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
from tests.strategies import security_requirements, security_schemes

URL = "t"
CODE_FLOW: JsonObject = {"authorizationUrl": "a", "tokenUrl": "t", "scopes": {"s": "d"}}
CLIENT_FLOW: JsonObject = {"tokenUrl": "t", "scopes": {}}


def schemes(**found: object) -> dict[str, SecurityScheme]:
    return read_schemes(Fields({"securitySchemes": found}))[0]


def oauth2(flows: OAuthFlows) -> SecurityScheme:
    return SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(flows=flows))


@pytest.mark.parametrize(
    ("scheme", "members"),
    [
        (
            SecurityScheme(
                api_key_security_scheme=APIKeySecurityScheme(
                    location="header", name="X-Key", description="d"
                )
            ),
            {"type": "apiKey", "in": "header", "name": "X-Key", "description": "d"},
        ),
        (
            SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(
                    scheme="Bearer", bearer_format="JWT"
                )
            ),
            {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"},
        ),
        (
            SecurityScheme(
                open_id_connect_security_scheme=OpenIdConnectSecurityScheme(open_id_connect_url="u")
            ),
            {"type": "openIdConnect", "openIdConnectUrl": "u"},
        ),
        (
            SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme()),
            {"type": "mutualTLS"},
        ),
        (
            SecurityScheme(
                oauth2_security_scheme=OAuth2SecurityScheme(
                    flows=OAuthFlows(
                        authorization_code=AuthorizationCodeOAuthFlow(
                            authorization_url="a", token_url=URL, scopes={"s": "d"}
                        )
                    ),
                    oauth2_metadata_url="m",
                )
            ),
            {
                "type": "oauth2",
                "flows": {"authorizationCode": CODE_FLOW},
                "oauth2MetadataUrl": "m",
            },
        ),
        (
            oauth2(OAuthFlows(implicit=ImplicitOAuthFlow(authorization_url="a"))),
            {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "a", "scopes": {}}}},
        ),
    ],
)
def test_schemes_are_flat_and_known_by_type(scheme: SecurityScheme, members: JsonObject) -> None:
    written = scheme_members(scheme)
    assert written == members
    assert next(iter(written)) == "type"
    assert schemes(k=members) == {"k": scheme}
    assert schemes(k={**members, "description": members.get("description"), "x": 1}) == {
        "k": scheme
    }


def test_what_these_versions_lack_is_left_out() -> None:
    device = DeviceCodeOAuthFlow(device_authorization_url="d", token_url=URL, scopes={})
    written = scheme_members(oauth2(OAuthFlows(device_code=device)))
    assert written == {"type": "oauth2", "flows": {}}
    bearer = HTTPAuthSecurityScheme(scheme="Bearer")
    assert schemes(k=written) == {"k": SecurityScheme(http_auth_security_scheme=bearer)}
    code = AuthorizationCodeOAuthFlow(
        authorization_url="a", token_url=URL, scopes={}, pkce_required=True
    )
    written = scheme_members(oauth2(OAuthFlows(authorization_code=code)))
    assert "pkceRequired" not in msgspec.json.encode(written).decode()


def test_a_scheme_of_an_unknown_type_is_left_out() -> None:
    assert schemes(k={"type": "xpr-signature"}, j={"x": 1}) == {}


def test_several_flows_become_several_schemes() -> None:
    card = Fields(
        {
            "securitySchemes": {
                "o": {
                    "type": "oauth2",
                    "flows": {"authorizationCode": CODE_FLOW, "clientCredentials": CLIENT_FLOW},
                },
                "o-2": {"type": "mutualTLS"},
            },
            "security": [{"o": ["s"], "o-2": []}, {"other": None}],
        }
    )
    found, variants = read_schemes(card)
    assert set(found) == {"o", "o-2", "o-3"}
    assert variants["o"] == ("o", "o-3")
    assert read_requirements(card, variants) == (
        SecurityRequirement(schemes={"o": StringList(list=("s",)), "o-2": StringList()}),
        SecurityRequirement(schemes={"o-3": StringList(list=("s",)), "o-2": StringList()}),
        SecurityRequirement(schemes={"other": StringList()}),
    )


def test_the_alternatives_are_bounded() -> None:
    variants = {str(number): ("a", "b", "c", "d") for number in range(30)}
    holder = Fields({"security": [dict.fromkeys(variants)]})
    assert len(read_requirements(holder, variants)) == MAX_ALTERNATIVES


@pytest.mark.parametrize(
    ("scheme", "field", "description"),
    [
        (5, "", "expected object, got integer"),
        ({"type": "apiKey", "name": "n"}, ".in", "is required"),
        ({"type": "apiKey", "in": "header"}, ".name", "is required"),
        ({"type": "http", "scheme": 5}, ".scheme", "expected string, got integer"),
        ({"type": "oauth2"}, ".flows", "is required"),
        (
            {"type": "oauth2", "flows": {"authorizationCode": {"tokenUrl": "t"}}},
            *(".flows.authorizationCode.authorizationUrl", "is required"),
        ),
    ],
)
def test_what_is_wrong_is_named(scheme: object, field: str, description: str) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        schemes(k=scheme)
    violation = FieldViolation(f"securitySchemes.k{field}", description)
    assert caught.value.violations == (violation,)


@given(security_requirements)
def test_requirements_read_back(requirement: SecurityRequirement) -> None:
    members = msgspec.to_builtins({"security": requirement_members((requirement,))})
    wire = msgspec.json.decode(msgspec.json.encode(members))
    assert read_requirements(Fields(wire), {}) == (requirement,)


@given(security_schemes)
def test_schemes_read_back(scheme: SecurityScheme) -> None:
    found = scheme.oauth2_security_scheme
    if found is not None and found.flows.device_code is not None:
        return
    wire = msgspec.json.decode(msgspec.json.encode({"k": scheme_members(scheme)}))
    read = schemes(**wire)["k"]
    if found is None or found.flows.authorization_code is None:
        assert read == scheme
    else:
        # Losses: oauth-pkce-required.
        code = msgspec.structs.replace(found.flows.authorization_code, pkce_required=False)
        flows = OAuthFlows(authorization_code=code)
        assert read.oauth2_security_scheme == msgspec.structs.replace(found, flows=flows)
