import msgspec
import pytest
from hypothesis import given

from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy.security_0_3 import (
    MAX_ALTERNATIVES,
    flat_requirement,
    flat_scheme,
    read_requirements,
    read_schemes,
    wrapped_requirement,
    wrapped_scheme,
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
from tests.support.strategies import security_requirements, security_schemes

URL = "t"
CODE_FLOW: JsonObject = {"authorizationUrl": "a", "tokenUrl": "t", "scopes": {"s": "d"}}
CLIENT_FLOW: JsonObject = {"tokenUrl": "t", "scopes": {}}


def schemes(**found: object) -> dict[str, SecurityScheme]:
    return read_schemes(Fields({"securitySchemes": found}))[0]


def oauth2(flows: OAuthFlows) -> SecurityScheme:
    return SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(flows=flows))


@pytest.mark.parametrize(
    ("scheme", "flat", "wrapped"),
    [
        (
            SecurityScheme(
                api_key_security_scheme=APIKeySecurityScheme(
                    location="header", name="X-Key", description="d"
                )
            ),
            {"type": "apiKey", "in": "header", "name": "X-Key", "description": "d"},
            {
                "apiKeySecurityScheme": {
                    "location": "header",
                    "name": "X-Key",
                    "description": "d",
                }
            },
        ),
        (
            SecurityScheme(
                http_auth_security_scheme=HTTPAuthSecurityScheme(
                    scheme="Bearer", bearer_format="JWT"
                )
            ),
            {"type": "http", "scheme": "Bearer", "bearerFormat": "JWT"},
            {"httpAuthSecurityScheme": {"scheme": "Bearer", "bearerFormat": "JWT"}},
        ),
        (
            SecurityScheme(
                open_id_connect_security_scheme=OpenIdConnectSecurityScheme(open_id_connect_url="u")
            ),
            {"type": "openIdConnect", "openIdConnectUrl": "u"},
            {"openIdConnectSecurityScheme": {"openIdConnectUrl": "u"}},
        ),
        (
            SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme()),
            {"type": "mutualTLS"},
            {"mtlsSecurityScheme": {}},
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
            {
                "oauth2SecurityScheme": {
                    "flows": {"authorizationCode": CODE_FLOW},
                    "oauth2MetadataUrl": "m",
                }
            },
        ),
        (
            oauth2(OAuthFlows(implicit=ImplicitOAuthFlow(authorization_url="a"))),
            {"type": "oauth2", "flows": {"implicit": {"authorizationUrl": "a", "scopes": {}}}},
            {
                "oauth2SecurityScheme": {
                    "flows": {"implicit": {"authorizationUrl": "a", "scopes": {}}}
                }
            },
        ),
    ],
)
def test_schemes_are_written_and_read_in_both_shapes(
    scheme: SecurityScheme, flat: JsonObject, wrapped: JsonObject
) -> None:
    assert flat_scheme(scheme) == flat
    assert next(iter(flat_scheme(scheme))) == "type"
    assert wrapped_scheme(scheme) == wrapped
    for members in (
        flat,
        wrapped,
        {**flat, **wrapped},
        {**flat, "description": flat.get("description"), "x": 1},
        {**wrapped, "type": "made up"},
    ):
        assert schemes(k=members) == {"k": scheme}


def test_what_these_versions_lack_is_left_out() -> None:
    device = DeviceCodeOAuthFlow(device_authorization_url="d", token_url=URL, scopes={})
    scheme = OAuth2SecurityScheme(description="d", flows=OAuthFlows(device_code=device))
    written = flat_scheme(SecurityScheme(oauth2_security_scheme=scheme))
    assert written == {"type": "http", "scheme": "Bearer", "description": "d"}
    code = AuthorizationCodeOAuthFlow(
        authorization_url="a", token_url=URL, scopes={}, pkce_required=True
    )
    written = flat_scheme(oauth2(OAuthFlows(authorization_code=code)))
    assert "pkceRequired" not in msgspec.json.encode(written).decode()


def test_a_flow_without_a_name_ends_in_a_bearer_token() -> None:
    bearer = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
    assert schemes(k={"type": "oauth2", "flows": {}}) == {"k": bearer}
    assert schemes(k={"oauth2SecurityScheme": {"flows": {"new": {}}}}) == {"k": bearer}


def test_scopes_that_proto_json_leaves_out_are_none() -> None:
    flow = {"authorizationUrl": "a", "tokenUrl": "t"}
    found = schemes(k={"oauth2SecurityScheme": {"flows": {"authorizationCode": flow}}})
    code = AuthorizationCodeOAuthFlow(authorization_url="a", token_url=URL, scopes={})
    assert found == {"k": oauth2(OAuthFlows(authorization_code=code))}


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
        (
            {"apiKeySecurityScheme": {"name": "n"}},
            *(".apiKeySecurityScheme.location", "is required"),
        ),
        ({"apiKeySecurityScheme": "n"}, ".apiKeySecurityScheme", "expected object, got string"),
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


def test_a_scheme_may_be_called_schemes() -> None:
    card = Fields({"security": [{"schemes": ["s"]}, {"schemes": {"schemes": {"list": ["s"]}}}]})
    needed = SecurityRequirement(schemes={"schemes": StringList(list=("s",))})
    assert read_requirements(card, {}) == (needed, needed)


@given(security_requirements)
def test_requirements_read_back(requirement: SecurityRequirement) -> None:
    for spell in (flat_requirement, wrapped_requirement):
        wire = msgspec.json.decode(msgspec.json.encode({"security": [spell(requirement)]}))
        assert read_requirements(Fields(wire), {}) == (requirement,)


@given(security_schemes)
def test_schemes_read_back(scheme: SecurityScheme) -> None:
    found = scheme.oauth2_security_scheme
    if found is not None and found.flows.device_code is not None:
        return
    expected = scheme
    if found is not None and found.flows.authorization_code is not None:
        # Losses: oauth-pkce-required.
        code = msgspec.structs.replace(found.flows.authorization_code, pkce_required=False)
        changed = msgspec.structs.replace(found, flows=OAuthFlows(authorization_code=code))
        expected = SecurityScheme(oauth2_security_scheme=changed)
    for spell in (flat_scheme, wrapped_scheme):
        wire = msgspec.json.decode(msgspec.json.encode({"k": spell(scheme)}))
        assert schemes(**wire) == {"k": expected}
