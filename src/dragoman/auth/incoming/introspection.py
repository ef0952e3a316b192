"""Introspection: callers with a token that only its issuer can read (RFC 7662)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Sequence
from typing import Final
from weakref import WeakValueDictionary

import httpx2

from dragoman.auth.incoming.access_tokens import TokenRules, check_claims, claims_of
from dragoman.auth.incoming.authenticator import BadCredentialsError, Evidence, Principal, refused
from dragoman.auth.incoming.authorization_header import DEFAULT_REALM, challenge_of, credentials_in
from dragoman.auth.incoming.bearer_jwt import MOST_TOKEN, OwnerOf, principal_of
from dragoman.auth.incoming.verified_tokens import LONGEST_SECONDS, VerifiedTokens
from dragoman.auth.outgoing.errors import AuthorizationServerError, TokenRefusedError
from dragoman.auth.outgoing.oauth2 import AuthorizationServer, ClientAuth
from dragoman.auth.outgoing.origins import is_confidential
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UnavailableError, UsageError
from dragoman.model.security import (
    HTTPAuthSecurityScheme,
    OAuth2SecurityScheme,
    OAuthFlows,
    SecurityScheme,
)

__all__ = ("Introspection",)

_MOST_ASKING: Final = 16
"""Questions to the issuer at once: tokens that are made up must not take us, or it, down."""

_MOST_WAITING: Final = 256
"""Requests that wait for an answer; more are told to come back."""

_RETRY_SECONDS: Final = 5.0
"""When to come back if the issuer cannot be asked."""

_BAD_TOKEN: Final = frozenset({"invalid_request", "invalid_token", "unsupported_token_type"})
"""Errors by which an issuer finds fault with the token, not with us or itself."""

_logger: Final = logging.getLogger(__name__)


class Introspection:
    """Lets in who shows a token that its issuer calls active.

    What the issuer says of a token is believed for at most a minute. That of a token which is not
    active is not remembered, so one that becomes good is good at once.
    """

    def __init__(
        self,
        url: str,
        *,
        client_id: str,
        client_secret: str,
        client_auth: ClientAuth = "basic",
        issuer: str = "",
        audience: str | Collection[str] = (),
        skew_seconds: float = 30,
        owner: OwnerOf | None = None,
        scope_claims: Sequence[str] = ("scope", "scp"),
        tenant_claim: str = "",
        remember_seconds: float = LONGEST_SECONDS,
        flows: OAuthFlows | None = None,
        name: str = "",
        description: str = "",
        http: httpx2.AsyncClient | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Say who is asked, and who we are to it; see ``BearerJwt`` for what is not said here.

        Args:
            url: the introspection endpoint; https, or on this machine.
            issuer: what ``iss`` must be; not looked at when empty, as many answers have none.
            audience: what ``aud`` must have; not looked at when empty, for the same reason. Who
                leaves it out relies on the issuer to know which tokens are for this agent.
            flows: how a client gets a token. The card then has a scheme of OAuth 2.0, "oauth2";
                otherwise ``Bearer``, "bearer".

        Raises:
            UsageError: something is missing, or cannot be used; says what.
        """
        if not is_confidential(url):
            raise UsageError(f"tokens are shown by https alone, and {url!r} is not")
        if not client_id:
            raise UsageError("client_id is missing: an issuer answers those it knows")
        self._clock: Clock = clock or SystemClock()
        self._rules = TokenRules(
            issuer=issuer,
            audiences=frozenset((audience,) if isinstance(audience, str) else audience),
            skew_seconds=skew_seconds,
        )
        self._server = AuthorizationServer(
            token_url="",
            introspection_url=url,
            client_id=client_id,
            client_secret=client_secret,
            client_auth=client_auth,
            http=http,
            clock=self._clock,
        )
        self._namespace = issuer or url
        self._owner = owner
        self._scope_claims = tuple(scope_claims)
        self._tenant_claim = tenant_claim
        self._verified = VerifiedTokens(self._clock, seconds=remember_seconds)
        self._asking = asyncio.Semaphore(_MOST_ASKING)
        self._waiting = 0
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.name: Final = name or ("oauth2" if flows else "bearer")
        self.scheme: Final = _scheme(flows, description)
        self.challenge: Final = challenge_of("Bearer", realm=DEFAULT_REALM)
        self._refusal = challenge_of("Bearer", realm=DEFAULT_REALM, error="invalid_token")

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Return whose token was shown; see ``Authenticator.authenticate``."""
        try:
            token = credentials_in(evidence, "Bearer", most=MOST_TOKEN)
            if token is None:
                return None
            return self._verified.find(token.encode("ascii")) or await self._ask_once(token)
        except BadCredentialsError as error:
            raise refused(error, self._refusal) from error

    async def _ask_once(self, token: str) -> Principal:
        """Ask for a token; whoever shows the same meanwhile waits for the answer."""
        if self._waiting >= _MOST_WAITING:
            raise _unavailable()
        shown = token.encode("ascii")
        # It lives as long as somebody holds it.
        lock = self._locks.setdefault(token, asyncio.Lock())
        self._waiting += 1
        try:
            async with lock:
                found = self._verified.find(shown)
                if found is None:
                    async with self._asking:
                        found = await self._ask(token)
                    self._verified.keep(shown, found)
                return found
        finally:
            self._waiting -= 1

    async def _ask(self, token: str) -> Principal:
        document = await self._answer(token)
        # RFC 7662, 2.2: true, and nothing that looks like it.
        if document.get("active") is not True:
            raise BadCredentialsError("its issuer says that it is not active")
        claims = claims_of(document)
        if claims.exp is None:
            # Optional here, as the issuer has just looked at it.
            document = {**document, "exp": self._clock.now_ms() / 1000 + LONGEST_SECONDS}
            claims = claims_of(document)
        check_claims(claims, self._rules, self._clock.now_ms())
        return principal_of(
            document,
            issuer=self._namespace,
            owner=self._owner,
            scope_claims=self._scope_claims,
            tenant_claim=self._tenant_claim,
        )

    async def _answer(self, token: str) -> dict[str, object]:
        try:
            return await self._server.introspect(token)
        except TokenRefusedError as error:
            if error.code in _BAD_TOKEN:
                raise BadCredentialsError(f"its issuer refuses it: {error.code}") from None
            # It does not know us, for one: that is no fault of the caller.
            _logger.warning("tokens cannot be introspected: %s", error)
            raise _unavailable() from error
        except AuthorizationServerError as error:
            _logger.warning("tokens cannot be introspected: %s", error)
            raise _unavailable() from error


def _unavailable() -> UnavailableError:
    return UnavailableError(
        "The credentials cannot be checked now", retry_after_seconds=_RETRY_SECONDS
    )


def _scheme(flows: OAuthFlows | None, description: str) -> SecurityScheme:
    if flows is not None:
        return SecurityScheme(
            oauth2_security_scheme=OAuth2SecurityScheme(description=description, flows=flows)
        )
    return SecurityScheme(
        http_auth_security_scheme=HTTPAuthSecurityScheme(description=description, scheme="Bearer")
    )
