"""Where an authorization server has its endpoints: OpenID Connect Discovery and RFC 8414."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit, urlunsplit

import httpx2
from msgspec import Struct

from dragoman.auth.outgoing.errors import AuthorizationServerError
from dragoman.auth.outgoing.origins import is_confidential
from dragoman.auth.shared.fetching import get_json
from dragoman.errors import UsageError

__all__ = ("Endpoints", "discover", "metadata_urls", "read_metadata")

_OPENID: Final = "/.well-known/openid-configuration"
_OAUTH: Final = "/.well-known/oauth-authorization-server"


class Endpoints(Struct, frozen=True):
    """Where tokens come from and go, and keys are; what a server does not have is empty."""

    token_url: str
    device_url: str = ""
    revocation_url: str = ""
    keys_url: str = ""


async def discover(http: httpx2.AsyncClient | None, issuer: str) -> Endpoints:
    """Find the endpoints of an issuer.

    Raises:
        AuthorizationServerError: it publishes none, or those of somebody else.
    """
    openid, oauth = metadata_urls(issuer)
    try:
        return await read_metadata(http, openid, issuer=issuer)
    except AuthorizationServerError as first:
        try:
            return await read_metadata(http, oauth, issuer=issuer)
        except AuthorizationServerError as second:
            finding = f"has no metadata: {first}; {second}"
            raise AuthorizationServerError(issuer, finding) from None


def metadata_urls(issuer: str) -> tuple[str, str]:
    """Return where an issuer has its metadata: by OpenID Connect, and by RFC 8414."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    # OpenID Connect appends its well-known path. RFC 8414, 3.1, puts it before the issuer's own.
    return (
        urlunsplit((parts.scheme, parts.netloc, path + _OPENID, "", "")),
        urlunsplit((parts.scheme, parts.netloc, _OAUTH + path, "", "")),
    )


async def read_metadata(
    http: httpx2.AsyncClient | None, url: str, *, issuer: str = ""
) -> Endpoints:
    """Read the endpoints from a document of metadata.

    Args:
        issuer: whose it must be (RFC 8414, 3.3); not checked when empty.

    Raises:
        AuthorizationServerError: it cannot be had, or is not what it should be.
    """
    answer = await get_json(http, url)
    if answer.status != 200:
        raise AuthorizationServerError(url, f"answers with HTTP status {answer.status}")
    found = answer.body.get("issuer")
    if issuer and (not isinstance(found, str) or found.rstrip("/") != issuer.rstrip("/")):
        raise AuthorizationServerError(url, f"is about the issuer {found!r}, not {issuer!r}")
    token_url = _endpoint(answer.body, "token_endpoint", url)
    if not token_url:
        raise AuthorizationServerError(url, "names no token_endpoint")
    return Endpoints(
        token_url,
        _endpoint(answer.body, "device_authorization_endpoint", url),
        _endpoint(answer.body, "revocation_endpoint", url),
        _endpoint(answer.body, "jwks_uri", url),
    )


def _endpoint(document: dict[str, object], name: str, url: str) -> str:
    found = document.get(name, "")
    try:
        if isinstance(found, str) and (not found or is_confidential(found)):
            return found
    except UsageError:
        pass
    raise AuthorizationServerError(url, f"names a {name} that is not safe to use")
