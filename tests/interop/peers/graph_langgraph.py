"""The graph of ``serve_langgraph.py``; the server loads it by its path."""

# It is not installed where pyright looks, on purpose; so its types are not known there.
# pyright: basic, reportMissingImports=false

# No ``from __future__ import annotations``: the server looks at the annotations of the state.

import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

sys.path.insert(0, str(Path(__file__).parent))
from script import QUESTION, pieces, wants_to_ask


class Scripted(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> ChatResult:
        text = "".join([piece async for piece in pieces(*_heard(messages))])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    async def _astream(self, messages: Any, *_: Any, **__: Any) -> Any:
        async for piece in pieces(*_heard(messages)):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))


def _heard(messages: list[AnyMessage]) -> list[str]:
    return [message.text for message in messages if message.type == "human"]


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


async def speak(state: State) -> dict[str, Any]:
    if wants_to_ask(_heard(state["messages"])[-1]):
        return {"messages": [AIMessage(f"To {interrupt(QUESTION)}.")]}
    return {"messages": [await Scripted().ainvoke(state["messages"])]}


builder = StateGraph(State)
builder.add_node("speak", speak)
builder.add_edge(START, "speak")
builder.add_edge("speak", END)
graph = builder.compile()
