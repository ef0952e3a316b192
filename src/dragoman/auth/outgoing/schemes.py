"""One credential and one security scheme of a card: whether it fits, and how it then travels.

Pure. ``Custom`` and credentials of a foreign class fit every scheme: they know what they do.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.credentials import ApiKey, Basic, Bearer, KeyLocation, OriginBound
from dragoman.auth.outgoing.grants import ClientCredentials, DeviceCode, Grant
from dragoman.auth.outgoing.origins import origin_of
from dragoman.errors import UsageError
from dragoman.model.security import APIKeySecurityScheme, OAuthFlows, SecurityScheme

__all__ = ("UnfitError", "describe", "fit", "fits_all")

_TOKENS: Final = "Bearer, ClientCredentials or DeviceCode"
_HTTP: Final = {"bearer": _TOKENS, "basic": "Basic", "xpr": "XprSigner"}
_LOCATIONS: Final[dict[str, KeyLocation]] = {
    "header": "header",
    "query": "query",
    "cookie": "cookie",
}


class UnfitError(Exception):
    """A credential is of the right kind, but something is in the way."""


def describe(scheme: SecurityScheme | None) -> str:
    """Say what a scheme asks for, and which credentials meet it."""
    if scheme is None:
        return "the card does not say what it is: Custom"
    if (key := scheme.api_key_security_scheme) is not None:
        return f"an API key, {key.location} {key.name}: ApiKey"
    if (http := scheme.http_auth_security_scheme) is not None:
        return f"HTTP {http.scheme}: {_HTTP.get(http.scheme.lower(), 'Custom')}"
    if scheme.oauth2_security_scheme is not None:
        return f"OAuth 2.0: {_TOKENS}"
    if scheme.open_id_connect_security_scheme is not None:
        return f"OpenID Connect: {_TOKENS}"
    return "mutual TLS: ClientCertificate"


def fit(
    credential: OriginBound,
    scheme: SecurityScheme | None,
    scopes: tuple[str, ...],
    own_origin: str,
) -> OriginBound | None:
    """Return the credential as it travels for this scheme, None if it is of another kind.

    Args:
        scheme: None if the card requires a scheme that it does not describe.
        own_origin: the agent's; the only place a card can name for a secret to be sent to.

    Raises:
        UnfitError: it is of the right kind, but something is in the way.
    """
    match credential:
        case Bearer():
            return credential if _takes_token(scheme) else None
        case ApiKey():
            return _fit_key(credential, scheme.api_key_security_scheme if scheme else None)
        case Basic():
            return credential if _http_name(scheme) == "basic" else None
        case Grant():
            return _fit_grant(credential, scheme, scopes, own_origin)
        case ClientCertificate():
            return credential if scheme and scheme.mtls_security_scheme is not None else None
        case _:
            return credential if credential.fits(scheme) else None


def fits_all(credential: OriginBound) -> bool:
    """Tell whether the credential stands for whatever is asked."""
    return not isinstance(credential, Bearer | ApiKey | Basic | Grant | ClientCertificate)


def _http_name(scheme: SecurityScheme | None) -> str:
    http = scheme.http_auth_security_scheme if scheme else None
    return http.scheme.lower() if http is not None else ""


def _takes_token(scheme: SecurityScheme | None) -> bool:
    return scheme is not None and (
        _http_name(scheme) == "bearer"
        or scheme.oauth2_security_scheme is not None
        or scheme.open_id_connect_security_scheme is not None
    )


def _fit_key(credential: ApiKey, scheme: APIKeySecurityScheme | None) -> ApiKey | None:
    if scheme is None:
        return None
    location = _LOCATIONS.get(scheme.location)
    if location is None:
        # R-4.5.2-1.
        raise UnfitError(f"the card puts the key in an unknown place, {scheme.location!r}")
    if credential.name.lower() not in ("", scheme.name.lower()):
        return None
    if credential.location not in ("", location):
        return None
    try:
        return replace(credential, name=scheme.name, location=location)
    except UsageError as error:
        raise UnfitError(str(error)) from None


def _fit_grant(
    grant: Grant, scheme: SecurityScheme | None, scopes: tuple[str, ...], own_origin: str
) -> Grant | None:
    if scheme is None or not _takes_token(scheme):
        return None
    grant = replace(grant, scopes=grant.scopes or scopes)
    if grant.authority:
        return grant
    found = _named_by_card(grant, scheme)
    named = found.token_url or found.metadata_url
    if not named:
        raise UnfitError("the card does not say who issues tokens: give token_url or issuer")
    urls = (found.token_url, found.device_url, found.metadata_url)
    if any(url and _origin(url) != own_origin for url in urls):
        raise UnfitError(f"the card sends clients to {named}: give it as token_url if you trust it")
    return found


def _named_by_card(grant: Grant, scheme: SecurityScheme) -> Grant:
    """Return the grant with the endpoints that the card names for its flow, if any."""
    if (openid := scheme.open_id_connect_security_scheme) is not None:
        return replace(grant, metadata_url=openid.open_id_connect_url)
    oauth2 = scheme.oauth2_security_scheme
    if oauth2 is None:
        return grant
    token_url, device_url = _endpoints(grant, oauth2.flows)
    return replace(
        grant,
        token_url=token_url,
        device_url=device_url,
        metadata_url="" if token_url else oauth2.oauth2_metadata_url,
    )


def _endpoints(grant: Grant, flows: OAuthFlows) -> tuple[str, str]:
    match grant:
        case ClientCredentials() if flows.client_credentials is not None:
            return flows.client_credentials.token_url, ""
        case DeviceCode() if flows.device_code is not None:
            return flows.device_code.token_url, flows.device_code.device_authorization_url
        case _:
            return "", ""


def _origin(url: str) -> str:
    try:
        return origin_of(url)
    except UsageError as error:
        raise UnfitError(f"the card names a wrong address: {error}") from None
