"""BearerJwt: callers who show a JWT of an issuer, as ``Authorization: Bearer`` (RFC 6750)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

import httpx2

from dragoman.auth.cards.jws import ALGORITHMS
from dragoman.auth.incoming.access_tokens import (
    TokenRules,
    check_claims,
    claims_of,
    read_header,
    read_issuer,
    texts_in,
    verified_claims,
)
from dragoman.auth.incoming.authenticator import BadCredentialsError, Evidence, Principal, refused
from dragoman.auth.incoming.authorization_header import DEFAULT_REALM, challenge_of, credentials_in
from dragoman.auth.incoming.verified_tokens import LONGEST_SECONDS, VerifiedTokens
from dragoman.auth.shared.issuer_keys import IssuerKeys
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UnauthenticatedError, UsageError
from dragoman.model.security import HTTPAuthSecurityScheme, SecurityScheme

__all__ = ("MOST_TOKEN", "BearerJwt", "OwnerOf", "principal_of")

MOST_TOKEN: Final = 16_384
"""Characters of a token. With many groups in it one has some 8,000; header lines end at 64 KiB."""

OwnerOf: TypeAlias = Callable[[Mapping[str, object]], str]
"""Names the owner by the claims of a token that is good."""


class BearerJwt:
    """Lets in who shows a JWT that an issuer has signed for this agent.

    The owner is the issuer and the ``sub`` of the token, the scopes are those of ``scope`` and
    ``scp``. A token that was found good is not verified again for at most a minute.
    """

    def __init__(
        self,
        *,
        issuer: str,
        audience: str | Collection[str],
        keys: Mapping[str, object] | str | Path | IssuerKeys | None = None,
        jwks_url: str = "",
        algorithms: Collection[str] = ALGORITHMS,
        skew_seconds: float = 30,
        token_type: str = "",
        owner: OwnerOf | None = None,
        scope_claims: Sequence[str] = ("scope", "scp"),
        tenant_claim: str = "",
        remember_seconds: float = LONGEST_SECONDS,
        name: str = "bearer",
        description: str = "",
        scheme: SecurityScheme | None = None,
        http: httpx2.AsyncClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Say whose tokens are good, and what for.

        Args:
            issuer: what ``iss`` must be, to the letter.
            audience: what ``aud`` must have, one of them if there are several: this agent. A token
                that was made for somebody else is no use here.
            keys: the keys of the issuer (JWKS), as data or as a file.
            jwks_url: where they are fetched from; https, or on this machine.
            algorithms: those of the tokens; all have a private and a public key.
            token_type: what ``typ`` must be, such as ``at+jwt``; "" for any.
            owner: names the owner otherwise; "" from it refuses the token.
            tenant_claim: the claim that lists the tenants of the caller; who has none may act in
                none. Without it, all tenants are open.
            remember_seconds: how long a token is not verified again; 0 for every time.
            scheme: what the card says, if not ``Bearer``; such as the flows of OAuth 2.0.

        Raises:
            UsageError: something is missing, or cannot be used; says what.
        """
        if not issuer:
            raise UsageError("issuer is missing: whose tokens are good?")
        audiences = frozenset((audience,) if isinstance(audience, str) else audience)
        if not audiences or "" in audiences:
            raise UsageError("audience is missing: what do tokens for this agent have in aud?")
        if keys is None and not jwks_url:
            raise UsageError("give keys or jwks_url: what are tokens verified with?")
        self._clock: Clock = clock or SystemClock()
        self._rules = TokenRules(
            issuer=issuer,
            audiences=audiences,
            algorithms=frozenset(algorithms),
            skew_seconds=skew_seconds,
            token_type=token_type,
        )
        self._keys = (
            keys
            if isinstance(keys, IssuerKeys)
            else IssuerKeys(keys=keys, url=jwks_url, http=http, clock=self._clock)
        )
        self._owner = owner
        self._scope_claims = tuple(scope_claims)
        self._tenant_claim = tenant_claim
        self._verified = VerifiedTokens(self._clock, seconds=remember_seconds)
        self.name: Final = name
        self.scheme: Final = scheme or SecurityScheme(
            http_auth_security_scheme=HTTPAuthSecurityScheme(
                description=description, scheme="Bearer", bearer_format="JWT"
            )
        )
        self.challenge: Final = challenge_of("Bearer", realm=DEFAULT_REALM)
        # RFC 6750, 3.1.
        self._refusal = challenge_of("Bearer", realm=DEFAULT_REALM, error="invalid_token")

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Return whose token was shown; see ``Authenticator.authenticate``."""
        try:
            token = credentials_in(evidence, "Bearer", most=MOST_TOKEN)
            if token is None:
                return None
            shown = token.encode("ascii")
            found = self._verified.find(shown)
            if found is None:
                found = await self._verify(token)
                self._verified.keep(shown, found)
        except BadCredentialsError as error:
            raise refused(error, self._refusal) from error
        return found

    async def _verify(self, token: str) -> Principal:
        header = read_header(token, self._rules)
        # The tokens of others must not have the keys of this issuer looked for.
        if read_issuer(token) != self._rules.issuer:
            raise BadCredentialsError(f"it is not from the issuer {self._rules.issuer!r}")
        try:
            keys = await self._keys.find(header.kid)
        except UnauthenticatedError as error:
            raise BadCredentialsError(error.message) from None
        document = verified_claims(token, keys, header.alg)
        claims = claims_of(document)
        check_claims(claims, self._rules, self._clock.now_ms())
        return principal_of(
            document,
            issuer=self._rules.issuer,
            owner=self._owner,
            scope_claims=self._scope_claims,
            tenant_claim=self._tenant_claim,
        )


def principal_of(
    document: Mapping[str, object],
    *,
    issuer: str,
    owner: OwnerOf | None,
    scope_claims: Iterable[str],
    tenant_claim: str,
) -> Principal:
    """Return who is meant by the claims of a token that is good.

    Raises:
        BadCredentialsError: it names nobody.
    """
    claims = claims_of(document)
    if owner is None and not claims.sub:
        raise BadCredentialsError("it names no subject (sub)")
    # No issuer has a bar in its name (RFC 3986), so no two pairs are written alike.
    named = f"{issuer}|{claims.sub}" if owner is None else owner(document)
    if not named:
        raise BadCredentialsError("it names nobody who is known here")
    return Principal(
        owner=named,
        scopes=texts_in(document, scope_claims),
        tenants=texts_in(document, (tenant_claim,)) if tenant_claim else None,
        expires_ms=round(claims.exp * 1000) if claims.exp is not None else 0,
    )
