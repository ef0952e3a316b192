"""Credentials that come from an authorization server: a token is got, kept, and renewed.

A client's secret is for the server that the user has named, by ``token_url`` or ``issuer``. Where
none was named, ``dragoman.auth.outgoing.requirements`` takes the card's if it is on the agent's own
origin: no card can have a secret sent elsewhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable

import httpx2
from msgspec import field

from dragoman.auth.outgoing.credentials import Attachment, OriginBound
from dragoman.auth.outgoing.errors import (
    AuthorizationServerError,
    CredentialsError,
    TokenRefusedError,
)
from dragoman.auth.outgoing.metadata import Endpoints, discover, read_metadata
from dragoman.auth.outgoing.oauth2 import AuthorizationServer, ClientAuth, DevicePrompt
from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.tokens import Token, TokenKeeper, TokenKey
from dragoman.clock import Clock, SystemClock

__all__ = ("ClientCredentials", "DeviceCode", "Grant")


class Grant(OriginBound, frozen=True, kw_only=True):
    """What all ways to a token share.

    Attributes:
        token_url, issuer: who issues tokens; for an issuer the endpoints are looked up.
        metadata_url: where they are looked up otherwise; all must be on that same origin.
        scopes: what the token is for; if none are given, what the card asks for.
        parameters: sent along with every request for a token, such as ``audience``.
        http: what to ask with; without it, a connection is made for each token.
        tokens: remembers tokens; give one to share them, or to keep them beyond the process.
    """

    token_url: str = ""
    device_url: str = ""
    issuer: str = ""
    metadata_url: str = ""
    scopes: tuple[str, ...] = ()
    parameters: Mapping[str, str] = {}
    client_auth: ClientAuth = "basic"
    http: httpx2.AsyncClient | None = None
    clock: Clock = field(default_factory=SystemClock)
    tokens: TokenKeeper = field(default_factory=TokenKeeper)

    @property
    def authority(self) -> str:
        """Name who issues tokens; empty if nobody has said."""
        return self.token_url or self.issuer or self.metadata_url

    async def attachment(self, *, is_retry: bool) -> Attachment:
        """Return the token, after getting or renewing it if need be."""
        if not self.authority:
            raise CredentialsError("nobody has said who issues tokens: give token_url or issuer")
        client_id, _ = self.client()
        key = TokenKey(self.authority, client_id, self.scopes)
        token = await self.tokens.get(key, self._renew, self.clock, is_refused=is_retry)
        return Attachment(headers={"Authorization": f"Bearer {token.access_token}"})

    def client(self) -> tuple[str, str]:
        """Return the client's id and secret."""
        raise NotImplementedError

    async def obtain(self, server: AuthorizationServer) -> Token:
        """Get a token from scratch."""
        raise NotImplementedError

    async def _renew(self, last: Token | None) -> Token:
        endpoints = await self._endpoints()
        client_id, client_secret = self.client()
        server = AuthorizationServer(
            token_url=endpoints.token_url,
            device_url=endpoints.device_url,
            client_id=client_id,
            client_secret=client_secret,
            client_auth=self.client_auth,
            scopes=self.scopes,
            parameters=self.parameters,
            http=self.http,
            clock=self.clock,
        )
        if last is not None and last.refresh_token:
            try:
                return await server.refresh(last)
            except TokenRefusedError:
                # Used up, revoked or too old: begin anew.
                pass
        return await self.obtain(server)

    async def _endpoints(self) -> Endpoints:
        if self.token_url:
            return Endpoints(self.token_url, self.device_url)
        if self.issuer:
            return await discover(self.http, self.issuer)
        found = await read_metadata(self.http, self.metadata_url)
        home = origin_of(self.metadata_url)
        if any(url and origin_of(url) != home for url in (found.token_url, found.device_url)):
            raise AuthorizationServerError(
                self.metadata_url,
                f"sends clients to {found.token_url}: name it with token_url if you trust it",
            )
        return found


class ClientCredentials(Grant, frozen=True):
    """The client's own id and secret (OAuth 2.0 client credentials)."""

    client_id: str
    client_secret: str

    def client(self) -> tuple[str, str]:
        """Return the client's id and secret."""
        return self.client_id, self.client_secret

    async def obtain(self, server: AuthorizationServer) -> Token:
        """Get a token for the client itself."""
        return await server.client_credentials()


class DeviceCode(Grant, frozen=True):
    """A person, who signs in with a browser somewhere else (RFC 8628).

    Attributes:
        show: called with what to show to the person, plain or async; the request that needs the
            token waits meanwhile, and so do all others that need it.
    """

    client_id: str
    show: Callable[[DevicePrompt], Awaitable[None] | None]
    client_secret: str = ""

    def client(self) -> tuple[str, str]:
        """Return the client's id, and its secret if it has one."""
        return self.client_id, self.client_secret

    async def obtain(self, server: AuthorizationServer) -> Token:
        """Ask the person, and wait."""
        if not server.device_url:
            raise AuthorizationServerError(server.token_url, "has no device flow that we know of")
        device = await server.ask_person()
        shown = self.show(device.prompt)
        if isawaitable(shown):
            await shown
        return await server.wait_for_person(device)
