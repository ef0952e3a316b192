"""A graph that looks for trains, asks for a seat and books it; kill it while it waits."""

from typing import Any

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


def look(state: MessagesState) -> dict[str, object]:
    get_stream_writer()(f"Looking for trains to {state['messages'][-1].text}")
    return {"messages": [AIMessage("There is one at nine.")]}


def book(state: MessagesState) -> dict[str, object]:
    seat = interrupt("Window or aisle?")
    return {"messages": [AIMessage(f"{state['messages'][0].text}, 9:00, {seat}")]}


graph: Any = StateGraph(MessagesState)
graph.add_node("look", look)
graph.add_node("book", book)
graph.add_edge(START, "look")
graph.add_edge("look", "book")
graph.add_edge("book", END)

agent = Agent.from_langgraph(graph.compile(), name="Trains", description="Books trains.")
