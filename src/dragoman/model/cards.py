"""The Agent Card: an agent's description of itself.

Required arrays may be empty when a card is read (Q-20); ``dragoman.server.cards.card`` refuses to
publish such a card.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec.structs import replace

from dragoman.model.base import JsonObject, NonEmpty, Value
from dragoman.model.security import SecurityRequirement, SecurityScheme

__all__ = (
    "AgentCapabilities",
    "AgentCard",
    "AgentCardSignature",
    "AgentExtension",
    "AgentInterface",
    "AgentProvider",
    "AgentSkill",
)


class AgentInterface(Value, frozen=True, kw_only=True):
    """One URL, binding and version; ``tenant`` is echoed by clients in every request."""

    url: NonEmpty
    protocol_binding: NonEmpty
    tenant: str = ""
    protocol_version: NonEmpty


class AgentProvider(Value, frozen=True, kw_only=True):
    """Who runs the agent."""

    url: NonEmpty
    organization: NonEmpty


class AgentExtension(Value, frozen=True, kw_only=True):
    """Declaration of one extension."""

    uri: str = ""
    description: str = ""
    required: bool = False
    params: JsonObject | None = None


class AgentCapabilities(Value, frozen=True, kw_only=True):
    """Optional features of the protocol."""

    streaming: bool | None = None
    push_notifications: bool | None = None
    extensions: tuple[AgentExtension, ...] = ()
    extended_agent_card: bool | None = None


class AgentSkill(Value, frozen=True, kw_only=True):
    """One ability of the agent."""

    id: NonEmpty
    name: NonEmpty
    description: NonEmpty
    tags: tuple[str, ...]
    examples: tuple[str, ...] = ()
    input_modes: tuple[str, ...] = ()
    output_modes: tuple[str, ...] = ()
    security_requirements: tuple[SecurityRequirement, ...] = ()


class AgentCardSignature(Value, frozen=True, kw_only=True):
    """One JWS over the card: flattened, with a detached payload."""

    protected: NonEmpty
    signature: NonEmpty
    header: JsonObject | None = None


class AgentCard(Value, frozen=True, kw_only=True, dict=True, gc=True):
    """Self-description of an agent.

    Members that A2A does not have are kept beside it, see ``others``: they are no part of its value
    and are not written.
    """

    name: NonEmpty
    description: str
    supported_interfaces: tuple[AgentInterface, ...]
    provider: AgentProvider | None = None
    version: str
    documentation_url: str | None = None
    capabilities: AgentCapabilities
    security_schemes: Mapping[str, SecurityScheme] = {}
    security_requirements: tuple[SecurityRequirement, ...] = ()
    default_input_modes: tuple[str, ...]
    default_output_modes: tuple[str, ...]
    skills: tuple[AgentSkill, ...]
    signatures: tuple[AgentCardSignature, ...] = ()
    icon_url: str | None = None

    @property
    def others(self) -> Mapping[str, object]:
        """The members that no version of A2A has, by the names they were read under."""
        return MappingProxyType(vars(self).get("_others", {}))

    def with_others(self, others: JsonObject) -> AgentCard:
        """Return the same card with these beside it."""
        card = replace(self)
        vars(card)["_others"] = others
        return card
