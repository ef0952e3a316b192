"""dragoman demo-server: serve the demo agent, to try clients on."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from dragoman.cli.command import Body, Invocation
from dragoman.cli.options.options import Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.serving.options import Flag, SettingOption, option_of, serve_option, told, whole
from dragoman.cli.serving.serve import Served, run_server
from dragoman.cli.views.labels import Lines
from dragoman.demo.agent import Setup, demo_agent
from dragoman.demo.faults import with_card, with_faults
from dragoman.errors import UsageError
from dragoman.net.asgi import ASGIApp
from dragoman.server.settings import setting_fields

__all__ = ("DEMO_SERVER",)

_EPILOG: Final = """\
The first word of a message names the scenario; so does the skill id in its metadata. Everything is
kept in memory, and only callers on this machine are served, unless you say otherwise.
"""


_LIST: Final = Option[bool](
    name="list",
    default=False,
    is_configurable=False,
    help="list the scenarios, and serve nothing",
)
_CARD: Final = Option[str | None](
    name="card",
    metavar="FILE",
    default=None,
    is_configurable=False,
    help="card to show instead of its own, whatever it says",
)
_DEFAULTS: Final = {
    "host": "127.0.0.1",
    "port": 8080,
    "store": "memory:",
    "log_level": "warning",
}
"""What ``serve`` has other defaults for, or takes from the environment or a file."""

_SETUP: Final = setting_fields(Setup)


def _of_setup(member: str, flag: Flag) -> SettingOption:
    field = _SETUP[member]
    # The help leaves out what the demo agent is called.
    is_text = isinstance(field.default, str)
    return option_of(field._replace(default=None) if is_text else field, flag)


_OPTIONS: Final[tuple[Option[object], ...]] = (
    _LIST,
    serve_option("host"),
    serve_option("port", default=_DEFAULTS["port"]),
    _of_setup("name", Flag("name of the agent, for the card")),
    _of_setup("description", Flag("what the card says it does", "TEXT")),
    _of_setup("streaming", Flag("do not declare streaming on the card, nor offer it")),
    _of_setup("tenants", Flag("tenant to serve as well", "NAME", name="tenant", split=whole)),
    _of_setup(
        "required_extensions",
        Flag(
            "extension that every caller must declare",
            "URI",
            name="require-extension",
            split=whole,
        ),
    ),
    serve_option("store", default=_DEFAULTS["store"], meaning="where tasks are kept"),
    serve_option("public_url", spellings=("--advertise-address",)),
    serve_option("advertise"),
    serve_option("allow_anonymous"),
    _CARD,
    serve_option("tls_cert", meaning="certificate to show (PEM)"),
    serve_option("tls_key"),
    serve_option("tls_client_ca"),
    serve_option("log_level", default=None),
)


def _declare(parser: Parser) -> None:
    parser.description = (
        "Serve an agent that plays scripted scenarios, over JSON-RPC, HTTP+JSON and gRPC."
    )
    parser.epilog = _EPILOG
    parser.add_options(_OPTIONS)


def _run(invocation: Invocation) -> int:
    texts = {one.option.name: one.text for one in invocation.given}
    if _LIST.name in texts:
        lines = Lines()
        for skill in demo_agent(Setup()).skills:
            lines.field(skill.id, skill.description)
        invocation.output.print(lines.text())
        return 0
    given = {**_DEFAULTS, **told(invocation.given)}
    setup = {name: given.pop(name) for name in _SETUP if name in given}
    return run_server(given, partial(_load, msgspec.convert(setup, Setup), texts.get(_CARD.name)))


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
