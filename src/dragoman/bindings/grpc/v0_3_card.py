"""The agent card in the proto of 0.3 (0.x reference, 4.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.bindings.grpc.forms import MessageForm
from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy.card_0_3 import card_members, read_card
from dragoman.dialects.legacy.security_0_3 import wrapped_requirement, wrapped_scheme

if TYPE_CHECKING:
    from dragoman.model.cards import AgentCard

__all__ = ("decode_card", "encode_card")

_FORM: Final = MessageForm("a2a.v1.AgentCard")


def encode_card(card: AgentCard) -> bytes:
    """Write a card that offers the interfaces of 0.3 which have no tenant."""
    return _FORM.write(card_members(card, wrapped_scheme, wrapped_requirement))


def decode_card(data: bytes) -> AgentCard:
    """Read a card.

    Raises:
        InvalidRequestError, InvalidParamsError: it is none.
    """
    return read_card(Fields(_FORM.read(data)))
