"""Settings of a server: every limit and switch, with its name, default and reason.

Where a value may come from, strongest first: the command line or the caller, the environment
(``DRAGOMAN_`` and the name in capitals), a TOML file, the default here.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, get_origin

import msgspec
from msgspec import Meta, Struct

from dragoman.dialects.registry import profile_names
from dragoman.errors import UsageError

__all__ = (
    "LogFormat",
    "LogLevel",
    "ProcessSettings",
    "SettingField",
    "Settings",
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
PushEvent = Literal["states", "artifacts", "messages"]
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a server can be told.

    Attributes:
        store: where tasks are kept: ``sqlite:///relative.db``, ``sqlite:////absolute.db``,
            ``memory:``, or ``postgres://user@host/database`` for several servers at once.
        bus: how servers on one PostgreSQL tell each other of news, such as ``nats://host:4222``;
            by default the database itself does.
        lease_seconds: a server on a shared store that was not heard of for this long counts as
            dead, and others take over its tasks.
        sweep_seconds: how often such a server looks after what news it may have missed.
        public_url: the address callers use, written into the card; else worked out per request.
        allow_anonymous: serve callers from other machines although nobody authenticates them.
        secrets_key: the file of the key under which answers that are secrets are kept until their
            task ends; made if it is not there. By default it is beside the SQLite file, and named
            like it, with ``.key`` at the end; on PostgreSQL name one that all replicas have.
        api_keys: a file of keys that ``dragoman keys`` keeps; callers must show one of them, or
            what the agent itself asks for.
        trusted_proxies: peers whose ``Forwarded`` and ``X-Forwarded-*`` headers are believed.
        strict_versions: read each version by the letter: a request without A2A-Version means 0.3,
            and members that clients leave out or spell in their own way are refused.
        profiles: what frameworks have added to a version, to be spoken beside it.
        force_json: answer HTTP+JSON as ``application/json`` whatever was asked, for peers of 1.0.0.
        trace_metadata: tell the ids of trace and span in the metadata of every event of a task
            that is traced; some profiles do so always.
        max_body_bytes: larger bodies are refused with 413; 16 MiB holds a 12 MiB file in base64.
        max_depth: how deep JSON may be nested; the decoder itself gives up near 1000.
        max_parts: parts in one message.
        max_id_length: characters in a messageId, contextId or taskId.
        max_text_length: characters in the text or the URL of one part; the longest novels have
            three million.
        max_part_bytes: bytes in the file of one part, or in its data as JSON. 12 MiB are 16 MiB in
            base64, so the same files get through on every binding.
        max_metadata_bytes: bytes of JSON in the metadata of a request, of a message or of a part.
        max_headers: headers of one request; as in Apache.
        max_header_bytes: bytes in all of them and in the URL; tokens and cookies rarely have 8 KiB.
        max_card_bytes: an agent whose card is larger is not started; clients read no more than
            1 MiB.
        head_seconds: how long the head of a request may take to arrive.
        body_seconds: how long the body may take; 16 MiB in 5 minutes is half a megabit a second.
        keep_alive_seconds: how long a connection may idle between two requests.
        http2_idle_seconds: how long a connection of HTTP/2 may be without calls; clients of gRPC
            keep theirs for the next call, which is answered sooner for it.
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
        max_turns_per_owner: turns of one known caller that may run or wait at once: one caller
            alone cannot fill the line for all.
        cors_origins: web pages that may call, by their origin; ``*`` for all of them, without
            credentials.
        card_key: files with the private keys that sign the card; the first signs, all are
            published. Needs ``public_url``.
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
        max_running_turns: turns at work at once; waiting for input does not count.
        max_waiting_turns: turns that may wait for a slot; above that the answer is "busy".
        turn_timeout_seconds: how long a turn may work before its task fails; what it waits for its
            client or sleeps does not count, and a skill may have a limit of its own. 0 is for ever.
        max_attempts: how often a task is run again after the server has stopped in the midst of it;
            results that it records start the count anew.
        park_after_seconds: a task that has waited this long, and that nobody follows, leaves
            memory; its answer brings it back.
        retention_days: a task that has ended is removed this long after, with all that belongs to
            it, so that the store does not grow for ever; 0 keeps everything.
        input_expiry_days: a task that has waited for its client this long is ended as failed, so
            that what nobody comes back to can be removed, too; 0 lets it wait for ever.
        max_wait_seconds: how long a blocking send waits before it returns the task as it is.
        default_wait_seconds: the same, for a send of 0.x that does not say whether to block; many
            clients give up after 30 seconds, and would not learn the id of their task.
        idempotency_seconds: how long a messageId is remembered; 0 turns recognition off.
        heartbeat_seconds: pause between comments on an idle stream; proxies cut at 30 to 60.
        stall_seconds: a stream whose reader takes no byte for this long is closed.
        shutdown_grace_seconds: how long running turns may finish when the server stops.
        cancel_grace_seconds: how long canceled code may clean up before it is left behind.
        card_max_age_seconds: how long clients may cache the card.
    """

    store: str = "sqlite:///dragoman.db"
    bus: str = ""
    lease_seconds: Annotated[float, Meta(gt=0)] = 10.0
    sweep_seconds: Annotated[float, Meta(gt=0)] = 5.0
    public_url: str | None = None
    allow_anonymous: bool = False
    secrets_key: str | None = None
    api_keys: str | None = None
    trusted_proxies: tuple[str, ...] = ("127.0.0.1", "::1")
    strict_versions: bool = False
    profiles: tuple[str, ...] = ()
    force_json: bool = False
    trace_metadata: bool = False
    max_body_bytes: Positive = 16 * 1024 * 1024
    max_depth: Annotated[int, Meta(ge=1, le=500)] = 200
    max_parts: Positive = 1000
    max_id_length: Positive = 512
    max_text_length: Positive = 4_000_000
    max_part_bytes: Positive = 12 * 1024 * 1024
    max_metadata_bytes: Positive = 256 * 1024
    max_headers: Positive = 100
    max_header_bytes: Positive = 32 * 1024
    max_card_bytes: Positive = 1024 * 1024
    head_seconds: Annotated[float, Meta(gt=0)] = 30.0
    body_seconds: Annotated[float, Meta(gt=0)] = 300.0
    keep_alive_seconds: Annotated[float, Meta(gt=0)] = 5.0
    http2_idle_seconds: Annotated[float, Meta(gt=0)] = 300.0
    rate_limit: str = ""
    rate_limit_per_address: str = ""
    rate_limit_per_tenant: str = ""
    rate_limit_per_operation: dict[str, str] = {}
    rate_limit_weights: dict[str, Annotated[int, Meta(ge=0)]] = {}
    rate_limit_refusals: str = "60/min"
    max_streams_per_owner: Positive = 1000
    max_turns_per_owner: Positive = 5000
    cors_origins: tuple[str, ...] = ()
    card_key: tuple[str, ...] = ()
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
    max_running_turns: Positive = 1000
    max_waiting_turns: Annotated[int, Meta(ge=0)] = 10_000
    turn_timeout_seconds: Seconds = 0.0
    max_attempts: Annotated[int, Meta(ge=0)] = 3
    park_after_seconds: Seconds = 60.0
    retention_days: Days = 30.0
    input_expiry_days: Days = 0.0
    max_wait_seconds: Seconds = 600.0
    default_wait_seconds: Seconds = 25.0
    idempotency_seconds: Seconds = 600.0
    heartbeat_seconds: Annotated[float, Meta(gt=0)] = 15.0
    stall_seconds: Annotated[float, Meta(gt=0)] = 300.0
    shutdown_grace_seconds: Seconds = 10.0
    cancel_grace_seconds: Seconds = 10.0
    card_max_age_seconds: Annotated[int, Meta(ge=0)] = 3600


