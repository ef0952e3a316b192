"""An agent of crewai with a scripted model, served by its executor in the SDK."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
from typing import Any

from a2a.server.agent_execution import AgentExecutor
from a2a.server.apps import A2AStarletteApplication
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import AgentCapabilities, AgentCard, AgentSkill
from crewai import Agent, BaseLLM
from crewai.a2a.config import A2AServerConfig
from crewai.a2a.utils.task import cancel, execute
from script import pieces
from stage import listen, serve


class Scripted(BaseLLM):
    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        said = messages if isinstance(messages, str) else messages[-1]["content"]
        return asyncio.run(self._said(said))

    async def acall(self, messages: Any, *_: Any, **__: Any) -> str:
        return await self._said(messages if isinstance(messages, str) else messages[-1]["content"])

    async def _said(self, prompt: str) -> str:
        # The caller's words stand in a frame of CrewAI's.
        _, _, heard = prompt.partition("Current Task: ")
        words = heard.partition("\n")[0] or prompt
        return "".join([piece async for piece in pieces(words)])


class Executor(AgentExecutor):
    def __init__(self) -> None:
        self._agent = Agent(
            role="Peer",
            goal="Answer.",
            backstory="A peer.",
            llm=Scripted(model="scripted"),
            a2a=A2AServerConfig(),
        )

    async def execute(self, context: Any, event_queue: Any) -> None:
        await execute(self._agent, context, event_queue)

    async def cancel(self, context: Any, event_queue: Any) -> None:
        await cancel(context, event_queue)


async def main() -> None:
    listener, url = listen()
    card = AgentCard(
        name="Peer",
        description="An agent made with CrewAI.",
        version="4.5.6",
        url=url,
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        capabilities=AgentCapabilities(streaming=True),
        skills=[AgentSkill(id="play", name="Play", description="Does what it hears.", tags=["x"])],
    )
    handler = DefaultRequestHandler(agent_executor=Executor(), task_store=InMemoryTaskStore())
    app = A2AStarletteApplication(agent_card=card, http_handler=handler).build()
    await serve(app, listener, url)


if __name__ == "__main__":
    asyncio.run(main())
