"""HttpTransport: JSON-RPC and HTTP+JSON, each operation one exchange of HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final

from dragoman import telemetry
from dragoman.auth.outgoing.origins import origin_of
from dragoman.bindings.nesting import is_nested_deeper_than
from dragoman.bindings.sse import MAX_EVENT_BYTES, Parser
from dragoman.client.errors import ClientError, CutError, ProtocolError
from dragoman.client.transports.base import (
    MAX_STREAM_BYTES,
    Batch,
    Frame,
    number_of,
    reading,
    version_headers,
)
from dragoman.client.transports.http_pool import read_body
from dragoman.dialects.negotiation import V1_0
from dragoman.errors import A2AError, MethodNotAllowedError, MethodNotFoundError
from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from dragoman.bindings.sse import SseEvent
    from dragoman.client.transports.base import Framing, HttpRequest
    from dragoman.client.transports.http_pool import HttpAnswer, HttpPool
    from dragoman.client.transports.request_headers import RequestHeaders
    from dragoman.dialects.base import Received
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Request

__all__ = ("ANSWER_SECONDS", "IDLE_SECONDS", "SEND_SECONDS", "HttpTransport")

IDLE_SECONDS: Final = 60.0
"""A stream without a byte for so long is taken for cut. Common servers send a comment each 15 s."""

ANSWER_SECONDS: Final = 60.0
"""How long an answer may take that is only looked up."""

SEND_SECONDS: Final = 900.0
"""How long a send may take to be answered. Agents wait for the work: ours up to 10 minutes."""

_STREAM: Final = "text/event-stream"
# Reference, 3.3: what comes is looked at, whatever was asked for.
_ACCEPT: Final = "application/json, application/a2a+json"
_MAX_DEPTH: Final = 300
"""How deep JSON may be nested: what is deeper cannot be handed on. Servers allow 100 to 200."""

_SENDS: Final = frozenset({Operation.SEND_MESSAGE, Operation.SEND_STREAMING_MESSAGE})


class HttpTransport:
    """One interface over HTTP. The pool belongs to all of them and is not closed here."""

    def __init__(
        self,
        framing: Framing,
        pool: HttpPool,
        request_headers: RequestHeaders,
        *,
        idle_seconds: float = IDLE_SECONDS,
        max_bytes: int = MAX_EVENT_BYTES,
        max_stream_bytes: int = MAX_STREAM_BYTES,
    ) -> None:
        """Call by a framing.

        Args:
            idle_seconds: how long a stream may be silent.
            max_bytes: how large an answer or an event may be.
            max_stream_bytes: how large all events of a stream may be together.
        """
        self._framing = framing
        self._pool = pool
        self._request_headers = request_headers
        self._idle_seconds = idle_seconds
        self._max_bytes = max_bytes
        self._max_stream_bytes = max_stream_bytes

    async def call(
        self, operation: Operation, request: Request, extensions: tuple[str, ...]
    ) -> Received:
        """Perform a unary operation."""
        headers = {"Accept": _ACCEPT, **version_headers(self._framing.version, extensions)}
        *others, last = self._framing.requests(operation, request)
        for sent in others:
            with suppress(MethodNotFoundError, MethodNotAllowedError):
                return await self._ask(sent, operation, headers)
        return await self._ask(last, operation, headers)

    async def _ask(
        self, sent: HttpRequest, operation: Operation, headers: dict[str, str]
    ) -> Received:
        async with self._exchange(sent, operation, headers) as response:
            body = await read_body(response, self._max_bytes)
        _check_depth(body, sent.url)
        try:
            return self._framing.read_answer(sent, operation, response.status_code, body)
        except A2AError as problem:
            raise _with_delay(problem, response) from None

    async def stream(
        self, operation: Operation, request: Request, extensions: tuple[str, ...], cursor: int
    ) -> AsyncGenerator[Batch]:
        """Perform a streaming operation and yield what comes, until the agent ends the stream."""
        headers = {
            "Accept": f"{_STREAM}, {_ACCEPT}",
            # A compressed stream would be held up until a block of it is full.
            "Accept-Encoding": "identity",
            **version_headers(self._framing.version, extensions),
        }
        if cursor:
            headers["Last-Event-ID"] = str(cursor)
        *others, last = self._framing.requests(operation, request)
        for sent in others:
            with suppress(MethodNotFoundError, MethodNotAllowedError):
                async with aclosing(self._follow(sent, operation, headers)) as batches:
                    async for batch in batches:
                        yield batch
                return
        async with aclosing(self._follow(last, operation, headers)) as batches:
            async for batch in batches:
                yield batch

    def renew(self) -> bool:
        """Note that what was shown was refused; tell whether other can be shown."""
        return self._request_headers.renew()

    async def aclose(self) -> None:
        """Do nothing: the connections belong to the pool."""

    async def _follow(
        self, sent: HttpRequest, operation: Operation, headers: dict[str, str]
    ) -> AsyncGenerator[Batch]:
        async with self._exchange(sent, operation, headers) as response:
            if not response.headers.get("content-type", "").startswith(_STREAM):
                yield (Frame(0, await self._read_lone_event(sent, response)),)
                return
            async with aclosing(self._batches(response)) as batches:
                async for batch in batches:
                    yield batch

    async def _read_lone_event(self, sent: HttpRequest, response: HttpAnswer) -> StreamResponse:
        body = await read_body(response, self._max_bytes)
        _check_depth(body, sent.url)
        try:
            return self._framing.read_lone_event(sent, response.status_code, body)
        except A2AError as problem:
            raise _with_delay(problem, response) from None

    async def _batches(self, response: HttpAnswer) -> AsyncGenerator[Batch]:
        """Cut a stream into frames: what one chunk completes comes together."""
        parser = Parser(max_event_bytes=self._max_bytes)
        numbers = FrameNumbers() if self._framing.version >= V1_0 else None
        told = 0
        async for chunk in self._chunks(response):
            with reading(str(response.url)):
                events = parser.feed(chunk)
            # Signs of life do not count: a stream may last as long as it likes.
            told += sum([len(event.data) for event in events])
            if told > self._max_stream_bytes:
                finding = f"the stream has more than {self._max_stream_bytes} bytes"
                raise ProtocolError(origin_of(str(response.url)), finding)
            frames: list[Frame] = []
            problem: A2AError | ClientError | None = None
            for event in events:
                try:
                    _check_depth(event.data, str(response.url))
                    frame = self._framing.read_event(event)
                except A2AError as found:
                    # What came with it is handed out first, the end of the task among it: some say
                    # why a task has failed before they say that it has.
                    problem = problem or found
                    continue
                except ClientError as found:
                    problem = found
                    break
                frames.append(Frame(numbers.take(event) if numbers else 0, frame))
            if frames or problem is None:
                yield tuple(frames)
            if problem is not None:
                raise problem

    async def _chunks(self, response: HttpAnswer) -> AsyncGenerator[bytes]:
        chunks = response.aiter_bytes()
        while True:
            try:
                async with asyncio.timeout(self._idle_seconds):
                    chunk = await anext(chunks, None)
            except TimeoutError:
                silence = f"nothing came for {self._idle_seconds:g} seconds"
                raise CutError(origin_of(str(response.url)), silence) from None
            if chunk is None:
                return
            yield chunk

    @asynccontextmanager
    async def _exchange(
        self, sent: HttpRequest, operation: Operation, headers: dict[str, str]
    ) -> AsyncGenerator[HttpAnswer]:
        attached = await self._request_headers.attachment_for(sent.url)
        url = attached.applied_to(sent.url)
        headers = {**attached.http_headers(sent.body), **headers}
        if telemetry.active is not None:
            headers |= telemetry.active.outgoing()
        if sent.content_type:
            headers["Content-Type"] = sent.content_type
        async with self._pool.exchange(
            sent.verb, url, headers=headers, body=sent.body, read_seconds=_answer_seconds(operation)
        ) as response:
            yield response


class FrameNumbers:
    """Reads the numbers of frames; SSE lets one that is not named stand for those after it."""

    def __init__(self) -> None:
        self._latest = ""

    def take(self, event: SseEvent) -> int:
        """Return the number of an event, 0 if it has none of its own."""
        if event.id == self._latest:
            return 0
        self._latest = event.id
        return number_of(event.id)


def _answer_seconds(operation: Operation) -> float:
    return SEND_SECONDS if operation in _SENDS else ANSWER_SECONDS


def _check_depth(body: bytes, url: str) -> None:
    if is_nested_deeper_than(_MAX_DEPTH, body):
        finding = f"the answer is nested more than {_MAX_DEPTH} levels deep"
        raise ProtocolError(origin_of(url), finding)


def _with_delay(problem: A2AError, response: HttpAnswer) -> A2AError:
    """Add when to come back, if only HTTP says so (R-3.3.2-15)."""
    if seconds := number_of(response.headers.get("retry-after", "")):
        problem.retry_after_seconds = float(seconds)
    return problem
