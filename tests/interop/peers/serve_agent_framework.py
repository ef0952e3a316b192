"""An agent of agent-framework with a scripted model, served by its executor in the SDK."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from typing import Any

from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from agent_framework import (
    Agent,
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FileHistoryProvider,
    Message,
    ResponseStream,
)
from agent_framework_a2a import A2AExecutor
from script import pieces
from stage import listen, serve
from starlette.applications import Starlette


class Scripted(BaseChatClient):
    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **_: Any) -> Any:
        heard = [message.text for message in messages if message.role == "user"]

        async def updates() -> AsyncIterator[ChatResponseUpdate]:
            async for piece in pieces(*heard):
                yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(piece)])

        async def response() -> ChatResponse:
            said = "".join([piece async for piece in pieces(*heard)])
            return ChatResponse(messages=[Message("assistant", [said])])

        if stream:
            return ResponseStream(updates(), finalizer=ChatResponse.from_updates)
        return response()


async def main(memory: str) -> None:
    listener, url = listen()
    # Each message begins a session anew: what was said before is for a provider to keep.
    remembers = FileHistoryProvider(memory)
    agent = Agent(client=Scripted(), name="Peer", context_providers=[remembers])
    card = AgentCard(
        name="Peer",
        description="An agent made with Agent Framework.",
        version="4.5.6",
        default_input_modes=["text"],
        default_output_modes=["text"],
        capabilities=AgentCapabilities(streaming=True),
        supported_interfaces=[
            AgentInterface(url=f"{url}/", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        skills=[AgentSkill(id="play", name="Play", description="Does what it hears.")],
    )
    handler = DefaultRequestHandler(
        agent_executor=A2AExecutor(agent, stream=True),
        task_store=InMemoryTaskStore(),
        agent_card=card,
    )
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]
    await serve(Starlette(routes=routes), listener, url)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as memory:
        asyncio.run(main(memory))
