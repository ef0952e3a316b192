"""The Dialect ports: what one wire form of A2A calls things, reads and writes.

A wire form that travels in JSON-RPC is an ``RpcDialect``, one that travels in HTTP+JSON a
``RestDialect``; 1.0 and the JSON of 0.3 are both. The first half of each port serves (reads
requests, writes answers), the second half calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from dragoman.dialects.fields import Fields
from dragoman.model.cards import AgentCard
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.events import StreamResponse
from dragoman.model.messages import Message
from dragoman.model.operations import (
    Empty,
    ListTaskPushNotificationConfigsResponse,
    ListTasksResponse,
)
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task

if TYPE_CHECKING:
    from dragoman.errors import A2AError
    from dragoman.model.documents import EventDocument
    from dragoman.model.operations import Operation, Request

__all__ = (
    "CARD_PATH",
    "OLD_CARD_PATH",
    "CardRules",
    "Dialect",
    "Evidence",
    "FrameWriter",
    "HttpRules",
    "Method",
    "Reading",
    "Received",
    "RestDialect",
    "Result",
    "RpcDialect",
)

Result: TypeAlias = (
    TaskDocument
    | Message
    | TaskPage
    | TaskPushNotificationConfig
    | ListTaskPushNotificationConfigsResponse
    | Empty
    | AgentCard
)
"""What a unary operation answers, as a server has it."""

Received: TypeAlias = (
    Task
    | Message
    | ListTasksResponse
    | TaskPushNotificationConfig
    | ListTaskPushNotificationConfigsResponse
    | Empty
    | AgentCard
)
"""What a unary operation answered, as a client gets it."""


class Reading(NamedTuple):
    """A request that was read.

    Attributes:
        answer: the dialect to answer in: the reader itself, or a variant of it that repeats
            the peer's habits (the id it calls a task by, ``type`` beside ``kind``).
        alias: the task id that the client made up (0.1, XPR), "" in all other versions.
        begins_anew: a send to a task that has ended begins another one (XPR).
    """

    request: Request
    answer: Dialect
    alias: str = ""
    begins_anew: bool = False


class Method(NamedTuple):
    """What a JSON-RPC method name means.

    Attributes:
        is_shared: another wire form has a method of the same name, so the task that the request
            names decides which one is spoken.
    """

    dialect: RpcDialect
    operation: Operation
    is_shared: bool = False


_ERROR_STATUSES: Final = frozenset({401, 403, 405, 413, 415, 429, 503})
"""Statuses that proxies and retrying clients act on."""


class HttpRules(Struct, frozen=True, kw_only=True):
    """How a wire form uses HTTP, where JSON-RPC and server-sent events leave that open.

    Attributes:
        error_statuses: the HTTP statuses of JSON-RPC errors; an error with any other gets 200.
        bad_envelope_status: the status for a body that is not a JSON-RPC request.
        has_error_headers: errors come with headers such as ``Retry-After``.
        refuses_in_streams: a request for a stream is refused by a stream of one error.
        stream_headers: what the answer to a streaming request has instead of the usual headers.
        http1_stream_headers: the same, on HTTP/1 alone.
        heartbeat: what an idle stream sends, b"" for the usual comment.
        last_error: returns the error object that comes before an event which ends a stream, or b"".
        outlasts_pauses: a stream goes on while the task waits for its client.
        notification_headers: how what a webhook is told is labelled.
    """

    error_statuses: frozenset[int] = _ERROR_STATUSES
    bad_envelope_status: int = 200
    has_error_headers: bool = True
    refuses_in_streams: bool = False
    stream_headers: tuple[tuple[bytes, bytes], ...] = ()
    http1_stream_headers: tuple[tuple[bytes, bytes], ...] = ()
    heartbeat: bytes = b""
    last_error: Callable[[StreamResponse], bytes] | None = None
    outlasts_pauses: bool = False
    notification_headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/json"),)


CARD_PATH: Final = "/.well-known/agent-card.json"
"""R-8.2-1: where 1.0 and 0.3 have the card."""

OLD_CARD_PATH: Final = "/.well-known/agent.json"
"""Where 0.1 and 0.2 have it."""


class Evidence(Enum):
    """What may tell the version of a card, the strongest first (0.x reference, 6.4)."""

    SHAPE = auto()
    """It is laid out as no other version has it."""
    STATED = auto()
    """It says so."""
    MEMBERS = auto()
    """It has members that came with the version."""
    LIKELY = auto()
    """Nothing speaks against it."""


class CardRules(Struct, frozen=True, kw_only=True):
    """How a version of A2A has the card.

    Attributes:
        encode: writes it.
        read: reads what ``evidence`` shows to be of this version, given its members, its bytes and
            where it was found; raises JSONParseError or InvalidParamsError for what is no card.
        evidence: tells of a card, by its members and where it was found, whether it is of this
            version. Where two versions have the same evidence, the newer one counts.
        has_tenants: its readers know interfaces for tenants.
        is_signed: its readers know signatures.
        is_open: members of other systems may stand at its top.
    """

    encode: Callable[[AgentCard], bytes]
    read: Callable[[Fields, bytes, str], AgentCard]
    evidence: Mapping[Evidence, Callable[[Fields, str], bool]]
    has_tenants: bool = False
    is_signed: bool = False
    is_open: bool = True


class FrameWriter(Protocol):
    """Writes the events of one stream, in their order."""

    @property
    def has_ended(self) -> bool:
        """Tell whether a frame has said that it is the last (``final``); then the stream ends."""
        ...

    def write(self, event: EventDocument) -> tuple[bytes, ...]:
        """Return the frames of an event, one line of JSON each; there may be none, or several."""
        ...


class Dialect(Protocol):
    """One wire form. Pure: the same input gives the same output, and nothing is kept.

    Decoders raise ``JSONParseError`` or ``InvalidParamsError`` for whatever a peer may send, and
    nothing else. What they accept has been checked against the model, but for one thing: where a
    peer may leave out ``messageId`` it is "", and the server makes one up. They do not look up
    tasks, know the caller or check capabilities. Encoders take what the model allows and do not
    fail; ``docs/explanation/versions.md`` lists what a form cannot carry.
    """

    @property
    def name(self) -> str:
        """Return the name of the form, such as ``1.0``; it is stored as a task's origin."""
        ...

    @property
    def has_final(self) -> bool:
        """Tell whether the last frame of a stream says so.

        Where it does, a stream ends wherever the task stops, and following a task that has ended
        shows it; 1.0 has streams that outlast a pause, and refuses to follow what has ended.
        """
        ...

    @property
    def has_messages(self) -> bool:
        """Tell whether a send may be answered by a message without a task."""
        ...

    @property
    def http(self) -> HttpRules:
        """How the form uses HTTP."""
        ...

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request from a JSON object."""
        ...

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        ...

    def frame_writer(self) -> FrameWriter:
        """Return what writes the events of one stream."""
        ...

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request as a JSON object."""
        ...

    def decode_result(self, operation: Operation, data: bytes) -> Received:
        """Read the answer of a unary operation."""
        ...

    def decode_event(self, data: bytes) -> StreamResponse:
        """Read one frame of a stream."""
        ...


