"""SenderKeys: the public keys of who sends notifications, without a stampede to fetch them.

Anybody can post a JWT that names a key nobody knows. So one request at a time looks for keys, and
an address that has just failed is left alone for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import httpx2

from dragoman.auth.card_keys import Key, KeysOutOfReachError, NoKeyError, TrustedKeys
from dragoman.clock import Clock
from dragoman.errors import UnauthenticatedError, UnavailableError

__all__ = ("SenderKeys",)

_PAUSE_MS: Final = 10_000
"""After a failure; as long as a set in which a key is missing is not fetched again."""


class SenderKeys:
    """Keys by ``kid``, from a key set (JWKS) that was given, or fetched from one address.

    A fetched set is kept for minutes; a key that is not in it has it fetched anew, so a sender may
    change its keys at any time.
    """

    def __init__(
        self,
        *,
        keys: Mapping[str, object] | str | Path | None,
        url: str,
        http: httpx2.AsyncClient | None,
        clock: Clock,
    ) -> None:
        """Take a key set as data or as a file, or the URL of one, or both.

        Raises:
            UsageError: the set cannot be read, or the URL is none to fetch keys from.
        """
        given = () if keys is None else (keys,)
        self._trusted = TrustedKeys(*given, jku=(url,) if url else (), http=http, clock=clock)
        self._url = url
        self._clock = clock
        self._lock = asyncio.Lock()
        self._again_ms = 0
        self._known: set[str] = set()

    async def find(self, kid: str) -> tuple[Key, ...]:
        """Return the keys of that name.

        Raises:
            UnauthenticatedError: there is none.
            UnavailableError: they could not be fetched; trying again may help.
        """
        async with self._lock:
            # While the address is left alone, keys of before are still good, in their time.
            is_asked = kid in self._known or not self._is_paused()
            try:
                found = await self._trusted.find(kid, self._url if is_asked else "")
            except KeysOutOfReachError as error:
                self._again_ms = self._clock.now_ms() + _PAUSE_MS
                raise self._unavailable() from error
            except NoKeyError as error:
                if self._is_paused():
                    raise self._unavailable() from None
                raise UnauthenticatedError(f"The JWT cannot be verified: {error}") from None
            self._known.add(kid)
            return found

    def _is_paused(self) -> bool:
        return self._clock.now_ms() < self._again_ms

    def _unavailable(self) -> UnavailableError:
        return UnavailableError(
            "The keys of the sender cannot be fetched now", retry_after_seconds=_PAUSE_MS / 1000
        )
