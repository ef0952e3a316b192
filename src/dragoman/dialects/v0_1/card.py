"""The agent card in 0.1 (0.x reference, 2.1 and 5.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.dialects.base import CardRules, Evidence
from dragoman.dialects.legacy.card_0_3 import read_card
from dragoman.dialects.legacy.tolerant import media_type
from dragoman.dialects.negotiation import V0_1, parse_version
from dragoman.dialects.v0_1.authentication import (
    AgentAuthentication,
    decode_authentication,
    encode_authentication,
)
from dragoman.dialects.v0_1.wire import Wire
from dragoman.dialects.violations import DECODER_ERRORS, refusal_of
from dragoman.errors import InvalidParamsError
from dragoman.model import cards
from dragoman.model.base import NonEmpty

if TYPE_CHECKING:
    from dragoman.dialects.fields import Fields

__all__ = ("CARD", "decode_card", "encode_card")

_DEFAULT_MODES: Final = ("text/plain",)
_JSONRPC: Final = "JSONRPC"


class Provider(Wire, frozen=True, kw_only=True):
    """Who runs the agent."""

    organization: str
    url: str | None = None


class Capabilities(Wire, frozen=True, kw_only=True):
    """What the agent does beyond the least. ``stateTransitionHistory`` never meant anything."""

    streaming: bool | None = None
    push_notifications: bool | None = None


class Skill(Wire, frozen=True, kw_only=True):
    """One ability of the agent."""

    id: NonEmpty
    name: NonEmpty
    description: str | None = None
    tags: tuple[str, ...] | None = None
    examples: tuple[str, ...] | None = None
    input_modes: tuple[str, ...] | None = None
    output_modes: tuple[str, ...] | None = None


class Card(Wire, frozen=True, kw_only=True):
    """Self-description of an agent."""

    name: NonEmpty
    description: str | None = None
    url: str
    provider: Provider | None = None
    version: str
    documentation_url: str | None = None
    capabilities: Capabilities
    authentication: AgentAuthentication | None = None
    default_input_modes: tuple[str, ...] | None = None
    default_output_modes: tuple[str, ...] | None = None
    skills: tuple[Skill, ...]


_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(Card).decode


def encode_card(card: cards.AgentCard) -> bytes:
    """Write a card for readers of 0.1.

    Its address is that of the first interface of this version, "" if the agent has none: who
    publishes the card sees to it that there is one.
    """
    return _encode(
        Card(
            name=card.name,
            description=card.description,
            url=next((offer.url for offer in card.supported_interfaces if _is_ours(offer)), ""),
            provider=_encode_provider(card.provider),
            version=card.version,
            documentation_url=card.documentation_url,
            capabilities=Capabilities(
                streaming=card.capabilities.streaming,
                push_notifications=card.capabilities.push_notifications,
            ),
            authentication=encode_authentication(card),
            default_input_modes=card.default_input_modes,
            default_output_modes=card.default_output_modes,
            skills=tuple(_encode_skill(skill) for skill in card.skills),
        )
    )


def decode_card(data: bytes) -> cards.AgentCard:
    """Read a card. Where 0.1 leaves out what 1.0 requires, it is empty; tags are the skill's id.

    Raises:
        JSONParseError, InvalidParamsError: it is not a card of this version.
    """
    try:
        card = _decode(data)
    except DECODER_ERRORS as refused:
        raise refusal_of(refused) from None
    schemes, requirements = decode_authentication(card.authentication)
    return cards.AgentCard(
        name=card.name,
        description=card.description or "",
        supported_interfaces=(
            cards.AgentInterface(
                url=card.url, protocol_binding=_JSONRPC, protocol_version=str(V0_1)
            ),
        ),
        provider=_decode_provider(card.provider),
        version=card.version,
        documentation_url=card.documentation_url,
        capabilities=cards.AgentCapabilities(
            streaming=card.capabilities.streaming,
            push_notifications=card.capabilities.push_notifications,
        ),
        security_schemes=schemes,
        security_requirements=requirements,
        default_input_modes=_media_types(card.default_input_modes, _DEFAULT_MODES),
        default_output_modes=_media_types(card.default_output_modes, _DEFAULT_MODES),
        skills=tuple(_decode_skill(skill) for skill in card.skills),
    )


def _is_ours(offer: cards.AgentInterface) -> bool:
    return (
        offer.protocol_binding == _JSONRPC
        and parse_version(offer.protocol_version) == V0_1
        # 5.2: a client of 0.1 repeats no tenant, so a tenant must be part of the address.
        and (not offer.tenant or offer.tenant in offer.url.split("/"))
    )


def _encode_provider(provider: cards.AgentProvider | None) -> Provider | None:
    if provider is None:
        return None
    return Provider(organization=provider.organization, url=provider.url or None)


def _decode_provider(provider: Provider | None) -> cards.AgentProvider | None:
    if provider is None:
        return None
    return cards.AgentProvider(organization=provider.organization, url=provider.url or "")


def _encode_skill(skill: cards.AgentSkill) -> Skill:
    return Skill(
        id=skill.id,
        name=skill.name,
        description=skill.description or None,
        tags=skill.tags,
        examples=skill.examples or None,
        input_modes=skill.input_modes or None,
        output_modes=skill.output_modes or None,
    )


def _decode_skill(skill: Skill) -> cards.AgentSkill:
    return cards.AgentSkill(
        id=skill.id,
        name=skill.name,
        description=skill.description or "",
        tags=(skill.id,) if skill.tags is None else skill.tags,
        examples=skill.examples or (),
        input_modes=_media_types(skill.input_modes, ()),
        output_modes=_media_types(skill.output_modes, ()),
    )


def _media_types(modes: tuple[str, ...] | None, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    return otherwise if modes is None else tuple(media_type(mode) for mode in modes)


def _read(card: Fields, data: bytes, _: str) -> cards.AgentCard:
    try:
        return decode_card(data)
    except InvalidParamsError:
        return read_card(card, str(V0_1))  # A sloppy card is read member by member.


CARD: Final = CardRules(
    encode=encode_card,
    read=_read,
    evidence={
        Evidence.MEMBERS: lambda card, _: "authentication" in card,
        Evidence.LIKELY: lambda _, __: True,
    },
)
