"""XprPresence: what the chain says of an agent, for its card."""

from __future__ import annotations

import asyncio
import logging
from typing import Final, Protocol

from msgspec.structs import replace

from dragoman.clock import Clock, SystemClock
from dragoman.errors import UsageError
from dragoman.extensions.base import CardFacts
from dragoman.extensions.xpr.chain.names import is_account
from dragoman.extensions.xpr.chain.rows import AgentRow
from dragoman.extensions.xpr.errors import ChainError
from dragoman.extensions.xpr.trust import TrustScore
from dragoman.model.base import JsonObject
from dragoman.model.cards import AgentExtension

__all__ = ("IDENTITY", "AgentsOnChain", "XprPresence", "facts_of")

IDENTITY: Final = "https://dragoman.dev/extensions/xpr-identity/v1"
"""The extension whose params are the ``xpr:`` members of the network's own cards."""

_logger: Final = logging.getLogger(__name__)

_DESCRIPTION: Final = "Who the agent is on the XPR network."
_PATIENCE_SECONDS: Final = 2.0
"""Whoever wants to see a card does not wait for a chain in trouble."""

_LOOKED_MS: Final = 60_000
"""From one look at the chain to the next, which itself remembers for five minutes."""

_FAILED_MS: Final = 10_000
_USUAL_PROTOCOL: Final = "https"
_CALLED: Final = ("https://", "http://")


class AgentsOnChain(Protocol):
    """What is known of agents: a ``Chain``, or what stands for one in tests."""

    async def agent(self, account: str) -> AgentRow | None:
        """Return the agent that is registered for an account; raises ChainError."""
        ...

    async def trust_score(self, account: str) -> TrustScore | None:
        """Return the full trust score of an agent; raises ChainError."""
        ...

    async def aclose(self) -> None:
        """Let go of what is held for asking; it may be asked again."""
        ...


class XprPresence:
    """An agent by its account: ``Agent("Notary", presence=XprPresence(chain, "notary"))``.

    While the chain cannot be asked, the card says what was known last; before anything is known, it
    names the account and no more.

    Attributes:
        uri: the extension that the card declares it by.
        account: the agent's own.
    """

    def __init__(self, chain: AgentsOnChain, account: str, *, clock: Clock | None = None) -> None:
        """Name the account.

        Raises:
            UsageError: it is none.
        """
        if not is_account(account):
            raise UsageError(f"account is {account!r}, which is none")
        self.uri: Final = IDENTITY
        self.account: Final = account
        self._chain = chain
        self._clock: Clock = clock or SystemClock()
        self._known: CardFacts | None = None
        self._until_ms = 0

    async def facts(self) -> CardFacts:
        """Return what the chain says, as it was looked up within the last minute."""
        if self._known is not None and self._clock.now_ms() < self._until_ms:
            return self._known
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                agent = await self._chain.agent(self.account)
                score = await self._chain.trust_score(self.account) if agent is not None else None
        except (ChainError, TimeoutError) as problem:
            _logger.warning("the card of %s is not brought up to date: %s", self.account, problem)
            return self._keep(self._known or facts_of(self.account, None, None), _FAILED_MS)
        return self._keep(facts_of(self.account, agent, score), _LOOKED_MS)

    async def aclose(self) -> None:
        """Close the connections to the chain; for a server that stops."""
        await self._chain.aclose()

    def _keep(self, facts: CardFacts, kept_ms: int) -> CardFacts:
        now_ms = self._clock.now_ms()
        before = self._known
        since_ms = before.changed_ms if before is not None else now_ms
        is_same = before is not None and replace(facts, changed_ms=since_ms) == before
        self._known = replace(facts, changed_ms=since_ms if is_same else now_ms)
        self._until_ms = now_ms + kept_ms
        return self._known


def facts_of(account: str, agent: AgentRow | None, score: TrustScore | None) -> CardFacts:
    """Return what a card says of an agent, by its row and its score; None is not known."""
    row = agent or AgentRow(account=account)
    members: JsonObject = {
        "xpr:account": account,
        "xpr:protocol": row.protocol or _USUAL_PROTOCOL,
        "xpr:registeredAt": row.registered_at,
    }
    if score is not None:
        # The level of the owner: the score counts ten for each.
        members |= {"xpr:trustScore": score.total, "xpr:kycLevel": score.kyc // 10}
    if row.owner:
        members["xpr:owner"] = row.owner
    return CardFacts(
        name=row.name,
        description=row.description,
        url=row.endpoint if row.endpoint.startswith(_CALLED) else "",
        tags=row.capability_names,
        extension=AgentExtension(uri=IDENTITY, description=_DESCRIPTION, params=members),
        members=members,
    )
