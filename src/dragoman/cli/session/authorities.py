"""Who issues tokens for an agent: what the user names, otherwise what the agent's card says.

A card cannot have the secret of a client sent anywhere but to the agent's own origin. Where it
names somebody else, the user has to name them as well.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import httpx2
from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.outgoing.metadata import Endpoints, discover, read_metadata
from dragoman.auth.outgoing.origins import origin_of
from dragoman.cli.options.settings import Settings
from dragoman.cli.session.logins import Flow
from dragoman.cli.session.target import tls_of
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCard
from dragoman.model.security import OAuth2SecurityScheme, SecurityScheme

__all__ = (
    "Authority",
    "Wish",
    "asking",
    "find_authority",
)


_OPENID: Final = "/.well-known/openid-configuration"
_NAME_IT: Final = "name who issues tokens with --issuer or --token-url"


class Wish(Struct, frozen=True, kw_only=True):
    """What the user says about it; what is empty is left to the card."""

    scheme: str = ""
    flow: Flow | None = None
    issuer: str = ""
    token_url: str = ""
    device_url: str = ""
    scopes: tuple[str, ...] = ()
    has_secret: bool = False


class Authority(Struct, frozen=True, kw_only=True):
    """Who is asked for a token, how, and for what.

    Attributes:
        name: the issuer, or the address that tokens come from.
        scheme: the name of the card's security scheme; "" if no card has named any.
    """

    name: str
    endpoints: Endpoints
    flow: Flow
    scheme: str = ""
    scopes: tuple[str, ...] = ()


async def find_authority(
    card: AgentCard | None, wish: Wish, *, agent: str, http: httpx2.AsyncClient | None
) -> Authority:
    """Find out whom to ask; endpoints that are not known are looked up at the issuer.

    Args:
        card: None if there is none to go by.
        agent: the agent's own origin.

    Raises:
        UsageError: neither user nor card say enough.
        AuthorizationServerError: the issuer's metadata cannot be had.
    """
    name, scheme = _scheme_of(card, wish)
    scopes = wish.scopes or _scopes_of(card, name)
    oauth2 = scheme.oauth2_security_scheme if scheme else None
    flow = wish.flow or _flow_of(oauth2, has_secret=wish.has_secret)
    authority, endpoints = await _named_by_user(wish, http)
    if not authority:
        authority, endpoints = await _named_by_card(scheme, flow, http)
        _check_trust(authority, endpoints, agent, has_secret=wish.has_secret)
    if wish.device_url:
        endpoints = replace(endpoints, device_url=wish.device_url)
    if flow == "device-code" and not endpoints.device_url:
        raise UsageError(
            f"{authority} has no device flow that we know of: give "
            "--device-authorization-url, or use --flow client-credentials"
        )
    is_openid = scheme is not None and scheme.open_id_connect_security_scheme is not None
    return Authority(
        name=authority,
        endpoints=endpoints,
        flow=flow,
        scheme=name,
        # OpenID Connect Core, 3.1.2.1: without it, it is not OpenID Connect.
        scopes=scopes or (("openid",) if is_openid and flow == "device-code" else ()),
    )


def _scheme_of(card: AgentCard | None, wish: Wish) -> tuple[str, SecurityScheme | None]:
    """Return the scheme to sign in for: the one that is wished for, or the first with tokens."""
    schemes: Mapping[str, SecurityScheme] = card.security_schemes if card else {}
    requirements = card.security_requirements if card else ()
    if wish.scheme:
        if wish.scheme not in schemes:
            known = ", ".join(schemes) or "none"
            raise UsageError(f"--scheme {wish.scheme}: the card has no such scheme, but {known}")
        return wish.scheme, schemes[wish.scheme]
    required = [name for one in requirements for name in one.schemes]
    for name in dict.fromkeys((*required, *schemes)):
        scheme = schemes.get(name)
        if scheme is not None and _issues_tokens(scheme):
            return name, scheme
    if wish.issuer or wish.token_url:
        return "", None
    raise UsageError(f"the card has no scheme of OAuth 2.0 or OpenID Connect: {_NAME_IT}")


def _issues_tokens(scheme: SecurityScheme) -> bool:
    return (
        scheme.oauth2_security_scheme is not None
        or scheme.open_id_connect_security_scheme is not None
    )


def _scopes_of(card: AgentCard | None, scheme: str) -> tuple[str, ...]:
    for requirement in card.security_requirements if card else ():
        if scheme in requirement.schemes:
            return requirement.schemes[scheme].list
    return ()


def _flow_of(oauth2: OAuth2SecurityScheme | None, *, has_secret: bool) -> Flow:
    """Return the flow of the card; where it leaves that open, a secret is there to be used."""
    if oauth2 is not None and oauth2.flows.device_code is not None:
        return "device-code"
    if oauth2 is not None and oauth2.flows.client_credentials is not None:
        return "client-credentials"
    return "client-credentials" if has_secret else "device-code"


async def _named_by_user(wish: Wish, http: httpx2.AsyncClient | None) -> tuple[str, Endpoints]:
    if wish.issuer:
        found = await discover(http, wish.issuer)
        return wish.issuer, replace(found, token_url=wish.token_url or found.token_url)
    return wish.token_url, Endpoints(wish.token_url, wish.device_url)


async def _named_by_card(
    scheme: SecurityScheme | None, flow: Flow, http: httpx2.AsyncClient | None
) -> tuple[str, Endpoints]:
    oauth2 = scheme.oauth2_security_scheme if scheme else None
    openid = scheme.open_id_connect_security_scheme if scheme else None
    if openid is not None:
        url = openid.open_id_connect_url
        # OpenID Connect Discovery, 4.3: the document is that of the issuer whose path it is under.
        issuer = url.removesuffix(_OPENID) if url.endswith(_OPENID) else ""
        return issuer or url, await read_metadata(http, url, issuer=issuer)
    if oauth2 is not None:
        device, client = oauth2.flows.device_code, oauth2.flows.client_credentials
        if flow == "device-code" and device is not None:
            return device.token_url, Endpoints(device.token_url, device.device_authorization_url)
        if flow == "client-credentials" and client is not None:
            return client.token_url, Endpoints(client.token_url)
        if oauth2.oauth2_metadata_url:
            url = oauth2.oauth2_metadata_url
            return url, await read_metadata(http, url)
    raise UsageError(f"the card does not say where the flow {flow} begins: {_NAME_IT}")


def _check_trust(authority: str, endpoints: Endpoints, agent: str, *, has_secret: bool) -> None:
    urls = (endpoints.token_url, endpoints.device_url, endpoints.revocation_url)
    if has_secret and any(url and origin_of(url) != agent for url in urls):
        raise UsageError(
            f"the card would have the secret of your client sent to {endpoints.token_url}: if you "
            f"trust {authority}, name it with --issuer or --token-url"
        )


@asynccontextmanager
async def asking(settings: Settings, folder: Path) -> AsyncGenerator[httpx2.AsyncClient | None]:
    """Give a client that trusts ``--ca-cert``; None where the machine's own authorities will do.

    ``--insecure`` is about the agent, and not about who is shown secrets.
    """
    tls = replace(tls_of(settings, folder), is_insecure=False, certificate=None)
    if tls.ca_file is None:
        yield None
        return
    async with httpx2.AsyncClient(verify=tls.http()) as client:
        yield client
