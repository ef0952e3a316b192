"""An agent made with agno: a scripted model, served by AgentOS."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.base import Model
from agno.models.response import ModelResponse
from agno.os import AgentOS
from script import pieces
from stage import listen, serve


@dataclass
class Scripted(Model):
    id: str = "scripted"
    name: str = "Scripted"
    provider: str = "Script"

    async def ainvoke(self, *_: Any, **told: Any) -> ModelResponse:
        return _response("".join([piece async for piece in pieces(*_heard(told))]))

    async def ainvoke_stream(self, *_: Any, **told: Any) -> AsyncIterator[ModelResponse]:
        async for piece in pieces(*_heard(told)):
            yield _response(piece)

    def invoke(self, *_: Any, **told: Any) -> ModelResponse:
        raise NotImplementedError

    def invoke_stream(self, *_: Any, **told: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **_: Any) -> ModelResponse:
        return response

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        return response


def _heard(told: dict[str, Any]) -> list[str]:
    return [str(message.content) for message in told["messages"] if message.role == "user"]


def _response(text: str) -> ModelResponse:
    return ModelResponse(role="assistant", content=text)


async def main() -> None:
    listener, url = listen()
    agent = Agent(
        id="peer",
        name="Peer",
        model=Scripted(),
        db=InMemoryDb(),
        add_history_to_context=True,
        telemetry=False,
    )
    app = AgentOS(agents=[agent], a2a_interface=True, telemetry=False).get_app()
    await serve(app, listener, url, path="/a2a/agents/peer")


if __name__ == "__main__":
    asyncio.run(main())
