"""dragoman xpr mcp: the tools that call agents by their account, as an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dragoman.agent.adapter_loading import AdapterFunction
from dragoman.cli.command import Body, Invocation
from dragoman.cli.commands.mcp import address_in, declare_address, serve_mcp
from dragoman.cli.commands.xpr_access import CHAIN_OPTIONS, access_of
from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.session.session import run_async

if TYPE_CHECKING:
    from collections.abc import Callable

    from dragoman.adapters.xpr_tools import XprTools

__all__ = ("SERVE",)

_SERVER: Final = AdapterFunction("dragoman.adapters.mcp.xpr", "xpr_server", "mcp")

_READ_ONLY: Final = Option[bool](
    name="read-only",
    read=values.boolean,
    default=False,
    is_configurable=False,
    help="have the tools alone that look: discover and get_task",
)

_EPILOG: Final = """\
The tools have the names that models know: xpr_a2a_discover, xpr_a2a_send_message,
xpr_a2a_get_task, xpr_a2a_cancel_task and xpr_a2a_delegate_job. Without --http the program that has
started this one is served, over standard input and output. Whoever is served acts as XPR_ACCOUNT.
"""


def _declare(parser: Parser) -> None:
    parser.description = "Publish the tools that call agents by their account as an MCP server."
    parser.epilog = _EPILOG
    declare_address(parser)
    parser.add_options((_READ_ONLY, *CHAIN_OPTIONS))


def _run(invocation: Invocation) -> int:
    # Before anything is asked: what is not installed, and what cannot be listened on.
    make: Callable[[XprTools], Any] = _SERVER.load()
    address = address_in(invocation)
    access = access_of(invocation)

    async def serve() -> None:
        is_read_only = invocation.settings[_READ_ONLY]
        async with access.tools("readonly" if is_read_only else "full") as tools:
            await serve_mcp(make(tools), address)

    return run_async(invocation, serve, is_live=True)


SERVE: Final = Body(run=_run, declare=_declare)
