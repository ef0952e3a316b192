"""pair: an agent and a client that talks to it, in one process and without a socket."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
)
from typing import TYPE_CHECKING, Final

import httpx2

from dragoman.client.agent import RemoteAgent
from dragoman.client.connect import connect
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.discovery.offers import binding_named
from dragoman.client.sync import SyncAgent, blocking
from dragoman.errors import UsageError
from dragoman.testing.application import application
from dragoman.testing.asgi_transport import AsgiTransport
from dragoman.testing.recorder import RecordingTransport

if TYPE_CHECKING:
    from dragoman.auth.outgoing.requirements import Held
    from dragoman.client.tools.tool import Tool
    from dragoman.client.tools.toolbox import Approve
    from dragoman.clock import Clock
    from dragoman.server.assembly import PublishedAgent
    from dragoman.stores.base import TaskStore
    from dragoman.testing.wire import Wire

__all__ = ("URL", "Pairing", "SyncPairing", "pair", "pair_sync")

URL: Final = "http://agent.localhost"
"""Where the client finds the agent. The name is of this machine (RFC 6761), and nobody is asked."""

Pairing = Callable[..., AbstractAsyncContextManager[RemoteAgent]]
SyncPairing = Callable[..., AbstractContextManager[SyncAgent]]
"""The types of ``pair`` and ``pair_sync`` with some of their arguments filled in."""

_POLL_SECONDS: Final = 0.01
"""Between two looks at a task of an agent that does not stream: nobody is far away here."""


@asynccontextmanager
async def pair(
    agent: PublishedAgent,
    *,
    version: str | None = None,
    binding: str = "",
    store: str | TaskStore = "memory:",
    clock: Clock | None = None,
    record: Wire | None = None,
    tenant: str | None = None,
    headers: Mapping[str, str] | None = None,
    auth: Held | None = None,
    extensions: Sequence[str] = (),
    tools: Sequence[Tool | Callable[..., object]] = (),
    approve: Approve | None = None,
    **settings: object,
) -> AsyncGenerator[RemoteAgent]:
    """Start an agent and connect to it.

    Used as ``async with pair(agent) as client:``. The client is what ``connect`` gives, the
    server is what ``dragoman serve`` runs, and what they say to each other is encoded and decoded
    as over a network. Streams stream. When the block ends the agent is stopped; work that has not
    ended by then is cut off.

    Args:
        version: the version of A2A to speak, such as ``0.3``; else the newest.
        binding: ``JSONRPC`` or ``HTTP+JSON``; else what the card prefers.
        store: where tasks are kept: a URL, or a store.
        clock: the time of the server, such as a ``FakeClock``. The client goes by real time.
        record: where to write down what goes over the wire.
        tenant, headers, auth, extensions, tools, approve: of the client, see ``connect``.
        settings: of the server, see ``dragoman.server.settings``; those of the environment do not
            count.

    Raises:
        UsageError: an argument is wrong, or there is no such version over this binding.
    """
    if binding and binding_named(binding) == "GRPC":
        raise UsageError(
            "gRPC needs a socket, and a pair has none: use served(agent), and connect to its url "
            "with binding='GRPC'"
        )
    app = application(agent, store=store, clock=clock, settings=settings)
    transport: httpx2.AsyncBaseTransport = AsgiTransport(app)
    if record is not None:
        transport = RecordingTransport(transport, record)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(app.runtime.stop)
        await app.runtime.start()
        http = await stack.enter_async_context(httpx2.AsyncClient(transport=transport))
        client = await stack.enter_async_context(
            connect(
                URL,
                version=version,
                binding=binding or (),
                tenant=tenant,
                headers=headers,
                auth=auth,
                extensions=extensions,
                tools=tools,
                approve=approve,
                poll_seconds=_POLL_SECONDS,
                http=http,
                cards=CardCache(),
            )
        )
        _check_binding(client, binding)
        yield client


pair_sync: Final = blocking(pair)
"""Start an agent and connect to it, blocking: ``with pair_sync(agent) as client:``.

It takes what ``pair`` takes. Agent and client share a thread of their own.
"""


def _check_binding(client: RemoteAgent, binding: str) -> None:
    """Refuse what ``connect`` would put up with: for it a binding is no more than a preference."""
    used = client.interface
    if binding and used is not None and used.protocol_binding != binding_named(binding):
        raise UsageError(f"this agent does not speak A2A {used.protocol_version} over {binding}")
