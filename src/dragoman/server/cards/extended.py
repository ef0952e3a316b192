"""The extended card: what this very caller may use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from dragoman.dialects.registry import is_newest
from dragoman.model.cards import AgentCard, AgentSkill
from dragoman.model.operations import Operation
from dragoman.server.admission.authorization import Access
from dragoman.server.cards.card import Describes, PublishedCards
from dragoman.service.service import Call

if TYPE_CHECKING:
    from dragoman.server.cards.signing import CardSigning

__all__ = ("ExtendedCards",)


class ExtendedCards:
    """Makes a card for each caller: with the hidden skills it may use, without what it may not.

    R-3.1.11-4: two callers may be shown different cards.

    Args:
        signing: signs them, as it does the public one; None leaves them without signatures.
    """

    def __init__(
        self,
        agent: Describes,
        cards: PublishedCards,
        access: Access,
        signing: CardSigning | None = None,
    ) -> None:
        self._signing = signing
        self._agent = agent
        self._cards = cards
        self._access = access

    async def make(self, call: Call) -> AgentCard:
        """Return the card for whoever makes this call."""
        await self._cards.refresh()
        tenants = ("", *self._agent.tenants)
        card = self._cards.card(
            call.base_url,
            skills=[skill async for skill in self._usable(call)],
            tenants=[tenant for tenant in tenants if call.principal.may_act_in(tenant)],
        )
        # A signature covers one form of the card; those of older versions go without.
        if self._signing is None or not is_newest(call.dialect):
            return card
        return self._signing.sign(card)

    async def _usable(self, call: Call) -> AsyncIterator[AgentSkill]:
        needed = self._agent.skill_scopes
        for skill in (*self._agent.skills, *self._agent.hidden_skills):
            has_scopes = needed.get(skill.id, frozenset()) <= call.scopes
            if has_scopes and await self._access.allows(Operation.SEND_MESSAGE, call, skill.id):
                yield skill
