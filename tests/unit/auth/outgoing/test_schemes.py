import pytest

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.credentials import ApiKey, Basic, Bearer, Custom, OriginBound
from dragoman.auth.outgoing.grants import ClientCredentials, DeviceCode, Grant
from dragoman.auth.outgoing.schemes import UnfitError, describe, fit, fits_all
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
    SecurityScheme,
)

OWN = "https://agent.example:443"
TOKEN, DEVICE = f"{OWN}/token", f"{OWN}/device"
ELSEWHERE = "https://id.example/token"


def http(name: str) -> SecurityScheme:
    return SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme=name))


def api_key(location: str, name: str = "X-Key") -> SecurityScheme:
    return SecurityScheme(
        api_key_security_scheme=APIKeySecurityScheme(location=location, name=name)
    )


def oauth2(flows: OAuthFlows, metadata_url: str = "") -> SecurityScheme:
    return SecurityScheme(
        oauth2_security_scheme=OAuth2SecurityScheme(flows=flows, oauth2_metadata_url=metadata_url)
    )


def openid(url: str) -> SecurityScheme:
    return SecurityScheme(
        open_id_connect_security_scheme=OpenIdConnectSecurityScheme(open_id_connect_url=url)
    )


def client_flow(token_url: str) -> OAuthFlows:
    return OAuthFlows(client_credentials=ClientCredentialsOAuthFlow(token_url=token_url, scopes={}))


def device_flow(token_url: str, device_url: str) -> OAuthFlows:
    flow = DeviceCodeOAuthFlow(device_authorization_url=device_url, token_url=token_url, scopes={})
    return OAuthFlows(device_code=flow)


BROWSER_FLOW = OAuthFlows(
    authorization_code=AuthorizationCodeOAuthFlow(
        authorization_url=f"{OWN}/go", token_url=TOKEN, scopes={}
    )
)
MTLS = SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())
CLIENT = ClientCredentials("me", "s3cret")
DEVICE_CODE = DeviceCode("me", print)

BY_TOKEN = (http("Bearer"), oauth2(client_flow(TOKEN)), openid(f"{OWN}/oidc"))
SCHEMES = (*BY_TOKEN, http("basic"), api_key("header"), MTLS, http("Digest"), None)


@pytest.mark.parametrize(
    ("credential", "schemes"),
    [
        (Bearer("t"), BY_TOKEN),
        (Basic("u", "p"), (http("basic"),)),
        (ApiKey("k"), (api_key("header"),)),
        (ClientCertificate("c", "k"), (MTLS,)),
        (ClientCredentials("me", "s3cret", token_url=ELSEWHERE), BY_TOKEN),
        (Custom(lambda _: {}), SCHEMES),
    ],
    ids=repr,
)
def test_a_credential_fits_the_schemes_it_is_made_for(
    credential: OriginBound, schemes: tuple[SecurityScheme | None, ...]
) -> None:
    fitting = [scheme for scheme in SCHEMES if fit(credential, scheme, (), OWN) is not None]
    assert tuple(fitting) == schemes
    assert fits_all(credential) == (schemes == SCHEMES)


@pytest.mark.parametrize(
    ("scheme", "text"),
    [
        (http("Bearer"), "HTTP Bearer: Bearer, ClientCredentials or DeviceCode"),
        (http("Basic"), "HTTP Basic: Basic"),
        (http("Digest"), "HTTP Digest: Custom"),
        (api_key("query", "k"), "an API key, query k: ApiKey"),
        (oauth2(BROWSER_FLOW), "OAuth 2.0: Bearer, ClientCredentials or DeviceCode"),
        (openid("https://x"), "OpenID Connect: Bearer, ClientCredentials or DeviceCode"),
        (MTLS, "mutual TLS: ClientCertificate"),
        (None, "the card does not say what it is: Custom"),
    ],
)
def test_what_a_scheme_wants_is_said(scheme: SecurityScheme | None, text: str) -> None:
    assert describe(scheme) == text


@pytest.mark.parametrize("location", ["header", "query", "cookie"])
def test_a_key_travels_as_the_card_says(location: str) -> None:
    fitted = fit(ApiKey("k"), api_key(location), (), OWN)
    assert isinstance(fitted, ApiKey)
    assert (fitted.name, fitted.location) == ("X-Key", location)


