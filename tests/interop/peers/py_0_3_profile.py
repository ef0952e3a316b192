"""a2a-sdk 0.3 at an address where our server speaks the RxJS profile: what it sees, as JSON."""

# The SDK is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.types import AgentCapabilities, AgentCard, Message

TOOLS = "https://dragoman.dev/extensions/client-tools/v1"
LOOK = {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}}


def message(message_id: str, part: dict[str, Any], **members: Any) -> Message:
    return Message.model_validate(
        {"messageId": message_id, "role": "user", "parts": [part], "kind": "message", **members}
    )


async def told(events: Any) -> list[Any]:
    """Return the events up to where the task waits, or ends."""
    seen: list[Any] = []
    async for task, update in events:
        event = update or task
        seen.append(event.model_dump(mode="json", exclude_none=True, by_alias=True))
        if task.status.state.value == "input-required":
            break
    await events.aclose()
    return seen


async def main(url: str) -> None:
    card = AgentCard(
        name="Profile",
        description="Speaks the profile.",
        url=url,
        version="1",
        skills=[],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    async with httpx.AsyncClient(timeout=20) as http:
        client = ClientFactory(ClientConfig(httpx_client=http)).create(card)
        first = message(
            "m-1", {"kind": "text", "text": "Rome"}, metadata={TOOLS: {"tools": [LOOK]}}
        )
        asked = await told(client.send_message(first))
        question = asked[-1]["status"]["message"]
        use = next(part["data"] for part in question["parts"] if part["kind"] == "data")
        result = {"kind": "tool-result", "toolUseId": use["toolUseId"], "result": "the Colosseum"}
        second = message("m-2", {"kind": "data", "data": result}, taskId=asked[-1]["taskId"])
        print(json.dumps({"asked": asked, "answered": await told(client.send_message(second))}))  # noqa: T201 - what it is for


asyncio.run(main(sys.argv[1]))
