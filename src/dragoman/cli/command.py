"""Which commands there are, and where each is carried out.

A command is a module of its own, which is imported when the command is called for.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Final

from msgspec import Struct

from dragoman.cli.options.options import GLOBAL, Option
from dragoman.cli.options.parser import Parser
from dragoman.cli.options.settings import Given, Settings
from dragoman.cli.output import Output
from dragoman.cli.session.progress import Progress
from dragoman.cli.surroundings import Surroundings

__all__ = ("COMMANDS", "GROUPS", "Body", "Command", "Invocation", "build_parsers")

_TITLE: Final = "options of all commands to agents"


class Invocation(Struct, frozen=True, kw_only=True):
    """A command that was called: what it was told, and where its results go.

    Attributes:
        given: the options of the command line, in their order.
        progress: the task it has to do with, for what is told when it fails or is interrupted.
        parsers: those of all commands, by name.
    """

    arguments: argparse.Namespace
    given: Sequence[Given] = ()
    settings: Settings
    output: Output
    surroundings: Surroundings
    progress: Progress
    parsers: Mapping[str, Parser]


class Body(Struct, frozen=True, kw_only=True):
    """What a command does.

    Attributes:
        run: carries it out and returns the exit code; failures are raised.
        declare: adds its own arguments and options to the parser.
        calls_agents: it takes the options that all commands to agents share.
    """

    run: Callable[[Invocation], int]
    declare: Callable[[Parser], None] | None = None
    calls_agents: bool = True


class Command(Struct, frozen=True):
    """One command: its name, which may have several words, and the place of its body."""

    name: str
    place: str
    summary: str

    def load(self) -> Body:
        """Import the body."""
        module, _, name = self.place.partition(":")
        body = getattr(import_module(module), name)
        assert isinstance(body, Body)  # noqa: S101 - the table below is ours
        return body


GROUPS: Final = {
    "card": "read the cards of agents",
    "task": "look after tasks",
    "task push-config": "have webhooks told of a task",
    "auth": "sign in to agents",
    "catalog": "look at catalogs of agents",
    "config": "look at the settings",
    "db": "look after the store of a server",
    "push": "look after the notifications of a server",
    "keys": "look after the keys of an agent and of its callers",
    "mcp": "speak to programs that speak MCP",
    "transport": "look at the bindings",
    "xpr": "call agents of the XPR network by their account",
}

COMMANDS: Final = (
    Command("serve", "dragoman.cli.serving.serve:SERVE", "run an agent"),
    Command(
        "demo-server",
        "dragoman.cli.commands.demo_server:DEMO_SERVER",
        "run an agent to practise on",
    ),
    Command("server", "dragoman.cli.commands.demo_server:DEMO_SERVER", "the same as demo-server"),
    Command("card get", "dragoman.cli.commands.card:GET", "show the card of an agent"),
    Command("send", "dragoman.cli.commands.send:SEND", "send a message to an agent"),
    Command("chat", "dragoman.cli.commands.chat:CHAT", "talk to an agent, turn by turn"),
    Command("task get", "dragoman.cli.commands.task:GET", "show a task"),
    Command("task list", "dragoman.cli.commands.task:LIST", "list tasks"),
    Command("task cancel", "dragoman.cli.commands.task:CANCEL", "cancel a task"),
    Command("task subscribe", "dragoman.cli.commands.task:SUBSCRIBE", "follow a task"),
    Command(
        "task download",
        "dragoman.cli.commands.task_download:DOWNLOAD",
        "save the results of a task",
    ),
    Command("task tree", "dragoman.cli.commands.task:TREE", "show what others do for a task"),
    Command(
        "task inspect", "dragoman.cli.commands.task_inspect:INSPECT", "show a task as it is stored"
    ),
    Command(
        "task push-config create", "dragoman.cli.commands.task_push_config:CREATE", "add a webhook"
    ),
    Command("task push-config get", "dragoman.cli.commands.task_push_config:GET", "show a webhook"),
    Command(
        "task push-config list",
        "dragoman.cli.commands.task_push_config:LIST",
        "list the webhooks of a task",
    ),
    Command(
        "task push-config delete",
        "dragoman.cli.commands.task_push_config:DELETE",
        "remove a webhook",
    ),
    Command("auth login", "dragoman.cli.commands.auth_login:LOGIN", "get a token for an agent"),
    Command("auth status", "dragoman.cli.commands.auth:STATUS", "show the tokens that are kept"),
    Command("auth logout", "dragoman.cli.commands.auth:LOGOUT", "revoke and forget tokens"),
    Command("catalog list", "dragoman.cli.commands.catalog:LIST", "list the agents of a catalog"),
    Command(
        "task push-config listen",
        "dragoman.cli.commands.task_push_config:LISTEN",
        "receive notifications",
    ),
    Command(
        "config show", "dragoman.cli.commands.config:SHOW", "show all settings and their sources"
    ),
    Command("db check", "dragoman.cli.commands.db:CHECK", "look for damage in a store"),
    Command("db upgrade", "dragoman.cli.commands.db:UPGRADE", "bring a store up to date"),
    Command("db vacuum", "dragoman.cli.commands.db:VACUUM", "give back the room of removed tasks"),
    Command(
        "db erase", "dragoman.cli.commands.db:ERASE", "erase tasks and all that belongs to them"
    ),
    Command("push list", "dragoman.cli.commands.push:LIST", "list webhooks and dead letters"),
    Command("push retry", "dragoman.cli.commands.push:RETRY", "send dead letters again"),
    Command("push drop", "dragoman.cli.commands.push:DROP", "remove dead letters"),
    Command(
        "push tail", "dragoman.cli.commands.push_tail:TAIL", "follow what becomes of notifications"
    ),
    Command("conformance", "dragoman.cli.commands.conformance:CONFORMANCE", "check a live agent"),
    Command("keys create", "dragoman.cli.commands.keys:CREATE", "make a key for a caller"),
    Command("keys list", "dragoman.cli.commands.keys:LIST", "list the keys of callers"),
    Command("keys revoke", "dragoman.cli.commands.keys:REVOKE", "make a key worth nothing"),
    Command(
        "keys create-card-key",
        "dragoman.cli.commands.keys_sign:CREATE_CARD_KEY",
        "make a signing key",
    ),
    Command(
        "keys rotate-push-key",
        "dragoman.cli.commands.keys_sign:ROTATE",
        "change the key of webhooks",
    ),
    Command(
        "keys sign-card", "dragoman.cli.commands.keys_sign:SIGN_CARD", "sign a card that is a file"
    ),
    Command(
        "xpr discover", "dragoman.cli.commands.xpr:DISCOVER", "find an agent and show its card"
    ),
    Command("xpr send", "dragoman.cli.commands.xpr:SEND", "send a message to an agent"),
    Command("xpr get-task", "dragoman.cli.commands.xpr:GET_TASK", "show a task of an agent"),
    Command("xpr cancel", "dragoman.cli.commands.xpr:CANCEL", "cancel a task of an agent"),
    Command(
        "xpr delegate", "dragoman.cli.commands.xpr:DELEGATE", "have an agent do a job in escrow"
    ),
    Command("xpr mcp", "dragoman.cli.commands.xpr_mcp:SERVE", "publish these as MCP tools"),
    Command(
        "mcp serve", "dragoman.cli.commands.mcp:SERVE", "publish an agent's skills as MCP tools"
    ),
    Command(
        "transport list", "dragoman.cli.commands.transport:LIST", "list the bindings to choose from"
    ),
    Command(
        "skill", "dragoman.cli.commands.skill:SKILL", "print or install the skill for other agents"
    ),
    Command(
        "completion", "dragoman.cli.options.completion:COMPLETION", "print a script for your shell"
    ),
    Command("help", "dragoman.cli.commands.help:HELP", "explain a command"),
    Command("version", "dragoman.cli.commands.help:VERSION", "print the version"),
)


def build_parsers(
    program: str, given: list[Given], describe: Callable[[Option[object]], str]
) -> dict[str, Parser]:
    """Return the parsers of the program (""), of the groups and of the commands, by name.

    That of the program parses a whole command line. What it returns has a member ``command``,
    unless none was named.
    """
    root = Parser(
        given=given,
        describe=describe,
        prog=program,
        description="Write, call and run A2A (Agent2Agent) agents.",
    )
    root.add_version("-v", "--version")
    parsers = {"": root}
    branches = {"": root.add_subparsers(title="commands", metavar="COMMAND")}

    def add(name: str, summary: str, declare: Callable[[Parser], None] | None = None) -> Parser:
        above, _, word = name.rpartition(" ")
        if above not in branches:
            group = add(above, GROUPS[above])
            branches[above] = group.add_subparsers(
                title="commands", metavar="COMMAND", required=True
            )
        parsers[name] = branches[above].add_parser(
            word,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}.",
            given=given,
            describe=describe,
            declare=declare,
        )
        return parsers[name]

    for command in COMMANDS:
        parser = add(command.name, command.summary, partial(_declare, command))
        parser.set_defaults(command=command)
    root.add_options(GLOBAL, _TITLE)
    return parsers


def _declare(command: Command, parser: Parser) -> None:
    body = command.load()
    if body.declare is not None:
        body.declare(parser)
    if body.calls_agents:
        parser.add_options(GLOBAL, _TITLE)
        parser.add_version("--version")
