"""CardTrust: whose signature a card must have before its agent is called."""

from __future__ import annotations

from msgspec import Struct

from dragoman.auth.cards.forms import MODEL_FORMS
from dragoman.auth.cards.keys import TrustedKeys
from dragoman.auth.cards.signing import verify_card
from dragoman.client.discovery.cards import CardReading
from dragoman.client.discovery.finding import FoundCard
from dragoman.client.errors import CardUntrustedError
from dragoman.dialects.v1_0.card import decode_card

__all__ = ("CardTrust", "trust_of")


class CardTrust(Struct, frozen=True):
    """The keys of which one must have signed the card.

    Attributes:
        allow_stripped: also trust a signature that leaves out what is empty in the card, as some
            SDKs make them; see ``dragoman.auth.cards.signing``.
    """

    keys: TrustedKeys
    allow_stripped: bool = False

    async def checked(self, found: FoundCard) -> FoundCard:
        """Return a card as far as it is signed.

        Raises:
            CardUntrustedError: it is not signed, or by nobody who is trusted; says which.
        """
        seen = await verify_card(found.document, self.keys, allow_stripped=self.allow_stripped)
        # R-8.4.3-3, R-14.3-6.
        if seen.outcome != "verified":
            raise CardUntrustedError(
                found.url or "the card", seen.reason, is_signed=seen.outcome != "absent"
            )
        if seen.form not in MODEL_FORMS:
            return found
        # What else it says, in the words of other versions, anybody may have added.
        return found._replace(reading=CardReading(decode_card(found.document)))


def trust_of(given: CardTrust | TrustedKeys) -> CardTrust:
    """Return what a user demands of a card, who may just name the keys."""
    return CardTrust(given) if isinstance(given, TrustedKeys) else given