class RpcDialect(Dialect, Protocol):
    """A wire form that travels in JSON-RPC."""

    def operation(self, method: str) -> Operation | None:
        """Return the operation of a method name, None if this version has none such."""
        ...

    def method(self, operation: Operation) -> str | None:
        """Return the method name of an operation, None if this version has none."""
        ...

    def encode_notification(
        self, event: EventDocument, task: TaskDocument, shown_id: str = ""
    ) -> bytes:
        """Write what a webhook that was registered in this form is told.

        Args:
            event: what has happened.
            task: the task since then.
            shown_id: what the client calls the task, "" for the id it has here.
        """
        ...

    def encode_error(self, problem: A2AError) -> bytes:
        """Write the ``error`` member of a response."""
        ...

    def decode_error(self, error: Mapping[str, object]) -> A2AError:
        """Read the ``error`` member of a response; whatever it is, an error comes of it."""
        ...


class RestDialect(Dialect, Protocol):
    """A wire form that travels in HTTP+JSON."""

    def decode_query(self, operation: Operation, fields: Mapping[str, str]) -> Request:
        """Read a request from texts by JSON name (query and path); unknown names are ignored."""
        ...

    def encode_http_error(self, problem: A2AError) -> tuple[int, bytes]:
        """Write an error: the HTTP status and the body."""
        ...

    def decode_http_error(self, status: int, body: bytes) -> A2AError:
        """Read an error; whatever the body is, an error comes of it."""
        ...
