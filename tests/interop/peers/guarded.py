"""What the Python drivers that visit guarded agents share, and how they are run.

Reads visits from standard input, a list of objects with the members of ``Visit``: where to go, and
what to show there, if anything. Writes, for each, what the SDK of the environment saw: the security
that the card asks for, and what came of a send, a stream and a get.
``js_1_3_guarded.mjs`` does the same for JavaScript.

The credential is kept in the SDK's own store, and put into requests by its own interceptor.
"""

# The SDKs are not installed where pyright looks, on purpose; so their types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import grpc
import httpx
from a2a.client import AuthInterceptor, ClientCallContext, InMemoryContextCredentialStore
from peer import SCENARIO_SECONDS, Json

__all__ = ("Arrive", "Facts", "Guest", "Visit", "run")

_SESSION = {"sessionId": "one"}


class Guest(Protocol):
    """An SDK, with the card of the agent that it visits."""

    def security(self) -> Json:
        """Return ``schemes`` and ``requirements`` of the card, in the words of the SDK."""
        ...

    async def send(self, text: str, context: ClientCallContext) -> Json:
        """Return the task that comes of it."""
        ...

    async def stream(self, text: str, context: ClientCallContext) -> Json:
        """Return the last event."""
        ...

    async def get(self, task_id: str, context: ClientCallContext) -> Json: ...


class Visit(NamedTuple):
    """Where to go, and what to show there.

    Attributes:
        scheme: the security scheme of the card that the credential is for.
        tls: files: ``ca`` of the agent, and ``certificate`` and ``key`` to show to it.
        by_hand: shows the credential without the SDK's interceptor; only where that is not asked.
    """

    url: str
    binding: str
    scheme: str
    credential: str | None
    tls: dict[str, str] | None
    by_hand: bool

    def http(self) -> httpx.AsyncClient:
        """Return a client of HTTP."""
        verify = True if self.tls is None else self._context(self.tls)
        return httpx.AsyncClient(timeout=SCENARIO_SECONDS, trust_env=False, verify=verify)

    def channel(self, address: str, *interceptors: Any) -> Any:
        """Return a channel of gRPC."""
        place = address.rpartition("/")[2]
        if self.tls is None:
            return grpc.aio.insecure_channel(place, interceptors=interceptors)
        files = {name: Path(path).read_bytes() for name, path in self.tls.items()}
        credentials = grpc.ssl_channel_credentials(
            files["ca"], files.get("key"), files.get("certificate")
        )
        return grpc.aio.secure_channel(place, credentials, interceptors=interceptors)

    async def interceptor(self) -> AuthInterceptor:
        """Return the SDK's own, with the credential in the SDK's own store."""
        store = InMemoryContextCredentialStore()
        if self.credential is not None:
            await store.set_credentials(_SESSION["sessionId"], self.scheme, self.credential)
        return AuthInterceptor(store)

    def _context(self, files: dict[str, str]) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=files["ca"])
        if "certificate" in files:
            context.load_cert_chain(files["certificate"], files["key"])
        return context


Arrive = Callable[[Visit, httpx.AsyncClient], Awaitable[Guest]]
"""Reads the card; raises an error of the SDK if it cannot be had."""

Facts = Callable[[Exception], Json | None]
"""Tells an error of the SDK, None for any other."""


def run(arrive: Arrive, facts: Facts) -> None:
    """Make all visits."""
    visits = [Visit(**visit) for visit in json.load(sys.stdin)]
    json.dump(asyncio.run(_visit_all(visits, arrive, facts)), sys.stdout)


async def _visit_all(visits: list[Visit], arrive: Arrive, facts: Facts) -> list[Json]:
    return [await _visit(visit, arrive, facts) for visit in visits]


async def _visit(visit: Visit, arrive: Arrive, facts: Facts) -> Json:
    async with visit.http() as http, asyncio.timeout(SCENARIO_SECONDS):
        try:
            guest = await arrive(visit, http)
        except Exception as error:  # noqa: BLE001 - raised again if it is not the SDK's
            return {"card": _told(error, facts)}
        send = await _heard(guest.send("sent", _context()), facts)
        stream = await _heard(guest.stream("streamed", _context()), facts)
        # Whoever may not begin a task may not ask for one either.
        get = await _heard(guest.get(send.get("id", "t-1"), _context()), facts)
        return {"card": guest.security(), "send": send, "stream": stream, "get": get}


async def _heard(call: Awaitable[Json], facts: Facts) -> Json:
    try:
        return await call
    except Exception as error:  # noqa: BLE001 - raised again if it is not the SDK's
        return _told(error, facts)


def _told(error: Exception, facts: Facts) -> Json:
    told = facts(error)
    if told is None:
        raise error
    return {"refused": told}


def _context() -> ClientCallContext:
    return ClientCallContext(state=dict(_SESSION))
