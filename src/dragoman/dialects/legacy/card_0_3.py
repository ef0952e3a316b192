"""The agent card of 0.2 and 0.3, both ways (0.x reference, 3.4 and 5.2).

The forms of 0.3 agree on all of it but the shape of its security members: ``security_0_3`` has
both shapes. So there is one reader, and a writer that is told which shape to write. Nothing here
knows a form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.security_0_3 import read_requirements, read_schemes
from dragoman.dialects.legacy.tolerant import media_type
from dragoman.model.base import is_object
from dragoman.model.cards import (
    AgentCapabilities,
    AgentCard,
    AgentCardSignature,
    AgentExtension,
    AgentInterface,
    AgentProvider,
    AgentSkill,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.dialects.legacy.security_0_3 import Variants
    from dragoman.model.base import JsonObject
    from dragoman.model.security import SecurityRequirement, SecurityScheme

__all__ = ("card_members", "decode_card", "read_card", "stated_series", "without_defaults")

_VERSION: Final = "0.3.0"
_SERIES: Final = "0.3"
_JSONRPC: Final = "JSONRPC"
_DEFAULTS: Final = {"protocolVersion": _VERSION, "preferredTransport": _JSONRPC}
_DEFAULT_MODES: Final = ("text/plain",)


# --- writing ------------------------------------------------------------------------------------


def card_members(
    card: AgentCard,
    scheme: Callable[[SecurityScheme], JsonObject],
    requirement: Callable[[SecurityRequirement], JsonObject],
) -> JsonObject:
    """Return the members of a card that offers the interfaces of 0.3, as plain data.

    Those with a tenant are left out, because a client of 0.3 does not send it back. Signatures are
    made over the card of another version and are left out too.
    """
    offers = [
        {"url": interface.url, "transport": interface.protocol_binding}
        for interface in card.supported_interfaces
        if interface.protocol_version.startswith(_SERIES) and not interface.tenant
    ]
    primary = offers[0] if offers else {"url": "", "transport": _JSONRPC}
    schemes = {name: scheme(value) for name, value in card.security_schemes.items()}
    members: JsonObject = {
        "protocolVersion": _VERSION,
        "name": card.name,
        "description": card.description,
        "url": primary["url"],
        "preferredTransport": primary["transport"],
        # R03-5.6.2-1: the primary one is repeated.
        "additionalInterfaces": offers,
        "provider": msgspec.to_builtins(card.provider),
        "version": card.version,
        "documentationUrl": card.documentation_url,
        "iconUrl": card.icon_url,
        "capabilities": _capabilities(card.capabilities),
        "supportsAuthenticatedExtendedCard": card.capabilities.extended_agent_card,
        "securitySchemes": schemes or None,
        "security": [requirement(needed) for needed in card.security_requirements] or None,
        "defaultInputModes": card.default_input_modes,
        "defaultOutputModes": card.default_output_modes,
        "skills": [_skill(skill, requirement) for skill in card.skills],
    }
    return {name: value for name, value in members.items() if value is not None}


def _capabilities(capabilities: AgentCapabilities) -> JsonObject:
    members: JsonObject = msgspec.to_builtins(capabilities)
    members.pop("extendedAgentCard", None)
    if capabilities.extensions:
        members["extensions"] = [
            {"uri": extension.uri, **msgspec.to_builtins(extension)}
            for extension in capabilities.extensions
        ]
    return members


def _skill(
    skill: AgentSkill, requirement: Callable[[SecurityRequirement], JsonObject]
) -> JsonObject:
    members: JsonObject = msgspec.to_builtins(skill)
    if members.pop("securityRequirements", None):
        members["security"] = [requirement(needed) for needed in skill.security_requirements]
    return members


def without_defaults(card: JsonObject) -> JsonObject:
    """Return a card without what is at the defaults of the Python SDK's types, as it is signed."""
    kept = {name: value for name, value in card.items() if _DEFAULTS.get(name) != value}
    schemes = kept.get("securitySchemes")
    if is_object(schemes):
        kept["securitySchemes"] = {name: _without_kind(one) for name, one in schemes.items()}
    return kept


def _without_kind(scheme: object) -> object:
    if not is_object(scheme):
        return scheme
    return {name: value for name, value in scheme.items() if name != "type"}


