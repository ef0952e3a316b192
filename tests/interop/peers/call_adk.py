"""google-adk as a ``calls.Caller``: a remote agent, run as any agent of ADK is."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import warnings
from functools import partial

from calls import Heard, run
from google.adk.agents.remote_a2a_agent import RemoteA2aAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

warnings.simplefilter("ignore")


class Conversation:
    def __init__(self, url: str) -> None:
        remote = RemoteA2aAgent(name="interop", agent_card=f"{url}/.well-known/agent-card.json")
        self._runner = InMemoryRunner(agent=remote, app_name="interop")
        self._runner.auto_create_session = True

    async def say(self, text: str) -> Heard:
        said = types.Content(role="user", parts=[types.Part(text=text)])
        pieces: list[str] = []
        kept: list[str] = []
        async for event in self._runner.run_async(user_id="u", session_id="s", new_message=said):
            if event.error_message:
                raise RuntimeError(event.error_message)
            for part in (event.content and event.content.parts) or ():
                # A question becomes the call of a function that only the user can answer.
                asked = part.function_call and part.function_call.args["input_required"]
                told = asked or (part.text if not part.thought else "") or ""
                # A partial event is shown, and forgotten: the session keeps the others.
                (pieces if event.partial else kept).append(told)
        return Heard("".join(kept), pieces)


if __name__ == "__main__":
    run(lambda url: partial(Conversation, url))
