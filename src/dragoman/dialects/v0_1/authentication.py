"""What a card says about credentials: names of schemes in 0.1, described schemes in 1.0.

0.1 lists names, any one of which will do, and one free text with the details of them all
(0.x reference, 2.1 and 5.12). The text written here is a JSON object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from dragoman.dialects.v0_1.wire import Wire
from dragoman.dialects.violations import DECODER_ERRORS
from dragoman.model.security import (
    APIKeySecurityScheme,
    AuthorizationCodeOAuthFlow,
    ClientCredentialsOAuthFlow,
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentCard

__all__ = ("AgentAuthentication", "decode_authentication", "encode_authentication")

_OAUTH_DETAILS: Final = ("authorizationUrl", "tokenUrl", "scopes")
_BEARER: Final = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
_MUTUAL_TLS: Final = SecurityScheme(mtls_security_scheme=MutualTlsSecurityScheme())


class AgentAuthentication(Wire, frozen=True, kw_only=True):
    """The ``authentication`` of a card; early cards have a bare name instead of a list."""

    schemes: tuple[str, ...] | str
    credentials: str | None = None


def encode_authentication(card: AgentCard) -> AgentAuthentication | None:
    """Name the schemes that the card requires; None if it requires none.

    That some of them apply only together cannot be said. Where two schemes have the same kind of
    details, those of the first are written.
    """
    names: dict[str, None] = {}
    details: JsonObject = {}
    for requirement in card.security_requirements:
        for key in requirement.schemes:
            if key in card.security_schemes:
                name, described = _describe(card.security_schemes[key])
                names[name] = None
                details = described | details
    if not names:
        return None
    credentials = msgspec.json.encode(details).decode() if details else None
    return AgentAuthentication(schemes=tuple(names), credentials=credentials)


def decode_authentication(
    found: AgentAuthentication | None,
) -> tuple[dict[str, SecurityScheme], tuple[SecurityRequirement, ...]]:
    """Return the schemes by the names they were given, and the requirement of any one of them."""
    if found is None:
        return {}, ()
    names = (found.schemes,) if isinstance(found.schemes, str) else found.schemes
    credentials = found.credentials or ""
    details = _details(credentials)
    schemes = {name: _scheme(name, credentials, details) for name in names if name}
    return schemes, tuple(SecurityRequirement(schemes={name: StringList()}) for name in schemes)


def _describe(scheme: SecurityScheme) -> tuple[str, JsonObject]:
    if (http := scheme.http_auth_security_scheme) is not None:
        return http.scheme, {}
    if (key := scheme.api_key_security_scheme) is not None:
        return "ApiKey", {"in": key.location, "name": key.name}
    if (oauth := scheme.oauth2_security_scheme) is not None:
        (flow,) = cast("dict[str, JsonObject]", msgspec.to_builtins(oauth.flows)).values()
        return "OAuth2", {name: flow[name] for name in _OAUTH_DETAILS if name in flow}
    if (openid := scheme.open_id_connect_security_scheme) is not None:
        return "OpenIdConnect", {"openIdConnectUrl": openid.open_id_connect_url}
    return "mTLS", {}


def _scheme(name: str, credentials: str, details: JsonObject) -> SecurityScheme:
    match name.lower():
        case "apikey":
            return SecurityScheme(
                api_key_security_scheme=APIKeySecurityScheme(
                    location=_text(details, "in") or "header",
                    name=_text(details, "name") or "X-API-Key",
                )
            )
        case "oauth2":
            flows = _flows(details)
            if flows is None:
                return _BEARER
            return SecurityScheme(oauth2_security_scheme=OAuth2SecurityScheme(flows=flows))
        case "openidconnect":
            url = _text(details, "openIdConnectUrl") or credentials
            if not url:
                return _BEARER
            return SecurityScheme(
                open_id_connect_security_scheme=OpenIdConnectSecurityScheme(open_id_connect_url=url)
            )
        case "mtls":
            return _MUTUAL_TLS
        case "jwt":
            return _BEARER
        case _:
            return SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme=name))


def _flows(details: JsonObject) -> OAuthFlows | None:
    """Return the flow that the details describe, None if they do not say where tokens come from."""
    authorization_url, token_url = _text(details, "authorizationUrl"), _text(details, "tokenUrl")
    scopes = _scopes(details.get("scopes"))
    if not token_url:
        return None
    if not authorization_url:
        return OAuthFlows(
            client_credentials=ClientCredentialsOAuthFlow(token_url=token_url, scopes=scopes)
        )
    return OAuthFlows(
        authorization_code=AuthorizationCodeOAuthFlow(
            authorization_url=authorization_url, token_url=token_url, scopes=scopes
        )
    )


def _details(credentials: str) -> JsonObject:
    try:
        return msgspec.json.decode(credentials, type=dict[str, object])
    except DECODER_ERRORS:
        return {}  # it is free text


def _text(details: JsonObject, name: str) -> str:
    found = details.get(name)
    return found if isinstance(found, str) else ""


def _scopes(found: object) -> dict[str, str]:
    """Read scopes with their descriptions, or a bare list of them."""
    try:
        return msgspec.convert(found, dict[str, str])
    except msgspec.ValidationError:
        pass
    try:
        return dict.fromkeys(msgspec.convert(found, list[str]), "")
    except msgspec.ValidationError:
        return {}
