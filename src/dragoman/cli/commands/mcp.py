"""dragoman mcp serve: an A2A agent as an MCP server."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any, Final

from dragoman.agent.adapter_loading import AdapterFunction
from dragoman.cli.command import Body, Invocation
from dragoman.cli.options.options import AGENT_CARD
from dragoman.cli.options.parser import Parser
from dragoman.cli.serving.ports import address_of, listen
from dragoman.cli.session.session import opened, run_async
from dragoman.cli.session.target import target_of
from dragoman.client.agent import RemoteAgent
from dragoman.clock import SystemClock
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import Server

    from dragoman.cli.command import Invocation
    from dragoman.cli.options.parser import Parser

__all__ = ("SERVE", "Address", "address_in", "declare_address", "serve_mcp")


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
    declare_address(parser)


def _run(invocation: Invocation) -> int:
    # Before anything is asked: what is not installed, and what cannot be listened on.
    bridge: Callable[[RemoteAgent], Any] = _BRIDGE.load()
    address = address_in(invocation)

    async def serve() -> None:
        target = target_of(invocation.settings, invocation.surroundings.folder)
        async with opened(invocation, target) as session:
            agent = RemoteAgent(session.service, session.card, SystemClock().new_id)
            await serve_mcp(bridge(agent), address)

    return run_async(invocation, serve, is_live=True)


SERVE: Final = Body(run=_run, declare=_declare)


# --- where MCP is served --------------------------------------------------------------------------

Address = tuple[str, int]


def declare_address(parser: Parser) -> None:
    """Declare the options that say where."""
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        default="",
        help="serve streamable HTTP on this address instead, at /mcp; port 0 picks a free one",
    )
    parser.add_argument(
        "--allow-anonymous",
        action="store_true",
        default=False,
        help="serve callers from other machines although nobody authenticates them",
    )


def address_in(invocation: Invocation) -> Address | None:
    """Return the address to listen on, None for standard input and output.

    Raises:
        UsageError: it is none, or other machines can reach it and the user has not said that they
            may. Whoever calls acts with the credentials of the user.
    """
    # Needs the extra.
    from dragoman.adapters.mcp.serving import is_local  # noqa: PLC0415 - see above

    text: str = invocation.arguments.http
    if not text:
        return None
    host, separator, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not separator or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--http needs HOST:PORT, such as 127.0.0.1:8765, not {text!r}")
    host = host or "127.0.0.1"
    if not is_local(host) and not invocation.arguments.allow_anonymous:
        raise UsageError(
            f"{host} can be reached from other machines, and nobody authenticates who calls: "
            "listen on 127.0.0.1, or add --allow-anonymous"
        )
    return host, int(port)


async def serve_mcp(server: Server[Any], address: Address | None) -> None:
    """Serve until the client leaves, or the process is told to stop."""
    # Needs the extra.
    from dragoman.adapters.mcp.serving import PATH, serve_http, serve_stdio  # noqa: PLC0415 - see above

    if address is None:
        await serve_stdio(server)
        return
    host, port = address
    with listen(host, port, option="--http", host_option="--http") as listener:

        def announce() -> None:
            url = f"http://{address_of(listener)}{PATH}"
            sys.stdout.write(f"{server.name} is an MCP server at {url}\n")
            sys.stdout.write("  stop:  Ctrl-C\n")
            sys.stdout.flush()

        for number in (signal.SIGINT, signal.SIGTERM):
            # uvicorn raises the signal again when it is done; by then it has been obeyed.
            signal.signal(number, lambda _number, _frame: None)
        await serve_http(server, host, listener, announce)
