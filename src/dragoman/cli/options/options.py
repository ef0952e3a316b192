"""The options that all commands to agents share, each declared once.

An option is a flag and, unless it says otherwise, a variable ``A2ACLI_<NAME>`` and a line of the
same name in a settings file. An alias is another spelling of the flag and has no variable. Options
of a single command stand beside that command.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from msgspec import Struct

from dragoman.cli.options import values

__all__ = (
    "A2A_VERSION",
    "AGENT_CARD",
    "API_KEY",
    "ASYNC",
    "AUTH",
    "BEARER",
    "CARD_AUTH",
    "CATALOG",
    "CA_CERT",
    "CLIENT_CERT",
    "CLIENT_KEY",
    "CLIENT_SECRET",
    "CONFIG",
    "CONTEXT_ID",
    "DEBUG",
    "ENDPOINT",
    "EXTENSION",
    "GLOBAL",
    "INSECURE",
    "LEGACY",
    "METADATA",
    "ON_AUTH_REQUIRED",
    "OUTPUT",
    "POLL_INTERVAL",
    "PREFIX",
    "STREAM",
    "STRICT",
    "SVC_PARAM",
    "TASK_ID",
    "TENANT",
    "TIMEOUT",
    "TRANSPORT",
    "VERBOSE",
    "WAIT",
    "Option",
)

T_co = TypeVar("T_co", covariant=True)

PREFIX: Final = "A2ACLI_"

_EXPOSED: Final = (
    "seen by other users in the process table and kept by the shell: prefer the variable "
)


class Option(Struct, Generic[T_co], frozen=True, kw_only=True):
    """One thing a user can say; ``T_co`` is what its value is for the program.

    Attributes:
        name: the long flag without its dashes.
        read: makes the value, or one of its items, of a text; raises ValueError.
        default: the built-in value.
        shown: how help names that value, if not as it is.
        split: for an option that may be repeated: how one text is split into items. The value is
            the tuple of all items.
        metavar: how help names the value; "" for a switch, which takes none.
        choices: the values worth proposing.
        is_secret: it is shown to nobody.
        is_configurable: the environment and files may set it.
        is_checked_early: the parser itself reads it, or compares it with the choices.
    """

    name: str
    help: str
    default: T_co
    read: Callable[[str], object] = values.text
    shown: str = ""
    split: Callable[[str], Sequence[str]] | None = None
    metavar: str = ""
    short: str = ""
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    is_secret: bool = False
    is_configurable: bool = True
    is_checked_early: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """All spellings on the command line, the one to show first."""
        return (f"--{self.name}", *((self.short,) if self.short else ()), *self.aliases)

    @property
    def variable(self) -> str:
        """The variable of the environment, and the key in files."""
        return PREFIX + self.name.upper().replace("-", "_")

    @property
    def is_switch(self) -> bool:
        """Tell whether the flag stands alone."""
        return not self.metavar


# --- which agent, and how to speak to it ----------------------------------------------------------

AGENT_CARD: Final = Option[str | None](
    name="agent-card",
    short="-a",
    metavar="REF",
    default=None,
    help="agent to talk to: a host, the URL of its card, a file, or CATALOG@ENTRY",
)
CATALOG: Final = Option[str | None](
    name="catalog",
    metavar="REF",
    default=None,
    help="catalog to look up the agent in: a host, a URL or a file",
)
ENDPOINT: Final = Option[str | None](
    name="endpoint",
    short="-e",
    metavar="URL",
    default=None,
    help="interface to talk to without reading a card; needs one --transport",
)
TRANSPORT: Final = Option[tuple[str, ...]](
    name="transport",
    metavar="BINDING",
    read=values.binding,
    split=values.split_list,
    default=(),
    shown="the order of the card",
    choices=("JSONRPC", "HTTP+JSON", "GRPC"),
    help="binding to prefer: JSONRPC, HTTP+JSON or GRPC; repeat it for a second choice",
)
A2A_VERSION: Final = Option[str | None](
    name="a2a-version",
    metavar="VERSION",
    read=values.version,
    default=None,
    shown="what both speak, at least 1.0 if the card has it",
    help="protocol version to speak, such as 1.0 or 0.3",
)
STRICT: Final = Option[bool](
    name="strict",
    read=values.boolean,
    default=False,
    help="speak to no agent that has only versions before 1.0",
)
LEGACY: Final = Option[bool](
    name="legacy",
    read=values.boolean,
    default=False,
    help="also speak versions before 1.0 to an agent that declares 1.0",
)
TENANT: Final = Option[str | None](
    name="tenant",
    metavar="NAME",
    default=None,
    help="tenant to name in requests; only with --endpoint, as a card says it itself",
)
EXTENSION: Final = Option[tuple[str, ...]](
    name="extension",
    metavar="URI",
    split=values.split_list,
    default=(),
    help="extension to declare (A2A-Extensions); may be repeated",
)
SVC_PARAM: Final = Option[tuple[tuple[str, str], ...]](
    name="svc-param",
    metavar="NAME:VALUE",
    read=values.parameter,
    split=values.split_parameters,
    default=(),
    is_secret=True,
    help="service parameter to send along as header or gRPC metadata; may be repeated",
)

# --- credentials ----------------------------------------------------------------------------------

BEARER: Final = Option[str | None](
    name="bearer",
    metavar="TOKEN",
    default=None,
    is_secret=True,
    help=f"bearer token; {_EXPOSED}A2ACLI_BEARER",
)
API_KEY: Final = Option[str | None](
    name="api-key",
    metavar="KEY",
    default=None,
    is_secret=True,
    help=f"API key, sent where the card says; {_EXPOSED}A2ACLI_API_KEY",
)
AUTH: Final = Option[str | None](
    name="auth",
    metavar="VALUE",
    default=None,
    is_secret=True,
    help=f"whole Authorization header; {_EXPOSED}A2ACLI_AUTH",
)
CLIENT_SECRET: Final = Option[str | None](
    name="client-secret",
    metavar="SECRET",
    default=None,
    is_secret=True,
    help=f"secret of your client, to sign in and to renew tokens; {_EXPOSED}A2ACLI_CLIENT_SECRET",
)
CARD_AUTH: Final = Option[bool](
    name="card-auth",
    read=values.boolean,
    default=False,
    help="send the bearer token with the request for the card, too",
)
INSECURE: Final = Option[bool](
    name="insecure",
    read=values.boolean,
    default=False,
    shown="certificates are verified",
    help="do not verify the certificate of the agent",
)
CA_CERT: Final = Option[str | None](
    name="ca-cert",
    metavar="FILE",
    default=None,
    help="certificates to trust instead of the system's (PEM)",
)
CLIENT_CERT: Final = Option[str | None](
    name="client-cert",
    metavar="FILE",
    default=None,
    help="certificate to show to the agent, with its chain (PEM); needs --client-key",
)
CLIENT_KEY: Final = Option[str | None](
    name="client-key",
    metavar="FILE",
    default=None,
    help="private key of that certificate (PEM)",
)

# --- what to say ----------------------------------------------------------------------------------

CONTEXT_ID: Final = Option[str | None](
    name="context-id",
    metavar="ID",
    aliases=("--context",),
    default=None,
    help="context to start a task in; of task list, the context to show",
)
TASK_ID: Final = Option[str | None](
    name="task-id",
    metavar="ID",
    aliases=("--task",),
    default=None,
    help="task to continue",
)
METADATA: Final = Option[dict[str, object] | None](
    name="metadata",
    metavar="JSON",
    read=values.json_object,
    default=None,
    help="metadata of the request, a JSON object",
)

# --- how long to wait, and what to show -----------------------------------------------------------

STREAM: Final = Option[bool](
    name="stream",
    read=values.boolean,
    default=False,
    # Invariant of the command line: only the command itself switches streaming on.
    is_configurable=False,
    help="show events as they come; with -o json, one object per line",
)
WAIT: Final = Option[bool | None](
    name="wait",
    read=values.boolean,
    aliases=("--watch",),
    default=None,
    shown="send waits, task get does not",
    help="wait until the task has ended or needs something",
)
ASYNC: Final = Option[bool](
    name="async",
    read=values.boolean,
    aliases=("--return-immediately", "--no-wait"),
    default=False,
    help="return as soon as the agent has taken the message",
)
POLL_INTERVAL: Final = Option[float](
    name="poll-interval",
    metavar="TIME",
    read=values.duration,
    aliases=("--polling-interval",),
    default=2.0,
    shown="2s",
    help="time between two looks at a task; it grows while nothing changes",
)
TIMEOUT: Final = Option[float](
    name="timeout",
    metavar="TIME",
    read=values.duration,
    default=300.0,
    shown="5m",
    help="give up waiting after this time; 0 never does",
)
ON_AUTH_REQUIRED: Final = Option[str](
    name="on-auth-required",
    metavar="WHAT",
    read=values.choice("stop", "wait"),
    default="stop",
    choices=("stop", "wait"),
    help="what to do when a task waits for an authorization: stop, or wait for it to go on",
)
OUTPUT: Final = Option[str](
    name="output",
    short="-o",
    metavar="FORMAT",
    read=values.choice("text", "json", "jsonl"),
    default="text",
    choices=("text", "json", "jsonl"),
    help="text, json, or jsonl for JSON on one line",
)
VERBOSE: Final = Option[bool](
    name="verbose",
    # Before the name of a command it asks for the version.
    short="-v",
    read=values.boolean,
    default=False,
    shown="concise",
    help="show everything that was exchanged: metadata, history, the message sent",
)
DEBUG: Final = Option[bool](
    name="debug",
    read=values.boolean,
    default=False,
    help="tell on standard error how it is done, with the messages on the wire",
)
CONFIG: Final = Option[str | None](
    name="config",
    metavar="FILE",
    default=None,
    shown="the nearest .env",
    is_configurable=False,
    help="settings file to read",
)

GLOBAL: Final[tuple[Option[object], ...]] = (
    AGENT_CARD,
    CATALOG,
    ENDPOINT,
    TRANSPORT,
    A2A_VERSION,
    STRICT,
    LEGACY,
    TENANT,
    EXTENSION,
    SVC_PARAM,
    BEARER,
    API_KEY,
    AUTH,
    CLIENT_SECRET,
    CARD_AUTH,
    INSECURE,
    CA_CERT,
    CLIENT_CERT,
    CLIENT_KEY,
    CONTEXT_ID,
    TASK_ID,
    METADATA,
    STREAM,
    WAIT,
    ASYNC,
    POLL_INTERVAL,
    TIMEOUT,
    ON_AUTH_REQUIRED,
    OUTPUT,
    VERBOSE,
    DEBUG,
    CONFIG,
)
"""All of the above: every command to an agent takes them, before or after its name."""
