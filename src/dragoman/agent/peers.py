"""Peers: the agents that an agent calls, and the connections to them.

A connection is made when an agent is first called, and kept until the calling agent stops.
"""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, runtime_checkable

from dragoman.client.agent import RemoteAgent
from dragoman.client.connect import connect
from dragoman.errors import UsageError
from dragoman.model.cards import AgentCard
from dragoman.service.service import Call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dragoman.auth.outgoing.requirements import Held
    from dragoman.service.service import A2AService
    from dragoman.service.worker import Turn

__all__ = ("Callee", "InProcess", "Peer", "Peers")


@runtime_checkable
class InProcess(Protocol):
    """An agent of this process: ``Agent`` is one."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    async def in_process(self, stack: AsyncExitStack) -> tuple[A2AService, AgentCard]:
        """Return what serves it, and its card; what is started for that stops with the stack."""
        ...


class Peer:
    """Another agent, and how to call it.

    Attributes:
        name: what it is called in journals, status messages and traces.
    """

    def __init__(
        self,
        address: str | AgentCard,
        *,
        name: str = "",
        auth: Held | None = None,
        headers: Mapping[str, str] | None = None,
        version: str | None = None,
        binding: str | Sequence[str] = (),
        tenant: str | None = None,
        ca_file: str | Path | None = None,
    ) -> None:
        """Say where it is, and what ``connect`` needs to know beside that."""
        self.address = address
        self.name: Final = name or (address.name if isinstance(address, AgentCard) else address)
        self._auth = auth
        self._headers = headers
        self._version = version
        self._binding = binding
        self._tenant = tenant
        self._ca_file = ca_file

    @property
    def url(self) -> str:
        """Where it can be asked; "" if only its card tells."""
        return self.address if isinstance(self.address, str) else ""

    async def connected(self, stack: AsyncExitStack) -> RemoteAgent:
        """Connect to it, until the stack is closed."""
        return await stack.enter_async_context(
            connect(
                self.address,
                auth=self._auth,
                headers=self._headers,
                version=self._version,
                binding=self._binding,
                tenant=self._tenant,
                ca_file=self._ca_file,
            )
        )


Callee: TypeAlias = str | AgentCard | Peer | RemoteAgent | InProcess
"""Whom ``ctx.call`` takes: an address, a card, a peer, a connection, an agent of this process."""


class Peers:
    """Connections to other agents, by the names of those.

    Attributes:
        own_name: what the agent that calls them is called.
    """

    def __init__(self, own_name: str = "") -> None:
        self.own_name = own_name
        self._known: dict[str, Callee] = {}
        self._open: dict[str, asyncio.Future[RemoteAgent]] = {}
        self._stack = AsyncExitStack()

    def name(self, callee: Callee) -> str:
        """Return what an agent is called, and remember whom the name means.

        Raises:
            UsageError: it is nothing that can be called.
        """
        if isinstance(callee, str):
            if callee in self._known:
                return callee
            callee = Peer(callee)
        elif isinstance(callee, AgentCard):
            callee = Peer(callee)
        if isinstance(callee, RemoteAgent):
            name = callee.card.name
        elif isinstance(callee, Peer | InProcess):  # pyright: ignore[reportUnnecessaryIsInstance] - of callers without types
            name = callee.name
        else:
            raise UsageError(
                f"{callee!r} cannot be called: ctx.call takes an address, an AgentCard, a Peer, "
                "what connect gives, or an Agent"
            )
        self._known[name] = callee
        return name

    def url(self, name: str) -> str:
        """Return where an agent can be asked, "" if it is not known or is in this process."""
        known = self._known.get(name)
        if isinstance(known, Peer):
            return known.url
        if isinstance(known, RemoteAgent) and known.interface is not None:
            return known.interface.url
        return ""

    async def agent(self, name: str, turn: Turn) -> RemoteAgent:
        """Return an agent to talk to, by a name that ``name`` has given, or by its address."""
        known = self._known.get(name) or self._known.setdefault(name, Peer(name))
        if isinstance(known, RemoteAgent):
            return known
        if isinstance(known, InProcess):
            service, card = await known.in_process(self._stack)
            call = Call(tenant=turn.tenant, principal=turn.principal)
            return RemoteAgent(service, card, turn.new_id, call=call)
        if not isinstance(known, Peer):
            raise UsageError(f"{name} is no agent")
        connecting = self._open.get(name)
        if connecting is None or (connecting.done() and connecting.exception() is not None):
            connecting = asyncio.ensure_future(known.connected(self._stack))
            self._open[name] = connecting
        # Several may wait for it, and one of them may leave.
        return await asyncio.shield(connecting)

    async def aclose(self) -> None:
        """Let go of all connections."""
        for connecting in self._open.values():
            connecting.cancel()
        self._open.clear()
        await self._stack.aclose()
