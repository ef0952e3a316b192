"""Logins: the tokens that ``auth login`` has got, in a file of the user's own.

The file and its folder are for nobody else (A2ACLI_AUTH_007, A2ACLI_CONFIG_001): what others could
read, or put there, is not used. It is replaced as a whole, so a reader sees the old one or the new
one, and who changes it holds a lock.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from dragoman.auth.outgoing.oauth2 import ClientAuth
from dragoman.auth.outgoing.tokens import Token
from dragoman.auth.shared.private_files import replace_private, try_lock
from dragoman.cli.surroundings import LOGINS
from dragoman.errors import UsageError

__all__ = ("FLOWS", "Flow", "Login", "LoginFile", "LoginKey")

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
