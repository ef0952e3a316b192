"""The extended card at ``/v1/card``, where peers do not agree on its shape.

Some servers and clients have it as the JSON schema says, others as ProtoJSON (0.x reference, 4.5).
They differ in nothing but the security members, and both are read. Written is one document for
both: the schema's, whose security schemes hold the proto's members beside their own. Of the
requirements there can be one shape only, the schema's; a reader of ProtoJSON finds none in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.tolerant import media_type
from dragoman.dialects.violations import DECODER_ERRORS, refusal_of
from dragoman.model.cards import AgentCard

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentSkill
    from dragoman.model.security import SecurityRequirement, SecurityScheme

__all__ = ("decode_card", "encode_card")

_VERSION: Final = "0.3.0"
_SERIES: Final = "0.3"
_JSONRPC: Final = "JSONRPC"
_DEFAULT_MODES: Final = ("text/plain",)

# The member of the proto and the ``type`` of the schema.
_SCHEME_TYPES: Final = {
    "apiKeySecurityScheme": "apiKey",
    "httpAuthSecurityScheme": "http",
    "oauth2SecurityScheme": "oauth2",
    "openIdConnectSecurityScheme": "openIdConnect",
    "mtlsSecurityScheme": "mutualTLS",
}
_SCHEME_MEMBERS: Final = {kind: member for member, kind in _SCHEME_TYPES.items()}
_FLOWS: Final = ("authorizationCode", "clientCredentials", "implicit", "password", "deviceCode")

_encode: Final = msgspec.json.Encoder().encode

# --- writing ------------------------------------------------------------------------------------


def encode_card(card: AgentCard) -> bytes:
    """Write a card that offers the interfaces of 0.3.

    Those with a tenant are left out, because a client of 0.3 does not send it back. Signatures are
    made over the card of another version and are left out too.
    """
    offers = [
        {"url": interface.url, "transport": interface.protocol_binding}
        for interface in card.supported_interfaces
        if interface.protocol_version.startswith(_SERIES) and not interface.tenant
    ]
    primary = offers[0] if offers else {"url": "", "transport": _JSONRPC}
    members: JsonObject = {
        "protocolVersion": _VERSION,
        "name": card.name,
        "description": card.description,
        "url": primary["url"],
        "preferredTransport": primary["transport"],
        # R03-5.6.2-1: the primary one is repeated.
        "additionalInterfaces": offers,
        "provider": card.provider,
        "version": card.version,
        "documentationUrl": card.documentation_url,
        "capabilities": msgspec.structs.replace(card.capabilities, extended_agent_card=None),
        "securitySchemes": {
            name: _scheme_members(scheme) for name, scheme in card.security_schemes.items()
        },
        "security": _requirement_members(card.security_requirements),
        "defaultInputModes": card.default_input_modes,
        "defaultOutputModes": card.default_output_modes,
        "skills": [_skill_members(skill) for skill in card.skills],
        "supportsAuthenticatedExtendedCard": card.capabilities.extended_agent_card,
        "iconUrl": card.icon_url,
    }
    return _encode({name: value for name, value in members.items() if value is not None})


def _skill_members(skill: AgentSkill) -> JsonObject:
    members: JsonObject = msgspec.to_builtins(skill)
    if members.pop("securityRequirements", None):
        members["security"] = _requirement_members(skill.security_requirements)
    return members


def _requirement_members(requirements: Iterable[SecurityRequirement]) -> list[JsonObject]:
    return [
        {name: scopes.list for name, scopes in requirement.schemes.items()}
        for requirement in requirements
    ]


def _scheme_members(scheme: SecurityScheme) -> JsonObject:
    """Return a scheme by ``type`` and, beside it, by the member of the proto."""
    ((member, inner),) = cast("dict[str, JsonObject]", msgspec.to_builtins(scheme)).items()
    for flow in cast("dict[str, JsonObject]", inner.get("flows", {})).values():
        flow.setdefault("scopes", {})  # required by the schema
    flat = {"in" if name == "location" else name: value for name, value in inner.items()}
    return {"type": _SCHEME_TYPES[member], **flat, member: inner}


# --- reading ------------------------------------------------------------------------------------


def decode_card(data: bytes) -> AgentCard:
    """Read a card in either shape; where it offers several OAuth flows, the first counts.

    Raises:
        JSONParseError, InvalidParamsError: it is no card.
    """
    card = Fields(read_json(data))
    # What 0.3 says is put as 1.0 would, and that is checked.
    members: JsonObject = {name: card.get(name) for name in _SAME}
    members |= {
        "description": card.text("description"),
        "version": card.text("version"),
        "supportedInterfaces": _read_interfaces(card),
        "capabilities": {
            **(card.free("capabilities") or {}),
            "extendedAgentCard": card.flag("supportsAuthenticatedExtendedCard"),
        },
        "securitySchemes": _read_schemes(card),
        "securityRequirements": _read_requirements(card),
        "defaultInputModes": _read_modes(card, "defaultInputModes"),
        "defaultOutputModes": _read_modes(card, "defaultOutputModes"),
        "skills": [_read_skill(Fields(*item)) for item in card.items("skills")],
    }
    present = {name: value for name, value in members.items() if value is not None}
    try:
        return msgspec.convert(present, AgentCard)
    except DECODER_ERRORS as refused:
        raise refusal_of(refused) from None


_SAME: Final = ("name", "provider", "documentationUrl", "signatures", "iconUrl")


def _read_interfaces(card: Fields) -> list[JsonObject]:
    version = ".".join((card.text("protocolVersion") or _VERSION).split(".")[:2])
    offers = [(card.required_text("url"), card.text("preferredTransport") or _JSONRPC)]
    for item in card.items("additionalInterfaces"):
        interface = Fields(*item)
        offers.append((interface.required_text("url"), interface.required_text("transport")))
    return [
        {"url": url, "protocolBinding": transport, "protocolVersion": version}
        for url, transport in dict.fromkeys(offers)
    ]


def _read_modes(card: Fields, name: str) -> tuple[str, ...]:
    if name not in card:
        return _DEFAULT_MODES
    return tuple([media_type(mode) for mode in card.texts(name)])


def _read_skill(skill: Fields) -> JsonObject:
    # ProtoJSON leaves out what is empty, 1.0 does not have it empty (0.x reference, 5.2).
    skill_id = skill.required_text("id")
    name = skill.text("name") or skill_id
    return {
        **skill.whole,
        "name": name,
        "description": skill.text("description") or name,
        "tags": skill.texts("tags") or (skill_id,),
        "securityRequirements": _read_requirements(skill),
    }


def _read_requirements(holder: Fields) -> list[JsonObject]:
    return [_read_requirement(Fields(*item)) for item in holder.items("security")]


def _read_requirement(requirement: Fields) -> JsonObject:
    schemes = requirement.get("schemes")
    if isinstance(schemes, dict):
        return {"schemes": cast("JsonObject", schemes)}
    return {"schemes": {name: {"list": scopes} for name, scopes in requirement.whole.items()}}


def _read_schemes(card: Fields) -> JsonObject | None:
    """Return the schemes; those of a kind that is not known are left out."""
    found = card.at("securitySchemes")
    if found is None:
        return None
    schemes = [
        (name, _read_scheme(Fields(value, found.place(name))))
        for name, value in found.whole.items()
    ]
    return {name: scheme for name, scheme in schemes if scheme is not None}


def _read_scheme(scheme: Fields) -> JsonObject | None:
    """Return a scheme by the member of the proto, which is that of 1.0 too."""
    for member in _SCHEME_TYPES:
        if (inner := scheme.at(member)) is not None:
            return {member: {**inner.whole, "flows": _read_flows(inner)}}
    member = _SCHEME_MEMBERS.get(scheme.text("type"))
    if member is None:
        return None
    flat = {**scheme.whole, "location": scheme.get("in"), "flows": _read_flows(scheme)}
    return {member: flat}


def _read_flows(scheme: Fields) -> JsonObject:
    flows = scheme.at("flows") or Fields({})
    for name in _FLOWS:
        if (flow := flows.free(name)) is not None:
            return {name: {"scopes": {}, **flow}}  # ProtoJSON leaves out an empty map
    return {}
