"""An agent made with strands-agents: a scripted model, and a tool that interrupts."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from script import QUESTION, pieces, wants_to_ask
from stage import listen, serve
from strands import Agent, tool
from strands.models import Model
from strands.multiagent.a2a import A2AServer


class Scripted(Model):
    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:
        last = messages[-1]["content"][-1]
        heard = [
            block["text"]
            for each in messages
            if each["role"] == "user"
            for block in each["content"]
            if "text" in block
        ]
        yield {"messageStart": {"role": "assistant"}}
        if "text" in last and wants_to_ask(last["text"]):
            use = {"name": "ask_user", "toolUseId": "use-1"}
            yield {"contentBlockStart": {"start": {"toolUse": use}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "tool_use"}}
            return
        yield {"contentBlockStart": {"start": {}}}
        if "toolResult" in last:
            city = last["toolResult"]["content"][0]["text"]
            yield {"contentBlockDelta": {"delta": {"text": f"To {city}."}}}
        else:
            async for piece in pieces(*heard):
                yield {"contentBlockDelta": {"delta": {"text": piece}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}


@tool(context=True)
def ask_user(tool_context: Any) -> str:
    """Ask the user for a city."""
    return tool_context.interrupt("city", reason=QUESTION)


async def main() -> None:
    listener, url = listen()
    agent = Agent(
        name="Peer",
        description="An agent made with Strands.",
        model=Scripted(),
        tools=[ask_user],
        callback_handler=None,
    )
    server = A2AServer(agent, host="127.0.0.1", port=int(url.rpartition(":")[2]))
    await serve(server.to_fastapi_app(), listener, url)


if __name__ == "__main__":
    asyncio.run(main())
