"""ApiKeys: callers who show a key, in a header, the query or a cookie (R-4.5.2-1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import parse_qsl

from dragoman.auth.incoming.authenticator import BadCredentialsError, Evidence, Principal, refused
from dragoman.auth.incoming.authorization_header import DEFAULT_REALM, challenge_of
from dragoman.auth.incoming.key_file import KeyFile
from dragoman.auth.incoming.key_records import digest_of
from dragoman.auth.outgoing.credentials import KeyLocation
from dragoman.clock import Clock, SystemClock
from dragoman.errors import UnauthenticatedError, UsageError
from dragoman.model.security import APIKeySecurityScheme, SecurityScheme

__all__ = ("ApiKeys", "Lookup")

Known: TypeAlias = str | Principal
"""An owner, or all that is known of one."""

Lookup: TypeAlias = Callable[[str], Known | Awaitable[Known | None] | None]
"""Returns whose a key is, None for nobody's; plain or async."""

_MOST: Final = 512
"""Characters of a key; ours have 47."""

_MOST_MEMBERS: Final = 64
"""Members of a query that are looked at; more are no query of ours."""


class ApiKeys:
    """Lets in who shows a key that is known.

    Keys are in a file that ``dragoman keys`` makes, or given in code: as a mapping from each key to
    its owner, or as a function that finds the owner.
    """

    def __init__(
        self,
        keys: str | Path | Mapping[str, Known] | Lookup,
        *,
        location: KeyLocation = "header",
        parameter: str = "X-API-Key",
        owner_prefix: str = "key:",
        name: str = "apiKey",
        description: str = "",
        clock: Clock | None = None,
    ) -> None:
        """Take the keys, and how they travel.

        Args:
            parameter: the name of the header, of the member of the query or of the cookie.
            owner_prefix: put before the name of the owner, so that nobody is mixed up with whom
                another authenticator calls the same; a ``Principal`` is taken as it is.

        Raises:
            UsageError: the file cannot be read, or a key is empty.
        """
        self._clock: Clock = clock or SystemClock()
        self._file: KeyFile | None = None
        self._given: dict[str, Principal] = {}
        self._lookup: Lookup | None = None
        self._prefix = owner_prefix
        match keys:
            case str() | Path():
                self._file = KeyFile(keys, self._clock, owner_prefix=owner_prefix)
            case Mapping():
                self._given = {_checked(key): self._named(who) for key, who in keys.items()}
            case _:
                self._lookup = keys
        self._location = location
        self._parameter = parameter
        self._header = parameter.lower().encode()
        self.name: Final = name
        self.scheme: Final = SecurityScheme(
            api_key_security_scheme=APIKeySecurityScheme(
                description=description, location=location, name=parameter
            )
        )
        # No scheme is registered for keys; this one says what a person needs to know.
        self.challenge: Final = challenge_of(
            "ApiKey", realm=DEFAULT_REALM, **{"in": location, "name": parameter}
        )

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Return whose key was shown; see ``Authenticator.authenticate``."""
        try:
            shown = self._shown(evidence)
        except BadCredentialsError as error:
            raise refused(error) from error
        if shown is None:
            return None
        if not _can_be_key(shown):
            raise _refusal("it is empty, too long, or has characters no key has")
        lookup = self._lookup
        found = self._kept(shown) if lookup is None else await self._asked(lookup, shown)
        if found is None:
            raise _refusal("it is not known, expired or revoked")
        if self._file is not None and self._file.is_write_due:
            await self._file.write_uses()
        return found

    async def flush(self) -> None:
        """Write when keys of the file were last used; for a server that stops."""
        if self._file is not None:
            await self._file.write_uses()

    # --- what is shown ----------------------------------------------------------------------------

    def _shown(self, evidence: Evidence) -> str | None:
        match self._location:
            case "header":
                return evidence.headers.get(self._header)
            case "cookie":
                return _only(_cookies(evidence.headers.get(b"cookie", "")), self._parameter)
            case _:
                found = _only(_members(evidence.query), self._parameter)
                # A call of gRPC has no query: its clients send metadata of the same name.
                return evidence.headers.get(self._header) if found is None else found

    # --- whose it is ------------------------------------------------------------------------------

    async def _asked(self, lookup: Lookup, shown: str) -> Principal | None:
        who = lookup(shown)
        if isawaitable(who):
            who = await who
        return None if who is None else self._named(who)

    def _kept(self, shown: str) -> Principal | None:
        digest = digest_of(shown)
        if self._file is None:
            return self._given.get(digest)
        known = self._file.use(digest)
        return None if known is None else known.principal

    def _named(self, who: Known) -> Principal:
        return who if isinstance(who, Principal) else Principal(owner=self._prefix + who)


def _refusal(finding: str) -> UnauthenticatedError:
    return refused(BadCredentialsError(finding))


def _can_be_key(text: str) -> bool:
    return 0 < len(text) <= _MOST and text.isascii() and text.isprintable()


def _checked(key: str) -> str:
    """Return what is kept of a key that was given in code."""
    if not _can_be_key(key):
        raise UsageError(f"an API key has 1 to {_MOST} characters, all of printable ASCII")
    return digest_of(key)


def _only(pairs: list[tuple[str, str]], name: str) -> str | None:
    """Return the one value of a name, None for none."""
    values = {value for found, value in pairs if found == name}
    if len(values) > 1:
        raise BadCredentialsError("several different ones were shown")
    return next(iter(values), None)


def _cookies(header: str) -> list[tuple[str, str]]:
    """Read a Cookie header (RFC 6265, 4.2.1)."""
    pairs = (pair.strip().partition("=") for pair in header.split(";"))
    return [(name, value.strip('"')) for name, separator, value in pairs if separator]


def _members(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_MEMBERS)
    except ValueError:
        raise BadCredentialsError(f"the query has more than {_MOST_MEMBERS} members") from None
