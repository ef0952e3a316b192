"""Passwords as HTTP carries them: ``Authorization: Basic`` (RFC 7617)."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from pathlib import Path
from typing import Final, TypeAlias

from dragoman.auth.incoming.authenticator import BadCredentialsError, Evidence, Principal, refused
from dragoman.auth.incoming.authorization_header import DEFAULT_REALM, challenge_of, credentials_in
from dragoman.auth.incoming.key_file import KeyFile
from dragoman.auth.incoming.passwords import DECOY, check_hash, is_password
from dragoman.auth.incoming.verified_tokens import LONGEST_SECONDS, VerifiedTokens
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UnavailableError, UsageError
from dragoman.model.security import HTTPAuthSecurityScheme, SecurityScheme

__all__ = ("BasicUsers", "CheckPassword")

CheckPassword: TypeAlias = Callable[
    [str, str], str | Principal | Awaitable[str | Principal | None] | None
]
"""Returns whose user and password these are, an owner or a principal; None if they are not good."""

_MOST: Final = 4096
"""Characters of user and password together, in base64."""

_MOST_HASHING: Final = 2
"""Passwords checked at once: each takes a core and 16 MiB."""

_MOST_WAITING: Final = 32
"""Requests that wait for that; more are told to come back. Who guesses must not use up the rest."""


class BasicUsers:
    """Lets in who shows a user and a password that belong together.

    A pair that was found good is not hashed again for at most a minute.
    """

    def __init__(
        self,
        users: str | Path | Mapping[str, str] | CheckPassword,
        *,
        owner_prefix: str = "basic:",
        remember_seconds: float = LONGEST_SECONDS,
        name: str = "basic",
        description: str = "",
        clock: Clock | None = None,
    ) -> None:
        """Take the users.

        Args:
            users: a file that ``dragoman keys create --basic`` makes; a mapping from each user to
                what ``hash_password`` returns; or a function that checks user and password itself.
            owner_prefix: put before the name of the owner, so that nobody is mixed up with whom
                another authenticator calls the same; a ``Principal`` is taken as it is.

        Raises:
            UsageError: the file cannot be read, or a hash is none.
        """
        self._clock: Clock = clock or SystemClock()
        self._file: KeyFile | None = None
        self._given: dict[str, str] = {}
        self._check: CheckPassword | None = None
        self._prefix = owner_prefix
        match users:
            case str() | Path():
                self._file = KeyFile(users, self._clock, owner_prefix=owner_prefix)
            case Mapping():
                self._given = dict(users)
                for user, kept in self._given.items():
                    check_hash(kept)
                    if not user or ":" in user:
                        raise UsageError(f"{user!r} is no user: it is empty or has a colon")
            case _:
                self._check = users
        self._verified = VerifiedTokens(self._clock, seconds=remember_seconds)
        self._version = 0
        self._hashing = asyncio.Semaphore(_MOST_HASHING)
        self._waiting = 0
        self.name: Final = name
        self.scheme: Final = SecurityScheme(
            http_auth_security_scheme=HTTPAuthSecurityScheme(
                description=description, scheme="Basic"
            )
        )
        self.challenge: Final = challenge_of("Basic", realm=DEFAULT_REALM, charset="UTF-8")

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Return whose user and password were shown; see ``Authenticator.authenticate``."""
        try:
            credentials = credentials_in(evidence, "Basic", most=_MOST)
            if credentials is None:
                return None
            self._look_at_file()
            shown = credentials.encode("ascii")
            found = self._verified.find(shown)
            if found is None:
                found = await self._identify(*_pair(credentials))
                self._verified.keep(shown, found)
        except BadCredentialsError as error:
            raise refused(error) from error
        return found

    async def flush(self) -> None:
        """Write when users of the file were last seen; for a server that stops."""
        if self._file is not None:
            await self._file.write_uses()

    def _look_at_file(self) -> None:
        if self._file is None:
            return
        self._file.refresh()
        if self._file.version != self._version:
            # A password that was changed is worthless at once.
            self._verified.clear()
            self._version = self._file.version

    async def _identify(self, user: str, password: str) -> Principal:
        found = await self._find(user, password)
        if found is None:
            raise BadCredentialsError("user and password do not belong together")
        return found if isinstance(found, Principal) else Principal(owner=self._prefix + found)

    async def _find(self, user: str, password: str) -> Principal | str | None:
        if self._check is not None:
            who = self._check(user, password)
            return await who if isawaitable(who) else who
        known = self._file.user(user) if self._file is not None else None
        kept = known.record.hash if known is not None else self._given.get(user)
        # A user whom nobody knows takes as long as a wrong password.
        is_right = await self._hash(password, kept or DECOY)
        if not is_right or kept is None:
            return None
        if known is None or self._file is None:
            return user
        await self._file.note_use(known)
        return known.principal

    async def _hash(self, password: str, kept: str) -> bool:
        if self._waiting >= _MOST_WAITING:
            raise UnavailableError("Too many passwords are being checked")
        self._waiting += 1
        try:
            async with self._hashing:
                return await asyncio.to_thread(is_password, password, kept)
        finally:
            self._waiting -= 1


def _pair(credentials: str) -> tuple[str, str]:
    try:
        user, separator, password = b64decode(credentials, validate=True).decode().partition(":")
    except ValueError:
        raise BadCredentialsError("they are no user and password in base64") from None
    # RFC 7617, 2: neither has control characters.
    if not separator or not user or not f"{user}{password}".isprintable():
        raise BadCredentialsError("they are no user and password")
    return user, password
