"""Settings of a server: every limit and switch, with its name, default and reason.

Where a value may come from, strongest first: the command line or the caller, the environment
(``DRAGOMAN_`` and the name in capitals), a TOML file, the default here.

Settings are declared in groups. A part of the server asks for the group it needs, and is given the
settings themselves. Groups are dataclasses: a class cannot inherit from two structs of msgspec.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, get_origin

import msgspec
from msgspec import Meta, Struct

from dragoman.dialects.registry import NEWEST, profile_names
from dragoman.errors import UsageError
from dragoman.net.limits import ConnectionLimits

__all__ = (
    "AccessSettings",
    "Advertised",
    "CardSettings",
    "ContentLimits",
    "LogFormat",
    "LogLevel",
    "ProcessSettings",
    "ProtocolSettings",
    "RateSettings",
    "SettingField",
    "Settings",
    "StoreSettings",
    "TaskSettings",
    "TurnSettings",
    "WebhookSettings",
    "load_settings",
    "read_config_file",
    "setting_fields",
)

_PREFIX: Final = "DRAGOMAN_"
_OF_TESTS: Final = frozenset({"crash_seed", "fuzz_seed", "soak"})
"""Variables that our tests read, by the names they would have as settings."""

Positive = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(ge=0)]
Days = Annotated[float, Meta(ge=0, le=36500)]
_PATH: Final = r"^(/(?!\.well-known)[A-Za-z0-9._~-]+)*$"

Advertised = Literal["jsonrpc", "http+json", "grpc"]
PushEvent = Literal["states", "artifacts", "messages"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
    """Store and replicas.

    Attributes:
        store: where tasks are kept: ``sqlite:///relative.db``, ``sqlite:////absolute.db``,
            ``memory:``, or ``postgres://user@host/database`` for several servers at once.
        bus: how servers on one PostgreSQL tell each other of news, such as ``nats://host:4222``;
            by default the database itself does.
        lease_seconds: a server on a shared store that was not heard of for this long counts as
            dead, and others take over its tasks.
        sweep_seconds: how often such a server looks after what news it may have missed.
        secrets_key: the file of the key under which answers that are secrets are kept until their
            task ends; made if it is not there. By default it is beside the SQLite file, and named
            like it, with ``.key`` at the end; on PostgreSQL name one that all replicas have.
    """

    store: str = "sqlite:///dragoman.db"
    bus: str = ""
    lease_seconds: Annotated[float, Meta(gt=0)] = 10.0
    sweep_seconds: Annotated[float, Meta(gt=0)] = 5.0
    secrets_key: str | None = None


@dataclass(frozen=True, kw_only=True)
class CardSettings:
    """Addresses and card.

    Attributes:
        public_url: the address callers use, written into the card; else worked out per request.
        path: where the agent is below its address, such as ``/a2a/v1``: JSON-RPC and HTTP+JSON of
            every version are there. The card stays at its well-known places, and names it.
        advertise: the bindings that the card lists: ``jsonrpc``, ``http+json``, ``grpc``. All are
            served whether listed or not. gRPC is added to the others, which stay unless one of
            them is named, and ``grpc_port`` lists it, too; some readers refuse a card with its
            address, which is no URL.
        trusted_proxies: peers whose ``Forwarded`` and ``X-Forwarded-*`` headers are believed.
        card: whose members the card has for readers who state no version: those of ``all``, side
            by side, or of ``1.0`` alone, for readers that refuse members they do not know. Who
            states a version gets the card as that version has it in any case.
        private_card: show the card only to callers who show who they are, as they do to call. Such
            callers must know without it what to show.
        card_key: files with the private keys that sign the card; the first signs, all are
            published. Needs ``public_url``.
        card_max_age_seconds: how long clients may cache the card.
        max_card_bytes: an agent whose card is larger is not started; clients read no more than
            1 MiB.
    """

    public_url: str | None = None
    path: Annotated[str, Meta(pattern=_PATH)] = ""
    advertise: tuple[Advertised, ...] = ("jsonrpc", "http+json")
    trusted_proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    card: str = "all"
    private_card: bool = False
    card_key: tuple[str, ...] = ()
    card_max_age_seconds: Annotated[int, Meta(ge=0)] = 3600
    max_card_bytes: Positive = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class AccessSettings:
    """Who may call.

    Attributes:
        allow_anonymous: serve callers from other machines although nobody authenticates them.
        api_keys: a file of keys that ``dragoman keys`` keeps; callers must show one of them, or
            what the agent itself asks for.
        cors_origins: web pages that may call, by their origin; ``*`` for all of them, without
            credentials.
    """

    allow_anonymous: bool = False
    api_keys: str | None = None
    cors_origins: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ProtocolSettings:
    """Versions of the protocol.

    Attributes:
        strict_versions: read each version by the letter: a request without A2A-Version means 0.3,
            and members that clients leave out or spell in their own way are refused.
        profiles: what frameworks have added to a version, to be spoken beside it.
        force_json: answer HTTP+JSON as ``application/json`` whatever was asked, for peers of 1.0.0.
        trace_metadata: tell the ids of trace and span in the metadata of every event of a task
            that is traced; some profiles do so always.
    """

    strict_versions: bool = False
    profiles: tuple[str, ...] = ()
    force_json: bool = False
    trace_metadata: bool = False


@dataclass(frozen=True, kw_only=True)
class ContentLimits:
    """Content of requests.

    Attributes:
        max_depth: how deep JSON may be nested; the decoder itself gives up near 1000.
        max_parts: parts in one message.
        max_id_length: characters in a messageId, contextId or taskId.
        max_text_length: characters in the text or the URL of one part; the longest novels have
            three million.
        max_part_bytes: bytes in the file of one part, or in its data as JSON. 12 MiB are 16 MiB in
            base64, so the same files get through on every binding.
        max_metadata_bytes: bytes of JSON in the metadata of a request, of a message or of a part.
    """

    max_depth: Annotated[int, Meta(ge=1, le=500)] = 200
    max_parts: Positive = 1000
    max_id_length: Positive = 512
    max_text_length: Positive = 4_000_000
    max_part_bytes: Positive = 12 * 1024 * 1024
    max_metadata_bytes: Positive = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class RateSettings:
    """How often callers may ask.

    Attributes:
        rate_limit: how often one caller may ask, such as ``600/min``; operations count by their
            weight. Callers that nobody authenticates are told by their address. None by default:
            what is too often only you can know.
        rate_limit_per_address: how often requests may come from one address, whatever they are;
            counted before anything else is looked at. None by default: many callers may share one.
        rate_limit_per_tenant: how often all callers of one tenant together may ask.
        rate_limit_per_operation: how often one caller may ask for an operation, by its name.
        rate_limit_weights: what an operation costs, by its name; sends 10, ``ListTasks`` and
            ``SubscribeToTask`` 5, all others 1 unless given.
        rate_limit_refusals: how often credentials from one address may be wrong before no more
            are looked at; no honest caller gets near it.
        max_streams_per_owner: streams that one caller may have open at once.
    """

    rate_limit: str = ""
    rate_limit_per_address: str = ""
    rate_limit_per_tenant: str = ""
    rate_limit_per_operation: dict[str, str] = field(default_factory=dict[str, str])
    rate_limit_weights: dict[str, Annotated[int, Meta(ge=0)]] = field(
        default_factory=dict[str, int]
    )
    rate_limit_refusals: str = "60/min"
    max_streams_per_owner: Positive = 1000


@dataclass(frozen=True, kw_only=True)
class TurnSettings:
    """Turns.

    Attributes:
        max_running_turns: turns at work at once; waiting for input does not count.
        max_waiting_turns: turns that may wait for a slot; above that the answer is "busy".
        max_turns_per_owner: turns of one known caller that may run or wait at once: one caller
            alone cannot fill the line for all.
        turn_timeout_seconds: how long a turn may work before its task fails; what it waits for its
            client or sleeps does not count, and a skill may have a limit of its own. 0 is for ever.
        chunk_hold_seconds: how long the newest chunk of a ``yield`` skill is held back to find out
            whether it is the last, which is then marked ``lastChunk``. A chunk that follows, a
            status message or a pause lets it go at once. 0 holds nothing: no chunk is marked.
        stream_final: how a streamed artifact ends: ``mark`` sets ``lastChunk`` on the last chunk;
            ``replace`` sends the whole artifact once more, in one update, for clients that keep
            nothing but that. Requests of ADK, which is such a client, always get the latter.
        shutdown_grace_seconds: how long running turns may finish when the server stops.
        cancel_grace_seconds: how long canceled code may clean up before it is left behind.
    """

    max_running_turns: Positive = 1000
    max_waiting_turns: Annotated[int, Meta(ge=0)] = 10_000
    max_turns_per_owner: Positive = 5000
    turn_timeout_seconds: Seconds = 0.0
    chunk_hold_seconds: Seconds = 0.05
    stream_final: Literal["mark", "replace"] = "mark"
    shutdown_grace_seconds: Seconds = 10.0
    cancel_grace_seconds: Seconds = 10.0


@dataclass(frozen=True, kw_only=True)
class TaskSettings:
    """Tasks.

    Attributes:
        max_wait_seconds: how long a blocking send waits before it returns the task as it is.
        default_wait_seconds: the same, for a send of 0.x that does not say whether to block; many
            clients give up after 30 seconds, and would not learn the id of their task.
        idempotency_seconds: how long a messageId is remembered; 0 turns recognition off.
        max_attempts: how often a task is run again after the server stopped while running it; each
            result that it records resets the count.
        park_after_seconds: a task that has waited this long, and that nobody follows, leaves
            memory; its answer brings it back.
        retention_days: a task that has ended is removed this long after, with all that belongs to
            it, so that the store does not grow for ever; 0 keeps everything.
        input_expiry_days: a task that has waited for its client this long is ended as failed, so
            that what nobody comes back to can be removed, too; 0 lets it wait for ever.
    """

    max_wait_seconds: Seconds = 600.0
    default_wait_seconds: Seconds = 25.0
    idempotency_seconds: Seconds = 600.0
    max_attempts: Annotated[int, Meta(ge=0)] = 3
    park_after_seconds: Seconds = 60.0
    retention_days: Days = 30.0
    input_expiry_days: Days = 0.0


@dataclass(frozen=True, kw_only=True)
class WebhookSettings:
    """Webhooks.

    Attributes:
        push: let callers register webhooks, and tell them what happens to their tasks.
        push_allow_http: call webhooks by http, too; whoever is on the way can read and change what
            they are told.
        push_allow_hosts: webhooks that may be on inner networks: a host (``hooks.corp.example``,
            ``*.corp.example``), an address or a network (``10.1.0.0/16``), each perhaps with a port
            (``127.0.0.1:9000``, ``localhost:*``). None by default: a webhook inside would be called
            from inside, on the word of whoever registers it.
        push_ports: the ports at which webhooks may be called anywhere.
        push_events: what webhooks are told of: ``states`` of a task, its ``artifacts``, and
            ``messages`` of the agent beside them. The end of a task is told in any case.
        push_attempts: how often a notification is tried before it is a dead letter; 20 tries take
            some 10 to 15 hours.
        push_timeout_seconds: how long one try may take, the answer included.
        max_push_configs_per_task: webhooks of one task.
        max_push_configs_per_owner: webhooks of one caller at all of its tasks.
        push_signing: sign notifications by ``jwt`` (ES256; the keys are published), or ``none``.
        push_keys: a file with the private keys that sign them; it is made when it is missing.
            Unless given, it lies beside the store, and a store in memory has keys in memory.
            Replicas on PostgreSQL sign only if it is given: they need the same keys.
        push_challenge: register a webhook only when it has sent back what it was asked, so that
            nobody can have somebody else's address called.
    """

    push: bool = True
    push_allow_http: bool = False
    push_allow_hosts: tuple[str, ...] = ()
    push_ports: tuple[Annotated[int, Meta(ge=1, le=65535)], ...] = (80, 443)
    push_events: tuple[PushEvent, ...] = ("states",)
    push_attempts: Positive = 20
    push_timeout_seconds: Annotated[float, Meta(gt=0, le=300)] = 30.0
    max_push_configs_per_task: Positive = 20
    max_push_configs_per_owner: Positive = 10_000
    push_signing: Literal["jwt", "none"] = "jwt"
    push_keys: str | None = None
    push_challenge: bool = False


@dataclass(frozen=True, kw_only=True)
class Settings(
    StoreSettings,
    CardSettings,
    AccessSettings,
    ProtocolSettings,
    ConnectionLimits,
    ContentLimits,
    RateSettings,
    TurnSettings,
    TaskSettings,
    WebhookSettings,
):
    """What a server can be told: all groups in one."""


class ProcessSettings(Struct, frozen=True, kw_only=True):
    """Port and process.

    What ``dragoman serve`` can be told beside the settings of its server. It reads them from the
    same places. Whoever serves an agent by another program sees to these things there, so that the
    variables are passed over.

    Attributes:
        host: the address to listen on.
        port: the port to listen on; 0 picks a free one.
        grpc_port: a port for gRPC alone, beside the one it shares.
        tls_cert: a file with the certificate to show and its chain (PEM).
        tls_key: a file with the private key of the certificate (PEM).
        tls_client_ca: a file with the certificates (PEM) one of which must have signed the
            certificate of a caller.
        workers: how many processes serve the port; more than one need PostgreSQL.
        otlp: the collector that spans are sent to, such as ``http://collector:4318``.
        reload: restart when a file changes.
        log_level: the least serious lines to log.
        log_format: the form of log lines.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    grpc_port: int | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_client_ca: str | None = None
    workers: int = 1
    otlp: str = ""
    reload: bool = False
    log_level: LogLevel = "info"
    log_format: LogFormat = "text"


