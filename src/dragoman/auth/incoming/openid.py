"""OpenId: callers with a JWT of an issuer that says itself where its keys are.

That is OpenID Connect Discovery, or RFC 8414 for servers of OAuth 2.0 alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import httpx2

from dragoman.auth.cards.jws import ALGORITHMS
from dragoman.auth.incoming.bearer_jwt import BearerJwt, OwnerOf
from dragoman.auth.incoming.verified_tokens import LONGEST_SECONDS
from dragoman.auth.outgoing.errors import AuthorizationServerError
from dragoman.auth.outgoing.metadata import discover, metadata_urls
from dragoman.auth.outgoing.origins import is_confidential
from dragoman.auth.shared.issuer_keys import IssuerKeys, Locate
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UsageError
from dragoman.model.security import (
    OAuth2SecurityScheme,
    OAuthFlows,
    OpenIdConnectSecurityScheme,
    SecurityScheme,
)

__all__ = ("OpenId",)


class OpenId(BearerJwt):
    """Lets in who shows a JWT that an issuer has signed for this agent.

    Nothing is fetched before the first token comes. The metadata is read again whenever the keys
    are, so an issuer may move them.
    """

    def __init__(
        self,
        issuer: str,
        *,
        audience: str | Collection[str],
        flows: OAuthFlows | None = None,
        algorithms: Collection[str] = ALGORITHMS,
        skew_seconds: float = 30,
        token_type: str = "",
        owner: OwnerOf | None = None,
        scope_claims: Sequence[str] = ("scope", "scp"),
        tenant_claim: str = "",
        remember_seconds: float = LONGEST_SECONDS,
        name: str = "",
        description: str = "",
        http: httpx2.AsyncClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Say whose tokens are good, and what for; see ``BearerJwt`` for what is not said here.

        Args:
            issuer: its URL, exactly as it writes it: with a slash at the end or without.
            flows: how a client gets a token. The card then has a scheme of OAuth 2.0, "oauth2";
                otherwise one of OpenID Connect, "openid".

        Raises:
            UsageError: something is missing, or cannot be used; says what.
        """
        if not is_confidential(issuer):
            raise UsageError(f"keys are fetched by https alone, and {issuer!r} is not")
        known_clock: Clock = clock or SystemClock()
        super().__init__(
            issuer=issuer,
            audience=audience,
            keys=IssuerKeys(
                locate=_locating(issuer, http), whose=issuer, http=http, clock=known_clock
            ),
            algorithms=algorithms,
            skew_seconds=skew_seconds,
            token_type=token_type,
            owner=owner,
            scope_claims=scope_claims,
            tenant_claim=tenant_claim,
            remember_seconds=remember_seconds,
            name=name or ("oauth2" if flows else "openid"),
            scheme=_scheme(issuer, flows, description),
            clock=known_clock,
        )


def _locating(issuer: str, http: httpx2.AsyncClient | None) -> Locate:
    async def locate() -> str:
        endpoints = await discover(http, issuer)
        if not endpoints.keys_url:
            raise AuthorizationServerError(issuer, "names no jwks_uri in its metadata")
        return endpoints.keys_url

    return locate


def _scheme(issuer: str, flows: OAuthFlows | None, description: str) -> SecurityScheme:
    openid, oauth = metadata_urls(issuer)
    if flows is None:
        return SecurityScheme(
            open_id_connect_security_scheme=OpenIdConnectSecurityScheme(
                description=description, open_id_connect_url=openid
            )
        )
    return SecurityScheme(
        oauth2_security_scheme=OAuth2SecurityScheme(
            description=description, flows=flows, oauth2_metadata_url=oauth
        )
    )
