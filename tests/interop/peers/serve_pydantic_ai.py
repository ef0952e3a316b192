"""An agent of pydantic-ai with a scripted model, served by fasta2a."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
from typing import Any

from fasta2a.pydantic_ai import agent_to_a2a
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import FunctionModel
from script import pieces
from stage import listen, serve


async def scripted(messages: list[Any], _: Any) -> ModelResponse:
    heard = [
        str(part.content) if isinstance(part.content, str) else str(part.content[0])
        for message in messages
        for part in message.parts
        if isinstance(part, UserPromptPart)
    ]
    return ModelResponse([TextPart("".join([piece async for piece in pieces(*heard)]))])


async def main() -> None:
    listener, url = listen()
    app = agent_to_a2a(Agent(FunctionModel(scripted)), name="Peer", url=url)
    await serve(app, listener, url)


if __name__ == "__main__":
    asyncio.run(main())
