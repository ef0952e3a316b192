"""An agent made with a2akit, which serves HTTP+JSON or JSON-RPC of 0.3."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio

from a2akit import A2AServer, AgentCardConfig, CapabilitiesConfig, TaskContext, Worker
from script import QUESTION, pieces, wants_to_ask
from stage import listen, serve


class Scripted(Worker):
    async def handle(self, ctx: TaskContext) -> None:
        if wants_to_ask(ctx.user_text):
            await ctx.request_input(QUESTION)
        elif any(message.role == "agent" for message in ctx.history):
            await ctx.complete(f"To {ctx.user_text}.")
        else:
            await ctx.send_status("Working.")
            index = 0
            async for piece in pieces(ctx.user_text):
                await ctx.emit_text_artifact(piece, artifact_id="answer", append=index > 0)
                index += 1
            await ctx.complete()


async def main() -> None:
    listener, url = listen()
    card = AgentCardConfig(
        name="Peer",
        description="An agent made with a2akit.",
        version="4.5.6",
        capabilities=CapabilitiesConfig(streaming=True),
    )
    app = A2AServer(worker=Scripted(), agent_card=card).as_fastapi_app()
    await serve(app, listener, url)


if __name__ == "__main__":
    asyncio.run(main())
