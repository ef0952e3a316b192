"""Where a command serves MCP: to the program that has started it, or over HTTP."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.serving.ports import address_of, listen
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from mcp.server import Server

    from dragoman.cli.command import Invocation
    from dragoman.cli.options.parser import Parser

__all__ = ("Address", "address_in", "declare_place", "serve_mcp")

Address = tuple[str, int]


def declare_place(parser: Parser) -> None:
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
