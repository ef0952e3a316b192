"""Ports by which extensions are plugged into servers and clients, which know none of them.

A ``Presence`` adds to the card of an agent what another system says of it. A ``Directory`` finds
agents by a name of another system.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from dragoman.model.base import JsonObject
from dragoman.model.cards import AgentExtension

if TYPE_CHECKING:
    from dragoman.egress import EgressPolicy

__all__ = ("CardFacts", "Directory", "Presence")


class CardFacts(Struct, frozen=True, kw_only=True):
    """What another system says of an agent.

    Attributes:
        name, description: in place of the agent's own; "" leaves those.
        url: where the agent is called, in place of the address at which its card was asked for.
        tags: those that each skill has beside its own.
        extension: how the card declares the facts.
        members: the same at the top of cards for readers before 1.0, which know no extensions.
        changed_ms: since when it is so, as far as is known here.
    """

    name: str = ""
    description: str = ""
    url: str = ""
    tags: tuple[str, ...] = ()
    extension: AgentExtension
    members: JsonObject
    changed_ms: int = 0


class Presence(Protocol):
    """An agent as another system knows it."""

    @property
    def uri(self) -> str:
        """The URI of the extension that the facts are declared by."""
        ...

    async def facts(self) -> CardFacts:
        """Return what is known now; never fails, and never takes long."""
        ...

    async def aclose(self) -> None:
        """Let go of what is held for asking; it may be asked again."""
        ...


class Directory(Protocol):
    """Finds agents by name. Who writes into it is not trusted with more than their own address."""

    @property
    def scheme(self) -> str:
        """What addresses begin with that are looked up here: ``xpr`` for ``xpr:alice``."""
        ...

    @property
    def policy(self) -> EgressPolicy:
        """Which of the addresses that are found may be called."""
        ...

    async def find(self, name: str) -> str:
        """Return the URL of an agent.

        Raises:
            DragomanError: there is none, or it cannot be told; says why.
        """
        ...

    def check(self, name: str, document: bytes) -> None:
        """Compare the card that was found at that URL with what is known of the agent.

        Raises:
            DragomanError: it is the card of another.
        """
        ...

    def marks(self, name: str, document: bytes) -> JsonObject:
        """Return what the params of each JSON-RPC request to the agent say beside what they are.

        Only what the agent knows to read, by its card.
        """
        ...
