"""CardReading: a card of any version, as a client has it.

What remains doubtful about its version is settled by the first call: see ``fallback``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dragoman.client.errors import CardInvalidError
from dragoman.dialects import registry
from dragoman.dialects.fields import Fields, read_json
from dragoman.errors import InvalidParamsError, JSONParseError
from dragoman.model.cards import AgentCard

if TYPE_CHECKING:
    from dragoman.dialects.profiles.base import CalledProfile

__all__ = ("CardReading", "is_card", "read_card")


class CardReading(NamedTuple):
    """A card that was read.

    Attributes:
        card: its interfaces have the version that the evidence tells.
        profiles: those that the card shows its agent to speak.
    """

    card: AgentCard
    profiles: tuple[CalledProfile, ...] = ()


def is_card(data: bytes) -> bool:
    """Tell whether this could be meant as a card: an object with a name and an address."""
    try:
        card = Fields(read_json(data))
    except (JSONParseError, InvalidParamsError):
        return False
    return "name" in card and ("url" in card or "supportedInterfaces" in card)


def read_card(data: bytes, place: str) -> CardReading:
    """Read a card that was found at ``place``, a URL or a path.

    Raises:
        CardInvalidError: it is none.
    """
    try:
        return CardReading(*registry.read_card(data, place))
    except (JSONParseError, InvalidParamsError) as refused:
        raise CardInvalidError(place, refused.message) from None
