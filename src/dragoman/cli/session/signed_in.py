"""SignedIn: a login as the credentials of a client: used, and renewed where that can be done.

Nobody is asked anything: only ``auth login`` waits for a person.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2
from msgspec.structs import replace

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.errors import CredentialsError
from dragoman.auth.outgoing.grants import Grant
from dragoman.auth.outgoing.oauth2 import AuthorizationServer
from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.tokens import Obtain, Token, TokenKeeper, TokenKey
from dragoman.cli.command import Invocation
from dragoman.cli.options.options import CLIENT_SECRET
from dragoman.cli.session.credentials import Luggage
from dragoman.cli.session.logins import Login, LoginFile
from dragoman.client.connect import Address
from dragoman.client.discovery.addresses import card_locations, grpc_target
from dragoman.client.discovery.cards import read_card
from dragoman.client.discovery.offers import offers_of
from dragoman.client.errors import NoInterfaceError
from dragoman.clock import Clock
from dragoman.model.cards import AgentCard, AgentInterface

__all__ = ("SignedIn", "logins_for", "origins_of", "signed_in", "with_logins")


class SignedIn(Grant, frozen=True):
    """The client of a login; its token comes from, and goes to, the file."""

    login: Login
    client_secret: str

    def client(self) -> tuple[str, str]:
        """Return the client's id, and its secret if there is one."""
        return self.login.client_id, self.client_secret

    async def obtain(self, server: AuthorizationServer) -> Token:
        """Get a token without anybody's help.

        Raises:
            CredentialsError: that cannot be done.
        """
        if self.login.flow == "client-credentials" and self.client_secret:
            return await server.client_credentials()
        secret = " (or set A2ACLI_CLIENT_SECRET)" if self.login.flow == "client-credentials" else ""
        raise CredentialsError(
            f"the token for {self.login.agent} has expired and cannot be renewed: "
            f"sign in again with auth login{secret}"
        )


class _Keeper(TokenKeeper):
    """Keeps the token of one login in the file; one process at a time renews it."""

    def __init__(self, file: LoginFile, login: Login, hide: Callable[[Login], None]) -> None:
        super().__init__()
        self._file = file
        self._login = login
        self._hide = hide

    async def get(
        self, key: TokenKey, obtain: Obtain, clock: Clock, *, is_refused: bool = False
    ) -> Token:
        """Return a token that can be used; see ``TokenKeeper.get``."""
        del key
        now_ms = clock.now_ms()
        if not is_refused and self._login.token.is_usable(now_ms):
            return self._login.token
        async with self._file.locked():
            current = self._file.find(self._login.key)
            if current is None:
                raise CredentialsError(f"somebody has signed out of {self._login.agent} meanwhile")
            is_refused = is_refused and current.token == self._login.token
            if is_refused or not current.token.is_usable(now_ms):
                current = await self._renewed(current, obtain, now_ms)
            self._login = current
        self._hide(current)
        return current.token

    async def _renewed(self, current: Login, obtain: Obtain, now_ms: int) -> Login:
        if current.token.is_usable(now_ms) and current.token.is_fresh(now_ms):
            # Another one would be refused, too.
            return current
        try:
            token = await obtain(current.token)
        except CredentialsError:
            if current.token.is_usable(now_ms):
                # The agent's own refusal says more.
                return current
            raise
        renewed = replace(current, token=token)
        self._file.put(renewed)
        return renewed


def signed_in(
    file: LoginFile,
    login: Login,
    client_secret: str,
    *,
    http: httpx2.AsyncClient | None,
    hide: Callable[[Login], None],
) -> SignedIn:
    """Return the credentials of a login.

    Args:
        client_secret: what the user has given now; otherwise the one that was kept, if any.
        http: what to ask the authority with.
        hide: called with the login whenever there is another token to be shown to nobody.
    """
    hide(login)
    return SignedIn(
        for_origin=login.origin,
        token_url=login.token_url,
        scopes=login.scopes,
        parameters=login.parameters,
        client_auth=login.client_auth,
        http=http,
        tokens=_Keeper(file, login, hide),
        login=login,
        client_secret=client_secret or login.client_secret,
    )


def with_logins(
    invocation: Invocation, luggage: Luggage, address: Address, http: httpx2.AsyncClient | None
) -> Luggage:
    """Add the tokens that are kept for an agent, unless the user has given something else.

    Raises:
        UsageError: they are not kept safely.
    """
    if any(not isinstance(one, ClientCertificate) for one in luggage.held):
        # A certificate is shown beside a token, everything else in its place.
        return luggage
    file = LoginFile(invocation.surroundings.own_folder)
    secret = invocation.settings[CLIENT_SECRET] or ""

    def hide(login: Login) -> None:
        invocation.output.hide(*login.secrets())

    held = tuple(
        signed_in(file, login, secret, http=http, hide=hide)
        for login in logins_for(address, file.read())
    )
    return replace(luggage, held=(*luggage.held, *held))


def logins_for(address: Address, logins: tuple[Login, ...]) -> tuple[Login, ...]:
    """Return the logins for an agent, as the user has named it.

    Each is bound to its origin: where the agent's card leads elsewhere now, nothing is sent.
    """
    if isinstance(address, str):
        agent = origin_of(card_locations(address)[0])
        return tuple(login for login in logins if login.agent == agent)
    origins = origins_of(address)
    return tuple(login for login in logins if login.origin in origins)


def origins_of(address: Path | AgentInterface | AgentCard) -> frozenset[str]:
    """Return where an agent is whose card, or interface, is the user's own."""
    if isinstance(address, AgentInterface):
        target = (
            grpc_target(address.url, "") if address.protocol_binding.upper() == "GRPC" else None
        )
        return frozenset({origin_of(target.origin if target else address.url)})
    card = address
    if isinstance(card, Path):
        if not card.is_file():
            return frozenset()
        card = read_card(card.read_bytes(), str(card)).card
    try:
        return frozenset(origin_of(offer.url) for offer in offers_of(card, ""))
    except NoInterfaceError:
        return frozenset()
