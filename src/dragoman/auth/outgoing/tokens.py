"""Tokens: kept until shortly before they expire, and renewed by one for all who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from dragoman.clock import Clock

__all__ = ("Obtain", "Token", "TokenKeeper", "TokenKey")

_SKEW_MS: Final = 60_000
"""A token is renewed this long before it expires: clocks differ, and requests take their time."""

_FRESH_MS: Final = 5_000
"""A token this young that an agent refuses is not renewed: another one would be refused too. It
also keeps requests that were refused one after the other from renewing it one after the other."""


class Token(Struct, frozen=True):
    """An access token, and what is needed to get the next one.

    Attributes:
        expires_at_ms: None if the server does not say; it is then used until it is refused.
    """

    access_token: str
    obtained_at_ms: int
    expires_at_ms: int | None = None
    refresh_token: str = ""
    scope: str = ""

    def __repr__(self) -> str:
        """Show no secret."""
        return f"Token(expires_at_ms={self.expires_at_ms})"

    def is_usable(self, now_ms: int) -> bool:
        """Tell whether there is time left to use it."""
        if self.expires_at_ms is None:
            return True
        # One that lives shorter than twice the skew is used for half its life.
        skew = min(_SKEW_MS, (self.expires_at_ms - self.obtained_at_ms) // 2)
        return now_ms < self.expires_at_ms - skew

    def is_fresh(self, now_ms: int) -> bool:
        """Tell whether it was obtained just now."""
        return now_ms - self.obtained_at_ms < _FRESH_MS


class TokenKey(NamedTuple):
    """Whose token it is: who issues it, to which client, for what."""

    authority: str
    client_id: str
    scopes: tuple[str, ...]


Obtain: TypeAlias = Callable[[Token | None], Awaitable[Token]]
"""Gets a token, given the one that is no longer good."""


class TokenKeeper:
    """Remembers tokens and lets one caller at a time renew each.

    Belongs to one event loop. To keep tokens beyond the process, give those that were kept, and a
    function to keep new ones.
    """

    def __init__(
        self,
        known: Mapping[TokenKey, Token] | None = None,
        *,
        keep: Callable[[TokenKey, Token], None] | None = None,
    ) -> None:
        """Start with the tokens that are known."""
        self._tokens = dict(known or {})
        self._keep = keep
        self._locks: dict[TokenKey, asyncio.Lock] = {}

    async def get(
        self, key: TokenKey, obtain: Obtain, clock: Clock, *, is_refused: bool = False
    ) -> Token:
        """Return a token that can be used.

        Args:
            is_refused: the agent has refused the one that was returned last.
        """
        if not is_refused and (token := self._usable(key, clock)):
            return token
        async with self._locks.setdefault(key, asyncio.Lock()):
            # Who has waited here finds what the one before has got.
            token = self._usable(key, clock)
            if token is None or (is_refused and not token.is_fresh(clock.now_ms())):
                token = await obtain(self._tokens.get(key))
                self._tokens[key] = token
                if self._keep is not None:
                    self._keep(key, token)
            return token

    def _usable(self, key: TokenKey, clock: Clock) -> Token | None:
        token = self._tokens.get(key)
        return token if token is not None and token.is_usable(clock.now_ms()) else None
