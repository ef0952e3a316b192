"""The agent card in 1.0."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from dragoman.dialects.base import CardRules, Evidence
from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy import card_0_3
from dragoman.dialects.legacy.security_0_3 import read_requirements, read_schemes
from dragoman.dialects.negotiation import V1_0
from dragoman.dialects.v1_0.decode import Form
from dragoman.errors import InvalidParamsError
from dragoman.model.base import is_object
from dragoman.model.cards import AgentCard

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = ("CARD", "decode_card", "encode_card")

_logger = logging.getLogger(__name__)

_ENCODER: Final = msgspec.json.Encoder()
_FORM: Final = Form(AgentCard, is_answer=True)
_INTERFACES: Final = "supportedInterfaces"


def encode_card(card: AgentCard) -> bytes:
    """Write a card. REQUIRED fields have no default in the model, so empty ones are written too."""
    return _ENCODER.encode(card)


def decode_card(data: bytes) -> AgentCard:
    """Read a card as clients do; required arrays may be empty (Q-20), or left out.

    Raises:
        JSONParseError, InvalidParamsError: it is not a card of this version.
    """
    return _FORM.decode(data)


# --- cards as they are found --------------------------------------------------------------------


def _read(card: Fields, data: bytes, place: str) -> AgentCard:
    if not card.get(_INTERFACES):
        # It says 1.0 and is laid out as in 0.3.
        return card_0_3.read_card(card)
    try:
        found = decode_card(data)
    except InvalidParamsError as refused:
        found = _reread(card, refused)
    if "security" in card and "securityRequirements" not in card:
        # the sample card of 1.0.1 itself still has the older member.
        _logger.warning("the card at %s says security in the words of 0.3; it is understood", place)
        found = replace(found, security_requirements=read_requirements(card, read_schemes(card)[1]))
    return found


def _reread(card: Fields, first: InvalidParamsError) -> AgentCard:
    """Read a card that departs from the text: interfaces without a version, schemes of 0.3."""
    members: JsonObject = dict(card.whole)
    members[_INTERFACES] = [
        {"protocolVersion": str(V1_0), **Fields(item, place).whole}
        for item, place in card.items(_INTERFACES)
    ]
    schemes = card.free("securitySchemes") or {}
    is_old = any(is_object(scheme) and "type" in scheme for scheme in schemes.values())
    if is_old:
        members.pop("securitySchemes")
    try:
        found = decode_card(_ENCODER.encode(members))
    except InvalidParamsError:
        raise first from None
    return replace(found, security_schemes=read_schemes(card)[0]) if is_old else found


CARD: Final = CardRules(
    encode=encode_card,
    read=_read,
    evidence={
        Evidence.SHAPE: lambda card, _: bool(card.get(_INTERFACES)),
        # A minor version that is not known is named to the user, and not taken for an older one.
        Evidence.STATED: lambda card, _: card.text("protocolVersion").startswith("1."),
    },
    has_tenants=True,
    is_signed=True,
    is_open=False,
)
