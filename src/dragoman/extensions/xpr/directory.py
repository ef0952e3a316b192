"""XprDirectory: finds agents by their account, where the chain says they are."""

from __future__ import annotations

from typing import Final, Protocol

import msgspec

from dragoman.dialects.profiles.xpr.members import TARGET
from dragoman.egress import EgressPolicy
from dragoman.extensions.xpr.chain.names import check_account
from dragoman.extensions.xpr.chain.rows import AgentRow
from dragoman.extensions.xpr.errors import AgentNotFoundError, WrongCardError
from dragoman.extensions.xpr.presence import IDENTITY
from dragoman.model.base import JsonObject

__all__ = ("ListsAgents", "XprDirectory", "account_in")

_ACCOUNT: Final = "xpr:account"


class ListsAgents(Protocol):
    """What knows agents: a ``Chain``, or what stands for one in tests."""

    async def agent(self, account: str) -> AgentRow | None:
        """Return the agent that is registered for an account; raises ChainError."""
        ...


class XprDirectory:
    """Finds agents by account: ``connect("xpr:alice", directory=XprDirectory(chain))``.

    Anybody can write an endpoint into the chain. So it is called by https on a public address and a
    usual port, unless the policy allows more.
    """

    def __init__(self, chain: ListsAgents, *, policy: EgressPolicy | None = None) -> None:
        """Take the chain to look into, and say which endpoints may be called."""
        self._chain = chain
        self.scheme: Final = "xpr"
        self.policy: Final = policy or EgressPolicy()

    async def find(self, name: str) -> str:
        """Return the endpoint of an agent.

        Raises:
            MalformedError: the name is no account.
            AgentNotFoundError: it has none, or must not be called now.
            ChainError: the chain does not tell.
        """
        agent = await self._chain.agent(check_account(name))
        if agent is None:
            raise AgentNotFoundError(f"Agent '{name}' not found on-chain")
        if not agent.active:
            raise AgentNotFoundError(f"Agent '{name}' is not active")
        if not agent.endpoint:
            raise AgentNotFoundError(f"Agent '{name}' has no endpoint configured")
        return agent.endpoint.rstrip("/")

    def check(self, name: str, document: bytes) -> None:
        """Refuse the card of another account.

        A card that names none is taken: the chain has named its address.

        Raises:
            WrongCardError: it names another.
        """
        stated = account_in(document)
        if stated not in ("", name):
            raise WrongCardError(f"Agent '{name}' has the card of '{stated[:20]}' at its endpoint")

    def marks(self, name: str, document: bytes) -> JsonObject:
        """Have each request name the agent: what is signed for it is of no use at another.

        It is the account that the user has named, and not what a card says of itself: who is called
        in place of another would name that one. Agents whose card names no account are not told.
        """
        return {TARGET: name} if account_in(document) else {}


def account_in(document: bytes) -> str:
    """Return the account that a card names, at its top or by the extension; "" if it does not."""
    try:
        card = msgspec.json.decode(document, type=dict[str, object])
        declared = msgspec.convert(card.get("capabilities"), _Capabilities).extensions
    except (msgspec.DecodeError, RecursionError):
        return ""
    params = next((each.params for each in declared if each.uri == IDENTITY), None) or {}
    stated = card.get(_ACCOUNT, params.get(_ACCOUNT, ""))
    return stated if isinstance(stated, str) else ""


class _Extension(msgspec.Struct):
    uri: object = None
    params: dict[str, object] | None = None


class _Capabilities(msgspec.Struct):
    extensions: list[_Extension] = []