class ProcessSettings(Struct, frozen=True, kw_only=True):
    """What ``dragoman serve`` can be told beside the settings of its server.

    It reads them from the same places. Whoever serves an agent by another program sees to these
    things there, so that the variables are passed over.

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
    """One setting as it is declared, for the command line and the documentation."""

    name: str
    type: object
    default: object
    doc: str


@cache
def setting_fields(kind: type[Struct] = Settings) -> Mapping[str, SettingField]:
    """Return the settings that a struct declares, by name and in their order.

    Args:
        kind: its docstring explains its members under ``Attributes:``.
    """
    fields = msgspec.structs.fields(kind)
    text = " ".join((inspect.getdoc(kind) or "").partition("Attributes:")[2].split())
    names = "|".join(field.name for field in fields)
    _, *pieces = re.split(rf"(?:^| )({names}): ", text)
    docs = dict(zip(pieces[::2], pieces[1::2], strict=True))
    return {
        field.name: SettingField(field.name, field.type, _default(field), docs.get(field.name, ""))
        for field in fields
    }


def _default(field: msgspec.structs.FieldInfo) -> object:
    factory = field.default_factory
    return field.default if factory is msgspec.NODEFAULT else factory()


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
        if name not in Settings.__struct_fields__:
            raise UsageError(f"{place}: there is no setting called {name!r}")
        merged[name], origin[name] = value, place
    try:
        settings = msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        text = str(error)
        name = text.rpartition("$.")[2].strip("`").split("[")[0]
        raise UsageError(f"{origin.get(name, 'settings')}: {text}") from None
    for place, profile in enumerate(settings.profiles):
        if profile not in profile_names():
            raise UsageError(
                f"{origin['profiles']}: Invalid enum value {profile!r} - at `$.profiles[{place}]`"
            )
    return settings


def _from_file(file: Mapping[str, object], place: str) -> Iterator[tuple[str, object, str]]:
    for name, value in file.items():
        if name not in ProcessSettings.__struct_fields__:
            yield name, value, place


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, object, str]]:
    # The file itself is named by a variable, and not by a file.
    others = {*ProcessSettings.__struct_fields__, "config", *_OF_TESTS}
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
