"""dragoman demo-server: serve the demo agent, to try clients on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.options.parser import Parser
from dragoman.cli.serving.logs import LEVELS
from dragoman.cli.serving.serve import Served, run_server
from dragoman.cli.views.labels import Lines
from dragoman.demo.agent import Setup, demo_agent
from dragoman.demo.faults import with_card, with_faults
from dragoman.errors import UsageError
from dragoman.net.asgi import ASGIApp

__all__ = ("DEMO_SERVER",)

_EPILOG: Final = """\
The first word of a message names the scenario; so does the skill id in its metadata. Everything is
kept in memory, and only callers on this machine are served, unless you say otherwise.
"""


def _declare(parser: Parser) -> None:
    parser.description = (
        "Serve an agent that plays scripted scenarios, over JSON-RPC, HTTP+JSON and gRPC."
    )
    parser.epilog = _EPILOG
    parser.add_argument(
        "--list", action="store_true", default=False, help="list the scenarios, and serve nothing"
    )
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)"
    )
    parser.add_argument(
        "--port",
        type=int,
        default=8080,
        help="port to listen on; 0 picks a free one (default 8080)",
    )
    parser.add_argument("--name", help="name of the agent, for the card")
    parser.add_argument("--description", metavar="TEXT", help="what the card says it does")
    parser.add_argument(
        "--no-streaming",
        dest="streaming",
        action="store_false",
        help="do not declare streaming on the card, nor offer it",
    )
    parser.add_argument(
        "--tenant", dest="tenants", metavar="NAME", action="append", help="tenant to serve as well"
    )
    parser.add_argument(
        "--require-extension",
        dest="required_extensions",
        metavar="URI",
        action="append",
        help="extension that every caller must declare",
    )
    parser.add_argument(
        "--store", metavar="URL", default="memory:", help="where tasks are kept (default memory:)"
    )
    parser.add_argument(
        "--public-url",
        "--advertise-address",
        metavar="URL",
        help="address callers use, for the card (default: worked out)",
    )
    parser.add_argument(
        "--allow-anonymous",
        action="store_true",
        help="serve callers from other machines although nobody authenticates them",
    )
    parser.add_argument(
        "--card", metavar="FILE", help="card to show instead of its own, whatever it says"
    )
    parser.add_argument("--tls-cert", metavar="FILE", help="certificate to show (PEM)")
    parser.add_argument("--tls-key", metavar="FILE", help="private key of the certificate (PEM)")
    parser.add_argument(
        "--tls-client-ca",
        metavar="FILE",
        help="serve only callers who show a certificate that one of these has signed (PEM)",
    )
    parser.add_argument(
        "--log-level", choices=LEVELS, default="warning", help="least serious lines to log"
    )


def _run(invocation: Invocation) -> int:
    given = dict(vars(invocation.arguments))
    del given["command"]
    if given.pop("list"):
        lines = Lines()
        for skill in demo_agent(Setup()).skills:
            lines.field(skill.id, skill.description)
        invocation.output.print(lines.text())
        return 0
    own = {name: given.pop(name) for name in Setup.__struct_fields__ if name in given}
    card = given.pop("card", None)
    return run_server(given, partial(_load, msgspec.convert(own, Setup), card))


def _load(setup: Setup, card: str | None) -> Served:
    try:
        shown = Path(card).read_bytes() if card is not None else None
    except OSError as problem:
        raise UsageError(f"--card {card} cannot be read: {problem.strerror}") from None
    return Served(demo_agent(setup), partial(_around, shown))


def _around(card: bytes | None, app: ASGIApp) -> ASGIApp:
    faulty = with_faults(app)
    return faulty if card is None else with_card(faulty, card)


DEMO_SERVER: Final = Body(run=_run, declare=_declare, calls_agents=False)