class SettingField(NamedTuple):
    """One setting as it is declared, for the command line and the documentation.

    Attributes:
        group: what its group is about.
    """

    name: str
    type: object
    default: object
    doc: str
    group: str


@cache
def setting_fields(kind: type = Settings) -> Mapping[str, SettingField]:
    """Return the settings that a class declares or inherits, by name, one group after the other.

    Args:
        kind: a class, or several in one. The docstring of each begins with what it is about, and
            explains its members under ``Attributes:``.
    """
    defaults = kind()
    groups = [group for group in kind.__mro__ if inspect.get_annotations(group)]
    return {each.name: each for group in groups for each in _fields_of(group, defaults)}


def _fields_of(group: type, defaults: object) -> Iterator[SettingField]:
    types = inspect.get_annotations(group, eval_str=True)
    head, _, tail = (inspect.getdoc(group) or "").partition("Attributes:")
    title = head.partition("\n")[0].removesuffix(".")
    _, *pieces = re.split(rf"(?:^| )({'|'.join(types)}): ", " ".join(tail.split()))
    docs = dict(zip(pieces[::2], pieces[1::2], strict=True))
    for name, kind in types.items():
        yield SettingField(name, kind, getattr(defaults, name), docs.get(name, ""), title)


def load_settings(
    given: Mapping[str, object],
    environ: Mapping[str, str],
    file: Mapping[str, object] | None = None,
    *,
    file_name: str = "the config file",
) -> Settings:
    """Merge the sources of settings; the environment and the file may hold ``ProcessSettings``.

    Args:
        file_name: how people know the file.

    Raises:
        UsageError: a name is unknown or a value is wrong; says which, and where it came from.
    """
    merged: dict[str, object] = {}
    origin: dict[str, str] = {}
    sources = (
        *_from_file(file or {}, file_name),
        *_from_environment(environ),
        *((name, value, f"--{name.replace('_', '-')}") for name, value in given.items()),
    )
    for name, value, place in sources:
        if name not in setting_fields():
            raise UsageError(f"{place}: there is no setting called {name!r}")
        merged[name], origin[name] = value, place
    try:
        settings = msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        text = str(error)
        name = text.rpartition("$.")[2].strip("`").split("[")[0]
        raise UsageError(f"{origin.get(name, 'settings')}: {text}") from None
    if settings.card not in ("all", newest := str(NEWEST)):
        raise UsageError(f"{origin['card']}: the card has the members of all or of {newest}")
    for place, profile in enumerate(settings.profiles):
        if profile not in profile_names():
            raise UsageError(
                f"{origin['profiles']}: Invalid enum value {profile!r} - at `$.profiles[{place}]`"
            )
    return settings


def _from_file(file: Mapping[str, object], place: str) -> Iterator[tuple[str, object, str]]:
    for name, value in file.items():
        if name not in setting_fields(ProcessSettings):
            yield name, value, place


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    # The file itself is named by a variable, and not by a file.
    others = {*setting_fields(ProcessSettings), "config", *_OF_TESTS}
    for variable, text in environ.items():
        name = variable.removeprefix(_PREFIX).lower()
        if variable.startswith(_PREFIX) and name not in others:
            yield name, _split(name, text), variable


def _split(name: str, text: str) -> object:
    """Read what stands in the environment for a list (``a,b``) or a table (``a=1,b=2``)."""
    field = setting_fields().get(name)
    kind = get_origin(field.type) if field is not None else None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if kind is tuple:
        return parts
    if kind is dict:
        pairs = (part.partition("=") for part in parts)
        return {key.strip(): value.strip() for key, _, value in pairs}
    return text


def read_config_file(path: Path) -> dict[str, object]:
    """Read a TOML file of settings.

    Raises:
        UsageError: it cannot be read; says why.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=dict[str, object])
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
