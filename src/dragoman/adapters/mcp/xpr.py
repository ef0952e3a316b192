"""The five tools of the XPR network, as an MCP server.

A model that has them finds agents by their account on the chain and calls them. Whoever is served
acts as the account that the requests are signed for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp.server import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from dragoman.adapters.mcp.contents import result_of
from dragoman.errors import DragomanError
from dragoman.model.parts import Part

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from dragoman.adapters import xpr_tool_table
    from dragoman.adapters.xpr_tools import XprTools

__all__ = ("xpr_server",)

_NAME: Final = "XPR agents"
_INSTRUCTIONS: Final = (
    "Find agents of the XPR network by their account, send them messages, look at what comes of "
    "that, and have them do jobs that are in escrow."
)


def xpr_server(tools: XprTools) -> Server[Any]:
    """Return an MCP server that has the tools; those that only look, if the tools are read-only."""
    calls = _Calls(tools)
    return Server(
        _NAME,
        instructions=_INSTRUCTIONS,
        on_list_tools=calls.list_tools,
        on_call_tool=calls.call_tool,
    )


class _Calls:
    """Answers the requests of MCP clients."""

    def __init__(self, tools: XprTools) -> None:
        self._tools = tools
        self._listed = {tool.name: _listing(tool) for tool in tools.tools}

    async def list_tools(
        self, ctx: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """List the tools."""
        del ctx, params
        return ListToolsResult(tools=[*self._listed.values()])

    async def call_tool(
        self, ctx: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        """Carry out a tool.

        What goes wrong is told the model, which may do better: an argument that is none, an agent
        that is not on the chain, or that refuses.

        Raises:
            MCPError: there is no such tool.
        """
        del ctx
        if params.name not in self._listed:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        try:
            found = await self._tools.call(params.name, params.arguments or {})
        except DragomanError as problem:
            return CallToolResult(content=[TextContent(text=str(problem))], is_error=True)
        return result_of((Part(data=found),), {})


def _listing(tool: xpr_tool_table.Tool) -> Tool:
    is_read = tool.kind == "read"
    return Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=ToolAnnotations(
            read_only_hint=is_read,
            # It ends work that is under way.
            destructive_hint=not is_read and tool.name == "xpr_a2a_cancel_task",
            # A message that is sent again is another message.
            idempotent_hint=is_read,
            open_world_hint=True,
        ),
    )
