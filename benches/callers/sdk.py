"""The client of the reference SDK (a2a-sdk), run inside its own environment.

Nothing here is tuned against the SDK: its own factory, and httpx as the SDK itself would make it,
only that it does not look for proxies.
"""

# This file runs in the SDK's environment, which the type checker does not see.
# pyright: basic, reportMissingImports=false, reportMissingModuleSource=false

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from secrets import token_hex
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types.a2a_pb2 import Message, Part, Role, SendMessageRequest, StreamResponse

from benches.callers.loop import Echo, measure


@asynccontextmanager
async def _connected(url: str, binding: str) -> AsyncGenerator[Echo, None]:
    async with httpx.AsyncClient(timeout=30, trust_env=False) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        config = ClientConfig(
            httpx_client=http,
            grpc_channel_factory=_channel,
            supported_protocol_bindings=[binding],
        )
        client = ClientFactory(config).create(card)

        async def echo(text: str) -> str:
            message = Message(
                message_id=token_hex(16), role=Role.ROLE_USER, parts=[Part(text=text)]
            )
            events = client.send_message(SendMessageRequest(message=message))
            return "".join([_text(event) async for event in events])

        yield echo


def _text(event: StreamResponse) -> str:
    return "".join(part.text for part in event.artifact_update.artifact.parts)


def _channel(address: str) -> Any:
    # gRPC is absent from the environment of the HTTP client, which must not pay for it.
    import grpc  # noqa: PLC0415 - see above

    return grpc.aio.insecure_channel(address.removeprefix("http://"))


if __name__ == "__main__":
    measure(_connected)