def test_a_key_with_another_name_or_place_is_another_key() -> None:
    scheme = api_key("header")
    assert fit(ApiKey("k", name="x-key"), scheme, (), OWN) is not None
    assert fit(ApiKey("k", name="X-Other"), scheme, (), OWN) is None
    assert fit(ApiKey("k", name="X-Key", location="query"), scheme, (), OWN) is None


def test_a_place_that_there_is_not_is_told() -> None:
    with pytest.raises(UnfitError, match="unknown place, 'body'"):
        fit(ApiKey("k"), api_key("body"), (), OWN)


def test_a_key_that_cannot_be_a_cookie_is_told() -> None:
    with pytest.raises(UnfitError, match="cannot be a cookie"):
        fit(ApiKey("a;b"), api_key("cookie"), (), OWN)


def fitted_grant(grant: Grant, scheme: SecurityScheme) -> Grant:
    fitted = fit(grant, scheme, ("read",), OWN)
    assert isinstance(fitted, Grant)
    return fitted


def test_a_grant_gets_its_endpoints_from_the_card_of_an_agent_that_has_them_itself() -> None:
    assert fitted_grant(CLIENT, oauth2(client_flow(TOKEN))).token_url == TOKEN
    fitted = fitted_grant(DEVICE_CODE, oauth2(device_flow(TOKEN, DEVICE)))
    assert (fitted.token_url, fitted.device_url) == (TOKEN, DEVICE)
    assert fitted_grant(CLIENT, openid(f"{OWN}/oidc")).metadata_url == f"{OWN}/oidc"
    # The flow is for somebody else, but there is a document that may name ours.
    other = oauth2(BROWSER_FLOW, f"{OWN}/oauth")
    assert fitted_grant(CLIENT, other).metadata_url == f"{OWN}/oauth"
    assert fitted_grant(DEVICE_CODE, other).metadata_url == f"{OWN}/oauth"


@pytest.mark.parametrize(
    ("grant", "scheme"),
    [
        (CLIENT, oauth2(client_flow(ELSEWHERE))),
        (CLIENT, oauth2(BROWSER_FLOW, "https://id.example/oauth")),
        (CLIENT, openid("https://id.example/.well-known/openid-configuration")),
        (DEVICE_CODE, oauth2(device_flow(TOKEN, "https://id.example/device"))),
    ],
)
def test_no_card_can_have_a_secret_sent_elsewhere(grant: Grant, scheme: SecurityScheme) -> None:
    with pytest.raises(UnfitError, match="give it as token_url if you trust it"):
        fit(grant, scheme, (), OWN)


@pytest.mark.parametrize("scheme", [*BY_TOKEN, oauth2(client_flow("https://evil.example"))])
def test_what_the_user_has_named_is_not_replaced_by_the_card(scheme: SecurityScheme) -> None:
    for grant in (
        ClientCredentials("me", "s3cret", token_url=ELSEWHERE),
        ClientCredentials("me", "s3cret", issuer="https://id.example"),
    ):
        fitted = fitted_grant(grant, scheme)
        assert (fitted.authority, fitted.metadata_url) == (grant.authority, "")


@pytest.mark.parametrize("scheme", [http("bearer"), oauth2(BROWSER_FLOW)])
def test_a_card_that_names_nobody_is_told(scheme: SecurityScheme) -> None:
    with pytest.raises(UnfitError, match="give token_url or issuer"):
        fit(CLIENT, scheme, (), OWN)


def test_an_address_that_is_none_is_told() -> None:
    with pytest.raises(UnfitError, match="names a wrong address: 'token'"):
        fit(CLIENT, oauth2(client_flow("token")), (), OWN)


def test_scopes_are_those_of_the_card_unless_the_user_has_said_other() -> None:
    scheme = oauth2(client_flow(TOKEN))
    assert fitted_grant(CLIENT, scheme).scopes == ("read",)
    own = ClientCredentials("me", "s3cret", scopes=("all",))
    assert fitted_grant(own, scheme).scopes == ("all",)


class Picky(OriginBound, frozen=True):
    """Credentials of a kind that this module knows nothing of."""

    def fits(self, scheme: SecurityScheme | None) -> bool:
        return scheme == http("XPR")


def test_other_credentials_say_themselves_what_they_meet() -> None:
    picky = Picky()
    assert fit(picky, http("XPR"), (), OWN) is picky
    for scheme in SCHEMES:
        assert fit(picky, scheme, (), OWN) is None
    assert describe(http("XPR")) == "HTTP XPR: XprSigner"
