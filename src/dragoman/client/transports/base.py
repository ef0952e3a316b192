"""The ports of this package: Transport, one way to call an agent; Framing, one binding of HTTP.

A transport asks once and says what came of it. Retrying, trying another interface and going on
after a cut are up to its callers. A framing is pure: it turns an operation into an HTTP request and
an HTTP response into its result, and ``http`` sends both.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from msgspec import Struct

from dragoman.client.errors import ProtocolError
from dragoman.dialects.negotiation import V1_0, Version
from dragoman.dialects.v1_0.errors import decode_http_error
from dragoman.errors import (
    A2AError,
    InvalidAgentResponseError,
    InvalidParamsError,
    InvalidRequestError,
    JSONParseError,
    UnavailableError,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from dragoman.bindings.sse import SseEvent
    from dragoman.dialects.base import Received
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Operation, Request

__all__ = (
    "MAX_STREAM_BYTES",
    "Batch",
    "Frame",
    "Framing",
    "HttpRequest",
    "Transport",
    "error_of_status",
    "number_of",
    "reading",
    "version_headers",
)

MAX_STREAM_BYTES: Final = 512 * 1024 * 1024
"""How much one stream may tell. What it tells of a task is kept, so there has to be an end."""

_V0_3: Final = Version(0, 3)

_PASSING: Final = frozenset({502, 503, 504})
"""What proxies say when the agent behind them is away."""

_MAX_DIGITS: Final = 18
"""Nobody counts further."""


class Frame(NamedTuple):
    """One frame of a stream; ``seq`` is its number in the task's log, 0 if the agent gives none."""

    seq: int
    event: StreamResponse


Batch = tuple[Frame, ...]
"""Frames that came together; none at all is a sign of life."""


class Transport(Protocol):
    """One interface of an agent.

    What asks raises ClientError, or the A2AError with which the agent refuses.
    """

    async def call(
        self, operation: Operation, request: Request, extensions: tuple[str, ...]
    ) -> Received:
        """Perform a unary operation."""
        ...

    def stream(
        self, operation: Operation, request: Request, extensions: tuple[str, ...], cursor: int
    ) -> AsyncGenerator[Batch]:
        """Perform a streaming operation and yield what comes, until the agent ends the stream.

        Args:
            cursor: the last frame seen, 0 for none; agents that do not know cursors ignore it.

        Raises:
            CutError: the connection was lost, or nothing came for too long.
        """
        ...

    def renew(self) -> bool:
        """Note that the agent has refused what was shown to it; tell whether other can be shown."""
        ...

    async def aclose(self) -> None:
        """Let go of what is held for this transport alone."""
        ...


class HttpRequest(Struct, frozen=True, gc=False):
    """A request of HTTP.

    Attributes:
        is_bare: its answer has no envelope although the binding has one.
        names_task: it is about a task that exists.
    """

    verb: str
    url: str
    content_type: str = ""
    body: bytes = b""
    is_bare: bool = False
    names_task: bool = False


class Framing(Protocol):
    """One binding of HTTP in one dialect.

    The readers raise the A2AError that an answer tells, and ProtocolError for what is no answer.
    """

    @property
    def version(self) -> Version:
        """Return the version that is spoken."""
        ...

    def requests(self, operation: Operation, request: Request) -> tuple[HttpRequest, ...]:
        """Write a request. Of several, each is for peers that do not know the one before.

        Raises:
            UnsupportedOperationError: this version does not have the operation.
        """
        ...

    def read_answer(
        self, sent: HttpRequest, operation: Operation, status: int, body: bytes
    ) -> Received:
        """Read the answer of a unary operation to the request that was sent."""
        ...

    def read_event(self, event: SseEvent) -> StreamResponse:
        """Read one event of a stream."""
        ...

    def read_lone_event(self, sent: HttpRequest, status: int, body: bytes) -> StreamResponse:
        """Read what came in place of a stream: an error, or all there is to tell."""
        ...


def version_headers(version: Version, extensions: tuple[str, ...]) -> dict[str, str]:
    """Return the headers that tell version and extensions (metadata, for gRPC).

    0.1 and 0.2 know no such header, and their peers might mind; 0.3 ignores it, but servers of
    several versions want it (0.x reference, 6.4). R-14.2.1-1: Major.Minor. R-9.2-4: one field.
    """
    headers = {"A2A-Version": str(version)} if version >= _V0_3 else {}
    if extensions:
        headers["A2A-Extensions"] = ",".join(extensions)
        if version < V1_0:
            headers["X-A2A-Extensions"] = headers["A2A-Extensions"]  # 0.x reference, 4.7: both
    return headers


def error_of_status(status: int, body: bytes, address: str) -> Exception:
    """Return the error of an answer that is not A2A: its status tells what it can."""
    if status in _PASSING:
        return UnavailableError(f"HTTP status {status}")
    if status < 400:
        return ProtocolError(address, f"HTTP status {status} with a body that is no answer")
    told = decode_http_error(status, body)
    if not body or told.message == told.standard_message:
        A2AError.__init__(told, f"{told.standard_message} (HTTP status {status})")
    return told


def number_of(text: str) -> int:
    """Read what a peer has counted: a frame, or seconds; 0 if it is no number."""
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else 0


@contextmanager
def reading(address: str) -> Generator[None]:
    """Turn what a decoder refuses into a ProtocolError: here it is the peer's mistake."""
    try:
        yield
    except (
        JSONParseError,
        InvalidParamsError,
        InvalidRequestError,
        InvalidAgentResponseError,
    ) as refused:
        # What a request would be told is said of an answer here.
        finding = refused.message.removeprefix(f"{InvalidParamsError.standard_message}: ")
        raise ProtocolError(address, finding) from None
