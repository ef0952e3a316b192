"""How an agent says what credentials it wants."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.model.base import NonEmpty, Value

__all__ = (
    "APIKeySecurityScheme",
    "AuthorizationCodeOAuthFlow",
    "ClientCredentialsOAuthFlow",
    "DeviceCodeOAuthFlow",
    "HTTPAuthSecurityScheme",
    "ImplicitOAuthFlow",
    "MutualTlsSecurityScheme",
    "OAuth2SecurityScheme",
    "OAuthFlows",
    "OpenIdConnectSecurityScheme",
    "PasswordOAuthFlow",
    "SecurityRequirement",
    "SecurityScheme",
    "StringList",
)

_ONE_FLOW = (
    "needs exactly one of authorizationCode, clientCredentials, implicit, password, deviceCode"
)
_ONE_SCHEME = "needs exactly one kind of security scheme"


class StringList(Value, frozen=True, kw_only=True):
    """Wrapper for a list of strings (scopes)."""

    list: tuple[str, ...] = ()


class SecurityRequirement(Value, frozen=True, kw_only=True):
    """One alternative; all its schemes apply together."""

    schemes: Mapping[str, StringList] = {}


class APIKeySecurityScheme(Value, frozen=True, kw_only=True):
    """A key in a header, the query or a cookie."""

    description: str = ""
    location: NonEmpty
    name: NonEmpty


class HTTPAuthSecurityScheme(Value, frozen=True, kw_only=True):
    """An HTTP authentication scheme such as Bearer."""

    description: str = ""
    scheme: NonEmpty
    bearer_format: str = ""


class AuthorizationCodeOAuthFlow(Value, frozen=True, kw_only=True):
    """The OAuth 2.0 authorization code flow."""

    authorization_url: NonEmpty
    token_url: NonEmpty
    refresh_url: str = ""
    scopes: Mapping[str, str]
    pkce_required: bool = False


class ClientCredentialsOAuthFlow(Value, frozen=True, kw_only=True):
    """The OAuth 2.0 client credentials flow."""

    token_url: NonEmpty
    refresh_url: str = ""
    scopes: Mapping[str, str]


class ImplicitOAuthFlow(Value, frozen=True, kw_only=True):
    """The deprecated implicit flow."""

    authorization_url: str = ""
    refresh_url: str = ""
    scopes: Mapping[str, str] = {}


class PasswordOAuthFlow(Value, frozen=True, kw_only=True):
    """The deprecated password flow."""

    token_url: str = ""
    refresh_url: str = ""
    scopes: Mapping[str, str] = {}


class DeviceCodeOAuthFlow(Value, frozen=True, kw_only=True):
    """The device code flow (RFC 8628)."""

    device_authorization_url: NonEmpty
    token_url: NonEmpty
    refresh_url: str = ""
    scopes: Mapping[str, str]


class OAuthFlows(Value, frozen=True, kw_only=True):
    """Exactly one flow."""

    authorization_code: AuthorizationCodeOAuthFlow | None = None
    client_credentials: ClientCredentialsOAuthFlow | None = None
    implicit: ImplicitOAuthFlow | None = None
    password: PasswordOAuthFlow | None = None
    device_code: DeviceCodeOAuthFlow | None = None

    def __post_init__(self) -> None:
        """Hold the union closed."""
        members = (
            self.authorization_code,
            self.client_credentials,
            self.implicit,
            self.password,
            self.device_code,
        )
        if sum(member is not None for member in members) != 1:
            raise ValueError(_ONE_FLOW)


class OAuth2SecurityScheme(Value, frozen=True, kw_only=True):
    """OAuth 2.0."""

    description: str = ""
    flows: OAuthFlows
    oauth2_metadata_url: str = ""


class OpenIdConnectSecurityScheme(Value, frozen=True, kw_only=True):
    """OpenID Connect discovery."""

    description: str = ""
    open_id_connect_url: NonEmpty


class MutualTlsSecurityScheme(Value, frozen=True, kw_only=True):
    """Mutual TLS."""

    description: str = ""


class SecurityScheme(Value, frozen=True, kw_only=True):
    """Exactly one kind of scheme."""

    api_key_security_scheme: APIKeySecurityScheme | None = None
    http_auth_security_scheme: HTTPAuthSecurityScheme | None = None
    oauth2_security_scheme: OAuth2SecurityScheme | None = None
    open_id_connect_security_scheme: OpenIdConnectSecurityScheme | None = None
    mtls_security_scheme: MutualTlsSecurityScheme | None = None

    def __post_init__(self) -> None:
        """Hold the union closed."""
        members = (
            self.api_key_security_scheme,
            self.http_auth_security_scheme,
            self.oauth2_security_scheme,
            self.open_id_connect_security_scheme,
            self.mtls_security_scheme,
        )
        if sum(member is not None for member in members) != 1:
            raise ValueError(_ONE_SCHEME)
