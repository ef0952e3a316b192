"""An agent made with google-adk: a scripted model, served by ``to_a2a``."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.a2a.utils.agent_to_a2a import to_a2a
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.tools import LongRunningFunctionTool
from google.genai import types
from script import QUESTION, pieces, wants_to_ask
from stage import listen, serve

warnings.simplefilter("ignore")


class Scripted(BaseLlm):
    async def generate_content_async(
        self,
        llm_request: Any,
        stream: bool = False,  # noqa: FBT001, FBT002 - so it is called
    ) -> AsyncGenerator[LlmResponse, None]:
        last = llm_request.contents[-1].parts[-1]
        heard = [
            part.text
            for each in llm_request.contents
            if each.role == "user"
            for part in each.parts
            if part.text
        ]
        if last.text and wants_to_ask(last.text):
            call = types.FunctionCall(name="ask_user", args={"question": QUESTION})
            yield _response(types.Part(function_call=call))
        elif last.function_response:
            yield _response(types.Part(text=QUESTION))
        else:
            said = [piece async for piece in pieces(*heard)]
            if stream:
                for piece in said:
                    yield _response(types.Part(text=piece), partial=True)
            yield _response(types.Part(text="".join(said)))


def _response(part: types.Part, *, partial: bool | None = None) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]), partial=partial)


def ask_user(question: str) -> None:
    """Ask the user something."""


async def main() -> None:
    listener, url = listen()
    agent = LlmAgent(
        name="peer",
        description="An agent made with ADK.",
        model=Scripted(model="scripted"),
        tools=[LongRunningFunctionTool(ask_user)],
    )
    app = to_a2a(agent, host="127.0.0.1", port=int(url.rpartition(":")[2]))
    await serve(app, listener, url)


if __name__ == "__main__":
    asyncio.run(main())
