"""VerifiedTokens: who has shown a token shortly before, so that it need not be verified again.

A token that is revoked meanwhile is good for as long as it is remembered: at most a minute, and
never past its own end. Only what was found good is remembered, so tokens that are made up take no
room.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from secrets import token_bytes
from typing import Final

from dragoman.auth.incoming.authenticator import Principal
from dragoman.clock import Clock
from dragoman.errors import UsageError

__all__ = ("LONGEST_SECONDS", "VerifiedTokens")

LONGEST_SECONDS: Final = 60.0
"""DESIGN section 6: how long a revoked token may live on."""

_MOST: Final = 10_000
"""Callers who are remembered: some 5 MB. With more at once, the idlest are verified anew."""


class VerifiedTokens:
    """Principals by the hash of what they have shown; the least recently used goes first.

    The hash has a key of its own, so what is in memory here fits no table of hashes.
    """

    def __init__(
        self, clock: Clock, *, seconds: float = LONGEST_SECONDS, most: int = _MOST
    ) -> None:
        """Remember nobody yet.

        Args:
            seconds: how long to remember, at most a minute; 0 for not at all.

        Raises:
            UsageError: that is too long.
        """
        if not 0 <= seconds <= LONGEST_SECONDS:
            raise UsageError(f"a token is remembered for 0 to {LONGEST_SECONDS:g} seconds")
        self._clock = clock
        self._kept_ms = round(seconds * 1000)
        self._most = most
        self._key = token_bytes(32)
        self._found: OrderedDict[bytes, tuple[int, Principal]] = OrderedDict()

    def __len__(self) -> int:
        """Count those who are remembered."""
        return len(self._found)

    def find(self, token: bytes) -> Principal | None:
        """Return who has shown this, None if that is to be found out."""
        name = self._name(token)
        entry = self._found.get(name)
        if entry is None:
            return None
        until_ms, principal = entry
        if self._clock.now_ms() >= until_ms:
            del self._found[name]
            return None
        self._found.move_to_end(name)
        return principal

    def keep(self, token: bytes, principal: Principal) -> None:
        """Remember who has shown this, until it ends."""
        now_ms = self._clock.now_ms()
        until_ms = now_ms + self._kept_ms
        if principal.expires_ms:
            until_ms = min(until_ms, principal.expires_ms)
        if until_ms <= now_ms:
            return
        name = self._name(token)
        self._found[name] = (until_ms, principal)
        self._found.move_to_end(name)
        if len(self._found) > self._most:
            self._found.popitem(last=False)

    def clear(self) -> None:
        """Forget everybody."""
        self._found.clear()

    def _name(self, token: bytes) -> bytes:
        return blake2b(token, digest_size=32, key=self._key).digest()
