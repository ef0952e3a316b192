"""The agent card in 1.0."""

from __future__ import annotations

from typing import Final

import msgspec

from dragoman.dialects.v1_0.decode import Form
from dragoman.model.cards import AgentCard

__all__ = ("decode_card", "encode_card")

_ENCODER: Final = msgspec.json.Encoder()
_FORM: Final = Form(AgentCard, is_answer=True)


def encode_card(card: AgentCard) -> bytes:
    """Write a card. REQUIRED fields have no default in the model, so empty ones are written too."""
    return _ENCODER.encode(card)


def decode_card(data: bytes) -> AgentCard:
    """Read a card as clients do; required arrays may be empty (Q-20), or left out.

    Raises:
        JSONParseError, InvalidParamsError: it is not a card of this version.
    """
    return _FORM.decode(data)
