"""The agent card in the proto of 0.3 (0.x reference, 4.4 and 5.2).

Its security schemes have the members of 1.0, so only what stands around them is translated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import msgspec

from dragoman.bindings.grpc.forms import MessageForm
from dragoman.dialects.v0_3_proto.card import decode_card as decode_json_card

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject
    from dragoman.model.cards import AgentCard

__all__ = ("decode_card", "encode_card")

_FORM: Final = MessageForm("a2a.v1.AgentCard")
_VERSION: Final = "0.3.0"
_SERIES: Final = "0.3"

_encode: Final = msgspec.json.Encoder().encode


# --- writing ------------------------------------------------------------------------------------


def encode_card(card: AgentCard) -> bytes:
    """Write a card that offers the interfaces of 0.3.

    Those with a tenant are left out, because a client of 0.3 does not send it back. Signatures are
    made over the card of another version and are left out too.
    """
    members: JsonObject = msgspec.to_builtins(card)
    members.pop("signatures", None)
    members.pop("supportedInterfaces")
    offers = [
        {"url": interface.url, "transport": interface.protocol_binding}
        for interface in card.supported_interfaces
        if interface.protocol_version.startswith(_SERIES) and not interface.tenant
    ]
    if offers:
        members["url"], members["preferredTransport"] = offers[0].values()
    capabilities = cast("JsonObject", members["capabilities"])
    members |= {
        "protocolVersion": _VERSION,
        # R03-5.6.2-1: the primary one is repeated.
        "additionalInterfaces": offers,
        "supportsAuthenticatedExtendedCard": capabilities.pop("extendedAgentCard", False),
        "securitySchemes": _schemes(members),
        "security": members.pop("securityRequirements", ()),
    }
    for skill in cast("list[JsonObject]", members["skills"]):
        skill["security"] = skill.pop("securityRequirements", ())
    return _FORM.write(members)


def _schemes(card: JsonObject) -> JsonObject:
    """Return the schemes without what 0.3 has no field for."""
    schemes = cast("dict[str, JsonObject]", card.get("securitySchemes", {}))
    return {name: _scheme(scheme) for name, scheme in schemes.items()}


def _scheme(scheme: JsonObject) -> JsonObject:
    oauth = cast("JsonObject | None", scheme.get("oauth2SecurityScheme"))
    if oauth is None:
        return scheme
    flows = cast("dict[str, JsonObject]", oauth["flows"])
    if "deviceCode" in flows:
        # Some readers refuse a scheme without a flow. This one, too, ends in a bearer token.
        description = oauth.get("description", "")
        return {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": description}}
    for flow in flows.values():
        flow.pop("pkceRequired", None)
    return scheme


# --- reading ------------------------------------------------------------------------------------


def decode_card(data: bytes) -> AgentCard:
    """Read a card.

    Raises:
        InvalidRequestError, InvalidParamsError: it is none.
    """
    # A client reads one card at most: not worth a second reader of the same members.
    return decode_json_card(_encode(_FORM.read(data)))
