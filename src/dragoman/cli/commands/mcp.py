"""dragoman mcp serve: an A2A agent as an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from dragoman.agent.adapter_loading import AdapterFunction
from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.mcp_place import address_in, declare_place, serve_mcp
from dragoman.cli.options.options import AGENT_CARD
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.session import opened, run_async
from dragoman.cli.session.target import target_of
from dragoman.client.agent import RemoteAgent
from dragoman.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ("SERVE",)

_BRIDGE: Final = AdapterFunction("dragoman.adapters.mcp.bridge", "bridge", "mcp")

_EPILOG: Final = """\
Each skill of the agent is a tool. Without --http the program that has started this one is served,
over standard input and output, as most MCP clients want it. Whoever is served acts with the
credentials that are given here.
"""


def _declare(parser: Parser) -> None:
    parser.description = "Publish the skills of an A2A agent as the tools of an MCP server."
    parser.epilog = _EPILOG
    parser.add_stand_in("ref", AGENT_CARD)
    declare_place(parser)


def _run(invocation: Invocation) -> int:
    # Before anything is asked: what is not installed, and what cannot be listened on.
    bridge = cast("Callable[[RemoteAgent], Any]", _BRIDGE.load())
    address = address_in(invocation)

    async def serve() -> None:
        target = target_of(invocation.settings, invocation.surroundings.folder)
        async with opened(invocation, target) as session:
            agent = RemoteAgent(session.service, session.card, SystemClock().new_id)
            await serve_mcp(bridge(agent), address)

    return run_async(invocation, serve, is_live=True)


SERVE: Final = Body(run=_run, declare=_declare)
