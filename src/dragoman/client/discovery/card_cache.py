"""CardCache: cards that were fetched, for as long as they may be kept (RFC 9111).

R-8.6.2-1, R-8.6.2-2. A card without caching headers is asked for again each time (R-8.6.2-3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

__all__ = ("CardCache", "KeptCard")

MAX_CARDS: Final = 64
"""Agents that one program calls are few; the oldest card makes room."""

_MAX_AGE: Final = re.compile(r"\bmax-age=(\d{1,9})\b", re.IGNORECASE | re.ASCII)

Key = tuple[str, frozenset[tuple[str, str]]]


class KeptCard(Struct, frozen=True, gc=False):
    """A card as it came.

    Attributes:
        fresh_until_ms: until when it needs no asking.
        powered_by: what the server says of its software, "" if nothing.
    """

    body: bytes
    etag: str
    last_modified: str
    fresh_until_ms: int
    powered_by: str

    def validators(self) -> dict[str, str]:
        """Return the headers that ask whether it is still good."""
        if self.etag:
            return {"If-None-Match": self.etag}
        return {"If-Modified-Since": self.last_modified} if self.last_modified else {}


class CardCache:
    """The cards of one process, by address and by what was sent along."""

    def __init__(self) -> None:
        self._cards: dict[Key, KeptCard] = {}

    def find(self, url: str, headers: Mapping[str, str]) -> KeptCard | None:
        """Return a card that was kept, fresh or not."""
        return self._cards.get(_key(url, headers))

    def keep(
        self,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        answer: Mapping[str, str],
        now_ms: int,
    ) -> None:
        """Keep a card as long as the headers of its answer allow, or not at all."""
        key = _key(url, headers)
        self._cards.pop(key, None)
        directives = answer.get("cache-control", "")
        kept = KeptCard(
            body,
            answer.get("etag", ""),
            answer.get("last-modified", ""),
            now_ms + 1000 * _max_age(directives),
            answer.get("x-powered-by", ""),
        )
        if "no-store" in directives.lower():
            return
        if kept.fresh_until_ms > now_ms or kept.validators():
            while len(self._cards) >= MAX_CARDS:
                del self._cards[next(iter(self._cards))]
            self._cards[key] = kept


def _max_age(directives: str) -> int:
    found = _MAX_AGE.search(directives)
    return int(found[1]) if found and "no-cache" not in directives.lower() else 0


def _key(url: str, headers: Mapping[str, str]) -> Key:
    return url, frozenset(headers.items())
