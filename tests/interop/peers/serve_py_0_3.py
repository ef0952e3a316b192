"""An agent made with a2a-sdk 0.3, over each of its three bindings."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio

import grpc
from a2a.grpc import a2a_pb2_grpc
from a2a.server.apps import A2AFastAPIApplication, A2ARESTFastAPIApplication
from a2a.server.request_handlers import GrpcHandler
from a2a.types import AgentCard, AgentInterface
from serve_v0 import card_facts, make_handler
from stage import listen, serve


async def main() -> None:
    listener, url = listen()
    grpc_server = grpc.aio.server()
    port = grpc_server.add_insecure_port("127.0.0.1:0")
    card = AgentCard(
        url=f"{url}/",
        preferred_transport="JSONRPC",
        additional_interfaces=[
            AgentInterface(url=f"{url}/rest", transport="HTTP+JSON"),
            AgentInterface(url=f"127.0.0.1:{port}", transport="GRPC"),
        ],
        **card_facts("0.3"),
    )
    handler = make_handler()
    app = A2AFastAPIApplication(card, handler).build()
    app.mount("/rest", A2ARESTFastAPIApplication(card, handler).build())
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(card, handler), grpc_server)
    await grpc_server.start()
    await serve(app, listener, url)
    await grpc_server.stop(None)


if __name__ == "__main__":
    asyncio.run(main())
