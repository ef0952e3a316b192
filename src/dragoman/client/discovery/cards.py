"""Reading a card of any version: what it offers, told by its evidence (0.x reference, 6.4).

Cards before 0.2.5 do not say which version they are of, and later ones do not always; what else
they hold tells it. What remains doubtful is settled by the first call: see ``fallback``.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from dragoman.client.discovery.addresses import OLD_CARD_PATH
from dragoman.client.errors import CardInvalidError
from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.card_0_3 import read_card as read_card_0_3
from dragoman.dialects.legacy.security_0_3 import read_requirements, read_schemes
from dragoman.dialects.v0_1.card import decode_card as decode_card_0_1
from dragoman.dialects.v1_0.card import decode_card as decode_card_1_0
from dragoman.errors import InvalidParamsError, JSONParseError
from dragoman.model.base import is_object
from dragoman.model.cards import AgentCard

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("CardReading", "is_card", "read_card")

_logger = logging.getLogger(__name__)

_encode: Final = msgspec.json.Encoder().encode

_SINCE_0_2: Final = ("securitySchemes", "security", "iconUrl", "supportsAuthenticatedExtendedCard")


class CardReading(NamedTuple):
    """A card that was read.

    Attributes:
        card: its interfaces have the version that the evidence tells.
        is_xpr: it has members of XPR, whose agents are called beside the address they publish.
    """

    card: AgentCard
    is_xpr: bool = False


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
        card = Fields(read_json(data))
        if card.get("supportedInterfaces"):
            return CardReading(_read_1_0(card, data, place))
        is_xpr = any(name.startswith("xpr:") for name in card.whole)
        version = _version_of(card, is_xpr=is_xpr, is_old_path=place.endswith(OLD_CARD_PATH))
        return CardReading(_read_old(card, data, version), is_xpr)
    except (JSONParseError, InvalidParamsError) as refused:
        raise CardInvalidError(place, refused.message) from None


# --- 1.0 ----------------------------------------------------------------------------------------


def _read_1_0(card: Fields, data: bytes, place: str) -> AgentCard:
    try:
        found = decode_card_1_0(data)
    except InvalidParamsError as refused:
        found = _reread_1_0(card, refused)
    if "security" in card and "securityRequirements" not in card:
        # the sample card of 1.0.1 itself still has the older member.
        _logger.warning("the card at %s says security in the words of 0.3; it is understood", place)
        found = replace(found, security_requirements=read_requirements(card, read_schemes(card)[1]))
    return found


def _reread_1_0(card: Fields, first: InvalidParamsError) -> AgentCard:
    """Read a card that departs from the text: interfaces without a version, schemes of 0.3."""
    members = dict(card.whole)
    members["supportedInterfaces"] = [
        {"protocolVersion": "1.0", **Fields(item, place).whole}
        for item, place in card.items("supportedInterfaces")
    ]
    schemes = card.free("securitySchemes") or {}
    is_old = any(is_object(scheme) and "type" in scheme for scheme in schemes.values())
    if is_old:
        members.pop("securitySchemes")
    try:
        found = decode_card_1_0(_encode(members))
    except InvalidParamsError:
        raise first from None
    return replace(found, security_schemes=read_schemes(card)[0]) if is_old else found


# --- 0.x ----------------------------------------------------------------------------------------


def _version_of(card: Fields, *, is_xpr: bool, is_old_path: bool) -> str:
    """Return the version of a card without ``supportedInterfaces``: the first evidence counts."""
    stated = card.text("protocolVersion")
    evidence: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: stated.startswith(("1.", "0.3", "0.2")), ".".join(stated.split(".")[:2])),
        (lambda: "signatures" in card or _has_0_3_security(card), "0.3"),
        (lambda: "additionalInterfaces" in card or "preferredTransport" in card, "0.2"),
        (lambda: any(name in card for name in _SINCE_0_2) or _has_extensions(card), "0.2"),
        (lambda: is_xpr, "0.2"),
        (lambda: "authentication" in card, "0.1"),
        (lambda: not is_old_path, "0.3"),
        (lambda: _is_complete(card), "0.2"),
    )
    return next((version for holds, version in evidence if holds()), "0.1")


def _has_0_3_security(card: Fields) -> bool:
    schemes = (card.free("securitySchemes") or {}).values()
    has_mtls = any(Fields(scheme).text("type") == "mutualTLS" for scheme in schemes)
    return has_mtls or any("security" in Fields(*item) for item in card.items("skills"))


def _has_extensions(card: Fields) -> bool:
    capabilities = card.at("capabilities")
    return capabilities is not None and "extensions" in capabilities


def _is_complete(card: Fields) -> bool:
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


def _read_old(card: Fields, data: bytes, version: str) -> AgentCard:
    if version == "0.1":
        try:
            return decode_card_0_1(data)
        except InvalidParamsError:
            pass  # A sloppy card is read member by member.
    found = read_card_0_3(card)
    interfaces = tuple(
        replace(interface, protocol_version=version) for interface in found.supported_interfaces
    )
    return replace(found, supported_interfaces=interfaces)
