"""a2a-sdk 0.3 as a ``guarded.Guest``, over each of its three bindings.

0.3.26 asks its interceptors over JSON-RPC alone. Who wants to be known over HTTP+JSON gives the
header to each call, and over gRPC to the channel: so does a visit that is made by hand.
"""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

from typing import Any

import grpc
import httpx
from a2a.client import A2ACardResolver, Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientHTTPError, A2AClientJSONRPCError
from a2a.types import AgentCard, TaskQueryParams
from guarded import Visit, run
from peer import Json
from v0 import call_facts, dump, params, wrap


class Guest:
    def __init__(
        self, card: AgentCard, shown: dict[str, str], unary: Client, streaming: Client
    ) -> None:
        self._card = card
        self._shown = shown
        self._unary = unary
        self._streaming = streaming

    def security(self) -> Json:
        card = dump(self._card)
        return {"schemes": card["securitySchemes"], "requirements": card["security"]}

    async def send(self, text: str, context: ClientCallContext) -> Json:
        return dump((await self._last(self._unary, text, context))[0])

    async def stream(self, text: str, context: ClientCallContext) -> Json:
        _, event = await self._last(self._streaming, text, context)
        return wrap(event)

    async def _last(self, client: Client, text: str, context: ClientCallContext) -> Any:
        said = params(None, text).message
        events = client.send_message(said, context=self._showing(context))
        return [each async for each in events][-1]

    async def get(self, task_id: str, context: ClientCallContext) -> Json:
        query = TaskQueryParams(id=task_id)
        return dump(await self._unary.get_task(query, context=self._showing(context)))

    def _showing(self, context: ClientCallContext) -> ClientCallContext:
        if self._shown:
            context.state["http_kwargs"] = {"headers": self._shown}
        return context


def adding(shown: dict[str, str], details: Any) -> Any:
    """Add what is to be shown to the details of a call."""
    extra = [(name.lower(), value) for name, value in shown.items()]
    return details._replace(metadata=grpc.aio.Metadata(*(details.metadata or ()), *extra))


# The library takes an interceptor for one kind of call only.
class ShowingOnce(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, shown: dict[str, str]) -> None:
        self._shown = shown

    async def intercept_unary_unary(
        self, continuation: Any, client_call_details: Any, request: Any
    ) -> Any:
        return await continuation(adding(self._shown, client_call_details), request)


class ShowingForStreams(grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, shown: dict[str, str]) -> None:
        self._shown = shown

    async def intercept_unary_stream(
        self, continuation: Any, client_call_details: Any, request: Any
    ) -> Any:
        return await continuation(adding(self._shown, client_call_details), request)


def facts(error: Exception) -> Json | None:
    match error:
        case A2AClientJSONRPCError(error=told):
            return {"code": told.code, "message": told.message}
        case A2AClientHTTPError():
            return {"http": error.status_code, "message": error.message}
    return call_facts(error)


def by_hand(visit: Visit, card: AgentCard) -> dict[str, str]:
    """Return the header that the card asks for; none if the SDK is to show it."""
    if visit.credential is None or not visit.by_hand:
        return {}
    scheme = card.security_schemes[visit.scheme].root
    if scheme.type == "apiKey":
        return {scheme.name: visit.credential}
    return {"Authorization": f"Bearer {visit.credential}"}


async def arrive(visit: Visit, http: httpx.AsyncClient) -> Guest:
    card = await A2ACardResolver(http, visit.url).get_agent_card()
    interceptor = await visit.interceptor()
    shown = by_hand(visit, card)

    def channel(address: str) -> Any:
        return visit.channel(address, ShowingOnce(shown), ShowingForStreams(shown))

    def client(*, streaming: bool) -> Client:
        config = ClientConfig(
            httpx_client=http,
            grpc_channel_factory=channel,
            supported_transports=[visit.binding],
            streaming=streaming,
        )
        return ClientFactory(config).create(card, interceptors=[interceptor])

    return Guest(card, shown, client(streaming=False), client(streaming=True))


run(arrive, facts)
