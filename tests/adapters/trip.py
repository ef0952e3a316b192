"""A graph of LangGraph, as a file to be served: it looks, asks, and books."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import (  # pyright: ignore[reportMissingTypeStubs] - its types are in it
    END,
    START,
    MessagesState,
    StateGraph,
)
from langgraph.types import interrupt

from dragoman import Agent

__all__ = ("agent", "builder")


def note(line: str) -> None:
    """Note what was done, where a test can see it."""
    if "NOTES" in os.environ:
        with Path(os.environ["NOTES"]).open("a") as notes:
            notes.write(f"{line}\n")


async def look(state: MessagesState) -> dict[str, object]:
    """Have a model say something."""
    get_stream_writer()("Looking at trains")
    note("look")
    count = sum(message.type == "human" for message in state["messages"])
    model = GenericFakeChatModel(messages=iter([AIMessage(f"Message {count} it is")]))
    return {"messages": [await model.ainvoke(state["messages"])]}


async def work(state: MessagesState) -> dict[str, object]:
    """Work until the process dies, if it is to."""
    note("work")
    if "HANG" in os.environ:
        time.sleep(600)  # noqa: ASYNC251 - nothing may come after this
    return {}


def book(state: MessagesState) -> dict[str, object]:
    """Ask, and book."""
    seat = interrupt({"question": "Window or aisle?"})
    note(f"book {seat}")
    return {"messages": [AIMessage(f"Booked: {seat}")]}


def builder() -> Any:  # LangGraph leaves half of its types open.
    """Return the graph, as somebody who knows nothing of A2A would write it."""
    graph: Any = StateGraph(MessagesState)
    graph.add_node("look", look)
    graph.add_node("work", work)
    graph.add_node("book", book)
    graph.add_edge(START, "look")
    graph.add_edge("look", "work")
    graph.add_edge("work", "book")
    graph.add_edge("book", END)
    return graph


agent = Agent.from_langgraph(builder().compile(), name="Trip", description="Books trips.")
