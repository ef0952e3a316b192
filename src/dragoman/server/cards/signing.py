"""Signed cards: what the agent publishes, signed with keys of its own, and those keys to verify it.

The first key signs. The others are published beside it, so that keys can change while signatures of
the one before are still about: add the new key behind the old one, then put it in front, then drop
the old one when no card of its time is cached any more.

Who signs a card vouches for the addresses in it. So only cards for the configured public address
are signed: an address worked out from a request is the word of whoever sent it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, cast

import msgspec

from dragoman.auth.cards.signing import CardSigner
from dragoman.errors import UsageError
from dragoman.model.base import JsonObject
from dragoman.model.cards import AgentCard
from dragoman.server.http.cards import JWKS_PATH

__all__ = ("CardSigning",)


class CardSigning:
    """Signs what the card desk hands out.

    Attributes:
        public_keys: the public halves of all keys, as they are published (JWK, RFC 7517).
    """

    def __init__(self, keys: Sequence[str | Path], public_url: str | None) -> None:
        """Read the keys, each a file.

        Raises:
            UsageError: a key cannot be read or used, two have the same name, or there is no public
                address.
        """
        if not public_url:
            raise UsageError(
                "card_key: a signed card names the address of the agent; say it with --public-url"
            )
        jku = f"{public_url.rstrip('/')}{JWKS_PATH}"
        signers = [CardSigner(key, jku=jku) for key in keys]
        published = [key for signer in signers for key in signer.public_keys["keys"]]
        names = [key["kid"] for key in published]
        if len(set(names)) < len(names):
            raise UsageError("card_key: two of the keys have the same kid")
        self._signer = signers[0]
        self.public_keys: Final = tuple(published)

    def sign(self, card: AgentCard) -> AgentCard:
        """Return a card with its signatures, which cover its form of 1.0."""
        return self._signer.signed(card)

    def signed(self, document: bytes) -> bytes:
        """Return a card of 1.0 or 0.3 with its signatures (R-8.4.2-1; 0.x reference, 4.6)."""
        card = cast("JsonObject", msgspec.json.decode(document))
        made = msgspec.to_builtins(self._signer.signatures(document))
        return msgspec.json.encode({**card, "signatures": made})
