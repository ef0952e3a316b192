"""a2a-sdk 1.3 as a ``guarded.Guest``, over each of its three bindings."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import httpx
from a2a.client import A2ACardResolver, Client, ClientCallContext, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import AgentCard, GetTaskRequest
from a2a.utils.errors import A2AError
from guarded import Visit, run
from peer import Json
from py_1_3 import asking, read


class Guest:
    def __init__(self, card: AgentCard, unary: Client, streaming: Client) -> None:
        self._card = card
        self._unary = unary
        self._streaming = streaming

    def security(self) -> Json:
        card = read(self._card)
        return {"schemes": card["securitySchemes"], "requirements": card["securityRequirements"]}

    async def send(self, text: str, context: ClientCallContext) -> Json:
        request = asking(None, text)
        [answer] = [each async for each in self._unary.send_message(request, context=context)]
        return read(answer)["task"]

    async def stream(self, text: str, context: ClientCallContext) -> Json:
        events = self._streaming.send_message(asking(None, text), context=context)
        return [read(each) async for each in events][-1]

    async def get(self, task_id: str, context: ClientCallContext) -> Json:
        return read(await self._unary.get_task(GetTaskRequest(id=task_id), context=context))


def facts(error: Exception) -> Json | None:
    match error:
        case A2AError(message=message):
            return {"error": type(error).__name__, "message": message}
    return None


async def arrive(visit: Visit, http: httpx.AsyncClient) -> Guest:
    card = await A2ACardResolver(http, visit.url).get_agent_card()
    interceptor = await visit.interceptor()

    def client(*, streaming: bool) -> Client:
        config = ClientConfig(
            httpx_client=http,
            grpc_channel_factory=visit.channel,
            supported_protocol_bindings=[visit.binding],
            streaming=streaming,
        )
        return ClientFactory(config).create(card, [interceptor])

    return Guest(card, client(streaming=False), client(streaming=True))


run(arrive, facts)
