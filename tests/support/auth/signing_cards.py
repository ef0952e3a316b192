"""Cards to sign, in every shape that matters, and keys to sign them with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from joserfc.jwk import ECKey, OKPKey, RSAKey

from dragoman.model.cards import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    AgentSkill,
)
from dragoman.model.security import (
    APIKeySecurityScheme,
    SecurityRequirement,
    SecurityScheme,
    StringList,
)

__all__ = ("EMPTIES", "FULL", "OLD", "document_of", "new_key")

FULL: Final = AgentCard(
    name="Planner",
    description="Plans routes for everyone.",
    supported_interfaces=(
        AgentInterface(
            url="https://a.example/rpc", protocol_binding="JSONRPC", protocol_version="1.0"
        ),
    ),
    version="2.1.0",
    capabilities=AgentCapabilities(streaming=True, push_notifications=False),
    default_input_modes=("text/plain",),
    default_output_modes=("application/json",),
    skills=(AgentSkill(id="route", name="Route", description="Finds a route.", tags=("maps",)),),
)
"""Nothing in it is empty, so all forms of 1.0 are the same bytes."""

EMPTIES: Final = AgentCard(
    name="R\N{LATIN SMALL LETTER O WITH CIRCUMFLEX}le",
    description="",
    supported_interfaces=FULL.supported_interfaces,
    version="1",
    capabilities=AgentCapabilities(
        extensions=(AgentExtension(uri="u", params={"a": "", "b": [], "c": None, "d": 0}),)
    ),
    security_schemes={
        "key": SecurityScheme(
            api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-Key")
        )
    },
    security_requirements=(SecurityRequirement(schemes={"key": StringList()}),),
    default_input_modes=(),
    default_output_modes=("text/plain",),
    skills=(),
    icon_url="",
)
"""Much in it is empty, and a name has a letter that is not ASCII."""

OLD: Final[dict[str, object]] = {
    "protocolVersion": "0.3.0",
    "preferredTransport": "JSONRPC",
    "name": "R\N{LATIN SMALL LETTER O WITH CIRCUMFLEX}le",
    "description": "Old, and still there.",
    "url": "https://a.example/",
    "version": "1.0.0",
    "capabilities": {"streaming": False, "extensions": []},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    "security": [{"key": []}],
    "skills": [{"id": "s", "name": "S", "description": "Does it.", "tags": ["t"], "examples": []}],
}
"""A card of 0.3."""


def document_of(card: Mapping[str, object]) -> bytes:
    """Write a card as a server would, and in no canonical way."""
    return json.dumps(card, indent=1, ensure_ascii=False).encode()


def new_key(algorithm: str) -> dict[str, object]:
    """Return a fresh private key (JWK) that is made for an algorithm."""
    curves = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
    if algorithm in curves:
        key = ECKey.generate_key(curves[algorithm])  # pyright: ignore[reportArgumentType] - one of its names
    elif algorithm in ("EdDSA", "Ed25519"):
        key = OKPKey.generate_key("Ed25519")
    else:
        key = RSAKey.generate_key(2048)
    return {**key.as_dict(private=True), "alg": algorithm, "kid": f"{algorithm}-1"}
