"""The extended card at ``/v1/card``, where peers do not agree on its shape.

Some servers and clients have it as the JSON schema says, others as ProtoJSON (0.x reference, 4.5).
They differ in nothing but the security members, and both are read. Written is one document for
both: the schema's, whose security schemes hold the proto's members beside their own. Of the
requirements there can be one shape only, the schema's; a reader of ProtoJSON finds none in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.dialects.legacy.card_0_3 import card_members, decode_card
from dragoman.dialects.legacy.security_0_3 import flat_requirement, flat_scheme, wrapped_scheme

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentCard
    from dragoman.model.security import SecurityScheme

__all__ = ("decode_card", "encode_card")

_encode: Final = msgspec.json.Encoder().encode


def encode_card(card: AgentCard) -> bytes:
    """Write a card that offers the interfaces of 0.3 which have no tenant."""
    return _encode(card_members(card, _scheme, flat_requirement))


def _scheme(scheme: SecurityScheme) -> JsonObject:
    return {**flat_scheme(scheme), **wrapped_scheme(scheme)}
