"""The agent card in the JSON of 0.2 and 0.3."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, cast

import msgspec

from dragoman.dialects.base import OLD_CARD_PATH, CardRules, Evidence
from dragoman.dialects.fields import Fields
from dragoman.dialects.legacy.card_0_3 import card_members, decode_card, read_card, stated_series
from dragoman.dialects.legacy.security_0_3 import flat_requirement, flat_scheme

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentCard

__all__ = ("CARD", "CARD_0_2", "decode_card", "encode_card")

_encode: Final = msgspec.json.Encoder().encode

_MEMBERS_0_2: Final = (
    "additionalInterfaces",
    "preferredTransport",
    "securitySchemes",
    "security",
    "iconUrl",
    "supportsAuthenticatedExtendedCard",
)


def encode_card(card: AgentCard) -> bytes:
    """Write a card that offers the interfaces of 0.3 which have no tenant."""
    members = card_members(card, flat_scheme, flat_requirement)
    # 5.15: it never meant anything, and is denied.
    cast("JsonObject", members["capabilities"])["stateTransitionHistory"] = False
    return _encode(members)


# --- cards as they are found --------------------------------------------------------------------


def _states(version: str, card: Fields, _: str) -> bool:
    return stated_series(card) == version


def _read(version: str, card: Fields, *_: object) -> AgentCard:
    return read_card(card, version)


def _has_members_0_3(card: Fields, _: str) -> bool:
    schemes = (card.free("securitySchemes") or {}).values()
    return (
        "signatures" in card
        or any(Fields(scheme).text("type") == "mutualTLS" for scheme in schemes)
        or any("security" in Fields(*item) for item in card.items("skills"))
    )


def _has_members_0_2(card: Fields, _: str) -> bool:
    if any(name in card for name in _MEMBERS_0_2):
        return True
    capabilities = card.at("capabilities")
    return capabilities is not None and "extensions" in capabilities


def _is_complete(card: Fields, _: str) -> bool:
    """Tell whether a card has what 0.2 requires and 0.1 does not."""
    provider = card.at("provider")
    modes = [card.texts(name) for name in ("defaultInputModes", "defaultOutputModes")]
    skills = [Fields(*item) for item in card.items("skills")]
    return (
        all("description" in skill and "tags" in skill for skill in skills)
        and (provider is None or "url" in provider)
        and all(modes)
        and not any("text" in each for each in modes)
    )


CARD: Final = CardRules(
    encode=encode_card,
    read=partial(_read, "0.3"),
    evidence={
        Evidence.STATED: partial(_states, "0.3"),
        Evidence.MEMBERS: _has_members_0_3,
        Evidence.LIKELY: lambda _, place: not place.endswith(OLD_CARD_PATH),
    },
    is_signed=True,
)
CARD_0_2: Final = CardRules(
    encode=encode_card,
    read=partial(_read, "0.2"),
    evidence={
        Evidence.STATED: partial(_states, "0.2"),
        Evidence.MEMBERS: _has_members_0_2,
        Evidence.LIKELY: _is_complete,
    },
)
