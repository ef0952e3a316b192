"""An agent of pydantic-ai with a scripted model, as a file to be served.

The model looks at the weather, and deletes what it was told to delete if it may.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pydantic_ai
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from dragoman import Agent

__all__ = ("agent", "scripted")


def note(line: str) -> None:
    """Note what was done, where a test can see it."""
    if "NOTES" in os.environ:
        with Path(os.environ["NOTES"]).open("a") as notes:
            notes.write(f"{line}\n")


def prompts(messages: list[ModelMessage]) -> list[str]:
    """Return all that users have said."""
    parts = [part for each in messages if isinstance(each, ModelRequest) for part in each.parts]
    said = [part.content for part in parts if isinstance(part, UserPromptPart)]
    return [
        " ".join(str(item) for item in ([each] if isinstance(each, str) else each)) for each in said
    ]


async def play(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncGenerator[str | DeltaToolCalls]:
    """Answer as a model would."""
    del info
    note("model")
    last = messages[-1].parts
    results = [part for part in last if isinstance(part, ToolReturnPart)]
    said = prompts(messages)
    if results:
        for word in ("It", " is", f" {results[-1].content}"):
            yield word
    elif said[-1].startswith("delete"):
        yield "One moment."
        path = said[-1].partition(" ")[2]
        yield {0: DeltaToolCall("delete", f'{{"path": "{path}"}}', tool_call_id="call-1")}
    elif said[-1] == "write":
        yield "Half"
        if "HANG" in os.environ:
            note("hanging")
            await asyncio.Event().wait()
        yield " of it"
    elif said[-1] == "weather":
        yield {0: DeltaToolCall("weather", '{"city": "Rome"}', tool_call_id="call-1")}
    elif said[-1] == "ask":
        yield {0: DeltaToolCall("screen", "{}", tool_call_id="call-1")}
    else:
        yield f"{len(said)}: "
        yield ", ".join(said)


def scripted() -> pydantic_ai.Agent[None, str]:
    """Return the agent, as somebody who knows nothing of A2A would write it."""
    made = pydantic_ai.Agent(FunctionModel(stream_function=play), name="Weather")

    @made.tool_plain
    def weather(city: str) -> str:
        """Look at the weather."""
        return f"sunny in {city}"

    @made.tool_plain(requires_approval=True)
    def delete(path: str) -> str:
        """Delete something, once it is approved."""
        note(f"deleted {path}")
        return f"gone: {path}"

    @made.tool_plain
    def screen() -> str:
        """Look at the screen of the caller."""
        raise pydantic_ai.CallDeferred

    return made


agent = Agent.from_pydantic_ai(scripted(), description="Knows the weather.")
