"""The options of ``serve``, made of the settings that a server declares.

Name, kind and default of an option come from the field of the setting. The table here says which
settings have an option, group after group as the help has them, and how it explains them.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Final, Literal, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import UNSET

from dragoman.cli.options import values
from dragoman.cli.options.options import Option
from dragoman.cli.options.settings import Given
from dragoman.server.settings import ProcessSettings, SettingField, setting_fields

__all__ = (
    "CONFIG_FILE",
    "OPTIONS",
    "Flag",
    "SettingOption",
    "option_of",
    "serve_option",
    "told",
    "whole",
)

CONFIG_FILE: Final = "dragoman.toml"
"""The settings file that is read unless another is named."""


def whole(text: str) -> Sequence[str]:
    """Take a text as one item of a list, commas and all."""
    return (text,)


class Flag(NamedTuple):
    """How one setting is put on the command line.

    Attributes:
        metavar: the name of the setting, or its choices, unless given.
        shown: what happens by default, if that is not the default as it is.
        name: the flag, if it is not named like the setting.
        spellings: other names of the flag.
        split: how one text is split, for a list.
    """

    help: str
    metavar: str = ""
    shown: str = ""
    name: str = ""
    spellings: tuple[str, ...] = ()
    split: Callable[[str], Sequence[str]] = values.split_list


class SettingOption(Option[None], frozen=True, kw_only=True):
    """An option that sets a member of a struct of settings.

    It has no default of its own: without it, the environment and the file are looked at.

    Attributes:
        member: what it sets.
        group: what its group of settings is about.
        sets: what a switch sets it to.
    """

    member: str
    group: str = ""
    default: None = None
    read: Callable[[str], object] = str
    is_configurable: bool = False
    spellings: tuple[str, ...] = ()
    sets: bool = True

    @property
    def flags(self) -> tuple[str, ...]:
        """All spellings on the command line, the one to show first."""
        return (f"--{self.name}", *self.spellings)


def option_of(field: SettingField, flag: Flag) -> SettingOption:
    """Return the option that sets a member, in the form that its type calls for."""
    kind = _kind(field.type)
    name = flag.name or field.name.replace("_", "-")
    metavar = flag.metavar or field.name.upper()
    text = _explained(field.default, flag)
    if kind is bool:
        # What is on by default can only be switched off.
        prefix = "no-" if field.default else ""
        return SettingOption(
            name=prefix + name,
            help=text,
            member=field.name,
            group=field.group,
            sets=not field.default,
        )
    choices = get_args(kind) if get_origin(kind) is Literal and not flag.metavar else ()
    return SettingOption(
        name=name,
        help=text,
        member=field.name,
        group=field.group,
        metavar=f"{{{','.join(choices)}}}" if choices else metavar,
        read=int if kind is int else str,
        choices=choices,
        split=flag.split if get_origin(kind) is tuple else None,
        spellings=flag.spellings,
        is_checked_early=kind is int or bool(choices),
    )


def _kind(annotation: object) -> object:
    """Return a type without its limits, and without None."""
    if get_origin(annotation) is Annotated:
        return _kind(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return _kind(next(each for each in get_args(annotation) if each is not type(None)))
    return annotation


def _explained(default: object, flag: Flag) -> str:
    if flag.shown:
        return f"{flag.help} (default: {flag.shown})"
    if isinstance(default, tuple):
        default = ",".join(map(str, msgspec.convert(default, tuple[object, ...])))
    is_told = default not in (None, "") and not isinstance(default, bool)
    return f"{flag.help} (default {default})" if is_told else flag.help


def told(given: Iterable[Given]) -> dict[str, object]:
    """Return the members that are set on the command line, with their values."""
    found: dict[str, object] = {}
    lists: dict[str, list[str]] = {}
    for option, text, _ in given:
        if not isinstance(option, SettingOption):
            continue
        if option.is_switch:
            found[option.member] = option.sets
        elif option.split is None:
            found[option.member] = option.read(text)
        else:
            lists.setdefault(option.member, []).extend(option.split(text))
    return {**found, **lists}


_FLAGS: Final[Mapping[str, Flag]] = {
    "host": Flag("address to listen on"),
    "port": Flag("port to listen on; 0 picks a free one"),
    "grpc_port": Flag("serve gRPC on a port of its own as well", "N"),
    "tls_cert": Flag("certificate to show, with its chain (PEM)", "FILE"),
    "tls_key": Flag("private key of the certificate (PEM)", "FILE"),
    "tls_client_ca": Flag(
        "serve only callers who show a certificate that one of these has signed (PEM)", "FILE"
    ),
    "workers": Flag("serve the port with so many processes, on PostgreSQL", "N"),
    "otlp": Flag(
        "send spans to this collector of OpenTelemetry, such as http://collector:4318", "URL"
    ),
    "reload": Flag("restart when a file changes"),
    "log_level": Flag("least serious lines to log"),
    "log_format": Flag("form of log lines"),
    "store": Flag(
        "where tasks are kept: sqlite:///file.db, sqlite:////abs/file.db, memory: or, for "
        "several servers at once, postgres://user@host/database",
        "URL",
    ),
    "bus": Flag(
        "how servers on one PostgreSQL tell each other of news: nats://host:4222",
        "URL",
        shown="by the database itself",
    ),
    "public_url": Flag("address callers use, for the card", "URL", shown="worked out"),
    "path": Flag("where the agent is below its address, such as /a2a/v1", shown="at its root"),
    "advertise": Flag(
        "bindings that the card lists: jsonrpc, http+json, grpc; all are served", "BINDINGS"
    ),
    "card": Flag("whose members the card has for readers who state no version", "VERSION"),
    "private_card": Flag("show the card only to callers who show who they are"),
    "card_key": Flag(
        "sign the card with this private key; a further one is only published",
        "FILE",
        split=whole,
    ),
    "allow_anonymous": Flag("serve callers from other machines although nobody authenticates them"),
    "api_keys": Flag("serve callers who show one of these keys (see 'dragoman keys')", "FILE"),
    "strict_versions": Flag(
        "read every version by the letter, without allowance for the habits of clients"
    ),
    "rate_limit": Flag(
        "how often one caller may ask, such as 600/min", "RATE", shown="as often as it likes"
    ),
    "push": Flag("let nobody register webhooks"),
    "push_allow_http": Flag(
        "call webhooks by http, too, which others can read and change on the way"
    ),
    "push_allow_hosts": Flag(
        "webhooks that may be on inner networks: hosts, addresses and networks, each perhaps "
        "with a port, such as hooks.corp.example,10.1.0.0/16,localhost:*",
        "HOSTS",
    ),
    "push_ports": Flag("ports at which webhooks may be called anywhere", "PORTS"),
    "push_events": Flag("what webhooks are told of: states, artifacts, messages", "KINDS"),
    "push_signing": Flag("how notifications are signed: jwt or none", "KIND"),
    "push_keys": Flag(
        "private keys that sign notifications; made when it is missing",
        "FILE",
        shown="a file beside the store",
    ),
    "push_challenge": Flag("register only webhooks that send back what they are asked"),
}


def serve_option(
    name: str,
    *,
    default: object = UNSET,
    meaning: str = "",
    spellings: tuple[str, ...] = (),
) -> SettingOption:
    """Return the option of one setting.

    Args:
        default: the one that the help names, if a command has its own.
        meaning: what the help says, if not what the table does.
        spellings: other names of the flag.
    """
    field = {**setting_fields(), **setting_fields(ProcessSettings)}[name]
    if default is not UNSET:
        field = field._replace(default=default)
    flag = _FLAGS[name]
    return option_of(field, flag._replace(help=meaning or flag.help, spellings=spellings))


OPTIONS: Final = (
    SettingOption(
        name="config",
        help=f"settings file (default {CONFIG_FILE})",
        metavar="FILE",
        member="config",
    ),
    *(serve_option(name) for name in _FLAGS),
)
"""The options of ``dragoman serve``, one group after the other."""
