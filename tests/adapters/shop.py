"""An agent of LangChain that buys what it is told to buy, once a person has agreed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

__all__ = ("shop",)

# Not everybody has langchain, and its types least of all.
_agents: Any = import_module("langchain.agents")
_middleware: Any = import_module("langchain.agents.middleware")


class _Shopper(BaseChatModel):
    """Wants to buy each thing that is named, and then tells what came of it."""

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Know the tools already."""
        del tools, options
        return self

    def _generate(self, messages: list[Any], *rest: Any, **options: Any) -> ChatResult:
        del rest, options
        results = [str(each.text) for each in messages if isinstance(each, ToolMessage)]
        said = AIMessage("; ".join(results))
        if not results:
            calls = [
                {"name": "buy", "args": {"item": item, "price": 3}, "id": f"call-{n}"}
                for n, item in enumerate(str(messages[-1].text).split())
            ]
            said = AIMessage("", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=said)])

    @property
    def _llm_type(self) -> str:
        return "scripted"


@tool
def buy(item: str, price: int) -> str:
    """Buy something."""
    return f"bought {item} for {price}"


def shop(mode: str, **config: Any) -> Any:
    """Return the graph, as somebody who knows nothing of A2A would write it."""
    reviewed = _middleware.HumanInTheLoopMiddleware({"buy": config or True}, interrupt_mode=mode)
    return _agents.create_agent(_Shopper(), [buy], middleware=[reviewed], name="Shop")
