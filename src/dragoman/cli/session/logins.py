"""Logins: the tokens that ``auth login`` has got, and a client's use of them.

The file of logins and its folder are for nobody else (A2ACLI_AUTH_007, A2ACLI_CONFIG_001): what
others could read, or put there, is not used. It is replaced as a whole, so a reader sees the old
one or the new one, and who changes it holds a lock. A login is renewed where that can be done
without asking anybody: only ``auth login`` waits for a person.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

import httpx2
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.outgoing.errors import CredentialsError
from dragoman.auth.outgoing.grants import Grant
from dragoman.auth.outgoing.oauth2 import AuthorizationServer, ClientAuth
from dragoman.auth.outgoing.origins import origin_of
from dragoman.auth.outgoing.tokens import Obtain, Token, TokenKeeper, TokenKey
from dragoman.auth.shared.private_files import replace_private, try_lock
from dragoman.cli.command import Invocation
from dragoman.cli.options.options import CLIENT_SECRET
from dragoman.cli.session.credentials import Luggage
from dragoman.cli.surroundings import LOGINS
from dragoman.client.connect import Address
from dragoman.client.discovery.addresses import card_locations, grpc_target
from dragoman.client.discovery.cards import read_card
from dragoman.client.discovery.offers import offers_of
from dragoman.client.errors import NoInterfaceError
from dragoman.clock import Clock
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCard, AgentInterface

__all__ = (
    "FLOWS",
    "Flow",
    "Login",
    "LoginFile",
    "LoginKey",
    "SignedIn",
    "logins_for",
    "origins_of",
    "signed_in",
    "with_logins",
)


Flow: TypeAlias = Literal["device-code", "client-credentials"]
FLOWS: Final[tuple[Flow, ...]] = ("device-code", "client-credentials")

_FORM: Final = 1
"""The form of the file; one that is newer is not touched."""

_PAUSE_SECONDS: Final = 0.05
"""Between two tries to get the lock. Whoever has it asks a server at most."""

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO

LoginKey: TypeAlias = tuple[str, str, str, str, str, tuple[str, ...]]


class Login(Struct, frozen=True, kw_only=True):
    """A token, whom it is for, and what is needed to get the next one.

    Attributes:
        agent: the origin that the user has named.
        origin: the only one that the token is sent to; where the card of the agent has led.
        scheme: the name that the card gives to the security scheme.
        authority: who has issued the token, as it was named.
        client_secret: only if the user wants it to be kept.
    """

    agent: str
    origin: str
    scheme: str = ""
    flow: Flow
    authority: str
    token_url: str
    revocation_url: str = ""
    client_id: str
    client_secret: str = ""
    client_auth: ClientAuth = "basic"
    scopes: tuple[str, ...] = ()
    parameters: dict[str, str] = {}
    token: Token

    def __repr__(self) -> str:
        """Show no secret."""
        return f"Login(agent={self.agent!r}, authority={self.authority!r})"

    @property
    def key(self) -> LoginKey:
        """Tell it from others; a second login with the same key takes the place of the first."""
        return (
            self.agent,
            self.origin,
            self.scheme,
            self.authority,
            self.client_id,
            self.scopes,
        )

    def secrets(self) -> tuple[str, ...]:
        """Return what must not be shown anywhere."""
        found = (self.token.access_token, self.token.refresh_token, self.client_secret)
        return tuple(secret for secret in found if secret)


class _Document(Struct, frozen=True):
    logins: tuple[Login, ...]
    form: int = _FORM


class LoginFile:
    """The file ``tokens.json`` in a folder, which is made when the first login is kept."""

    def __init__(self, folder: Path) -> None:
        """Name the folder; nothing is read yet."""
        self._folder = folder
        self.path: Final = folder / LOGINS

    def read(self) -> tuple[Login, ...]:
        """Return all logins, the latest first; none if there is no file.

        Raises:
            UsageError: others have access to it, or it is not a file of ours.
        """
        if not self.path.exists():
            return ()
        _check_private(self._folder, "700")
        _check_private(self.path, "600")
        try:
            document = msgspec.json.decode(self.path.read_bytes(), type=_Document)
        except OSError as problem:
            raise UsageError(f"cannot read {self.path}: {problem.strerror}") from None
        except msgspec.DecodeError as problem:
            raise UsageError(
                f"cannot read {self.path}: {problem}; remove it and sign in again"
            ) from None
        if document.form != _FORM:
            raise UsageError(f"{self.path} was written by another version of this program")
        return document.logins

    def find(self, key: LoginKey) -> Login | None:
        """Return the login with a key, as it is now."""
        return next((login for login in self.read() if login.key == key), None)

    @asynccontextmanager
    async def locked(self) -> AsyncGenerator[None]:
        """Keep other processes from changing the file inside; reading is always possible.

        Raises:
            UsageError: the folder cannot be made, or others have access to it.
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_private(self._folder, "700")
            lock = os.open(self._folder / "tokens.lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise UsageError(f"cannot write to {self._folder}: {problem.strerror}") from None
        try:
            while not try_lock(lock):  # noqa: ASYNC110 - other processes set no event
                await asyncio.sleep(_PAUSE_SECONDS)
            yield
        finally:
            # Closing it gives the lock back.
            os.close(lock)

    def put(self, login: Login) -> None:
        """Keep a login, in place of one with the same key; only inside ``locked``."""
        self._write((login, *(other for other in self.read() if other.key != login.key)))

    def remove(self, logins: Iterable[Login]) -> None:
        """Forget logins; only inside ``locked``. The last one takes the file with it."""
        gone = {login.key for login in logins}
        rest = tuple(login for login in self.read() if login.key not in gone)
        if rest:
            self._write(rest)
        else:
            self.path.unlink(missing_ok=True)

    def _write(self, logins: tuple[Login, ...]) -> None:
        content = msgspec.json.format(msgspec.json.encode(_Document(logins)), indent=2)
        replace_private(self.path, content)


def _check_private(path: Path, mode: str) -> None:
    """Refuse what others can read or change."""
    if sys.platform == "win32":
        # There a folder of the user's profile is private, and modes say nothing.
        return
    found = path.stat()
    if found.st_mode & _OTHERS or found.st_uid != os.getuid():
        raise UsageError(
            f"{path} holds tokens and is open to other users: make it yours alone with "
            f"chmod {mode} {path}, and sign in again if others may have read it"
        )


# --- logins as credentials ------------------------------------------------------------------------


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
