"""The agent card in the JSON of 0.2 and 0.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from dragoman.dialects.legacy.card_0_3 import card_members, decode_card
from dragoman.dialects.legacy.security_0_3 import flat_requirement, flat_scheme

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentCard

__all__ = ("decode_card", "encode_card")

_encode: Final = msgspec.json.Encoder().encode


def encode_card(card: AgentCard) -> bytes:
    """Write a card that offers the interfaces of 0.3 which have no tenant."""
    members = card_members(card, flat_scheme, flat_requirement)
    # 5.15: it never meant anything, and is denied.
    cast("JsonObject", members["capabilities"])["stateTransitionHistory"] = False
    return _encode(members)
