"""Toolbox: the tools of this program, and what is told to an agent that asks for them."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dragoman.client.tools.tool import Tool
from dragoman.errors import DragomanError
from dragoman.extensions.agent_tools.declarations import declaration
from dragoman.extensions.agent_tools.exchange import ToolResult, ToolUse

if TYPE_CHECKING:
    from dragoman.model.base import JsonObject

__all__ = ("Approve", "Toolbox")

_logger = logging.getLogger(__name__)

Approve = Callable[[ToolUse], object]
"""approve(use): tell whether a tool may run, as ``use.name`` with ``use.input``; may be async."""


class Toolbox:
    """Runs tools for agents.

    Args:
        approve: asked before each; what is not approved is not run, and the agent is told so. A
            plain function is called in a thread, so that it may wait for somebody.
    """

    def __init__(self, tools: Sequence[Tool], approve: Approve | None = None) -> None:
        self._tools = {tool.declared.name: tool for tool in tools}
        self._approve = approve

    @property
    def metadata(self) -> JsonObject:
        """What declares the tools, as an entry of a message's metadata."""
        return declaration(tool.declared for tool in self._tools.values())

    async def run(self, uses: Sequence[ToolUse]) -> tuple[ToolResult, ...]:
        """Run what an agent asks for; whatever goes wrong is a result, too.

        Approval is asked for one after the other, then all run side by side.
        """
        approved = [await self._is_approved(use) for use in uses]
        return tuple(
            await asyncio.gather(
                *(
                    self._run(use) if is_approved else _refused(use)
                    for use, is_approved in zip(uses, approved, strict=True)
                )
            )
        )

    async def _is_approved(self, use: ToolUse) -> bool:
        if self._approve is None or use.name not in self._tools:
            return True
        if inspect.iscoroutinefunction(self._approve):
            verdict = await self._approve(use)
        else:
            verdict = await asyncio.to_thread(self._approve, use)
            if inspect.isawaitable(verdict):
                verdict = await verdict
        return bool(verdict)

    async def _run(self, use: ToolUse) -> ToolResult:
        tool = self._tools.get(use.name)
        if tool is None:
            return _failed(use, f"There is no tool {use.name!r}")
        try:
            return ToolResult(tool_use_id=use.tool_use_id, result=await tool.run(use.input))
        except DragomanError as problem:
            return _failed(use, str(problem))
        except Exception as problem:
            _logger.warning("tool %s failed", use.name, exc_info=problem)
            return _failed(use, f"{type(problem).__name__}: {problem}")


async def _refused(use: ToolUse) -> ToolResult:
    _logger.info("tool %s was not approved", use.name)
    return _failed(use, f"The user does not allow {use.name}")


def _failed(use: ToolUse, error: str) -> ToolResult:
    return ToolResult(tool_use_id=use.tool_use_id, error=error, is_error=True)