# --- reading ------------------------------------------------------------------------------------


def decode_card(data: bytes) -> AgentCard:
    """Read a card from JSON.

    Raises:
        JSONParseError, InvalidParamsError: it is none.
    """
    return read_card(Fields(read_json(data)))


def read_card(card: Fields, version: str = "") -> AgentCard:
    """Read a card from plain data; members that are not known are ignored.

    Args:
        version: what its interfaces are called by, in place of what the card says.
    """
    schemes, variants = read_schemes(card)
    capabilities = card.at("capabilities") or Fields({})
    return AgentCard(
        name=card.required_text("name"),
        description=card.text("description"),
        supported_interfaces=_read_interfaces(card, version or stated_series(card) or "0.2"),
        provider=_read_provider(card),
        version=card.text("version"),
        documentation_url=card.optional_text("documentationUrl"),
        capabilities=AgentCapabilities(
            streaming=capabilities.flag("streaming"),
            push_notifications=capabilities.flag("pushNotifications"),
            extensions=tuple(
                [_read_extension(Fields(*item)) for item in capabilities.items("extensions")]
            ),
            # The second name is that of drafts between 0.3 and 1.0.
            extended_agent_card=card.flag(
                "supportsAuthenticatedExtendedCard", "supportsExtendedAgentCard"
            ),
        ),
        security_schemes=schemes,
        security_requirements=read_requirements(card, variants),
        default_input_modes=_read_modes(card, "defaultInputModes", _DEFAULT_MODES),
        default_output_modes=_read_modes(card, "defaultOutputModes", _DEFAULT_MODES),
        skills=tuple([_read_skill(Fields(*item), variants) for item in card.items("skills")]),
        signatures=tuple([_read_signature(Fields(*item)) for item in card.items("signatures")]),
        icon_url=card.optional_text("iconUrl"),
    )


def stated_series(card: Fields) -> str:
    """Return Major.Minor of the version that a card states, "" if it states none."""
    # 3.1: cards say their version since 0.2.5.
    return ".".join(card.text("protocolVersion").split(".")[:2])


def _read_interfaces(card: Fields, version: str) -> tuple[AgentInterface, ...]:
    url = card.required_text("url")
    offered = [(url, card.text("preferredTransport") or _JSONRPC)]
    for item in card.items("additionalInterfaces"):
        interface = Fields(*item)
        offered.append((interface.required_text("url"), interface.required_text("transport")))
    return tuple(
        AgentInterface(url=url, protocol_binding=transport, protocol_version=version)
        for url, transport in dict.fromkeys(offered)
    )


def _read_provider(card: Fields) -> AgentProvider | None:
    provider = card.at("provider")
    if provider is None:
        return None
    # Required, and left out all the same; the agent itself is as near as one gets.
    url = provider.text("url") or card.text("url")
    return AgentProvider(url=url, organization=provider.required_text("organization"))


def _read_modes(holder: Fields, name: str, otherwise: tuple[str, ...] = ()) -> tuple[str, ...]:
    if name not in holder:
        return otherwise
    return tuple([media_type(mode) for mode in holder.texts(name)])


def _read_extension(extension: Fields) -> AgentExtension:
    return AgentExtension(
        uri=extension.text("uri"),
        description=extension.text("description"),
        required=extension.flag("required") or False,
        params=extension.free("params"),
    )


def _read_skill(skill: Fields, variants: Variants) -> AgentSkill:
    # What is empty is left out by ProtoJSON, and not allowed in 1.0.
    skill_id = skill.required_text("id")
    name = skill.text("name") or skill_id
    return AgentSkill(
        id=skill_id,
        name=name,
        description=skill.text("description") or name,
        tags=skill.texts("tags") if "tags" in skill else (skill_id,),
        examples=skill.texts("examples"),
        input_modes=_read_modes(skill, "inputModes"),
        output_modes=_read_modes(skill, "outputModes"),
        security_requirements=read_requirements(skill, variants),
    )


def _read_signature(signature: Fields) -> AgentCardSignature:
    return AgentCardSignature(
        protected=signature.required_text("protected"),
        signature=signature.required_text("signature"),
        header=signature.free("header"),
    )
