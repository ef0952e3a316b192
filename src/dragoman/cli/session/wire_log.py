"""WireLog: with ``--debug``, what goes over the wire and what the client says, on standard error.

Every line is made of what may be shown (``redaction``); there is no switch for more.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol, cast

import httpx2
import msgspec
from msgspec.structs import replace

from dragoman.auth.outgoing.certificates import ClientCertificate
from dragoman.auth.shared.redaction import redacted_headers, redacted_json, redacted_url
from dragoman.cli.output import Output
from dragoman.client.service import RemoteService
from dragoman.client.transports.tls import Tls
from dragoman.errors import A2AError, spelling_of
from dragoman.model.documents import EventDocument, TaskDocument, TaskPage
from dragoman.service.service import A2AService, Call, EventStream

__all__ = (
    "WireLog",
    "tapped",
)


class WireLog:
    """Tells what is done, if that was asked for."""

    def __init__(self, output: Output, *, is_on: bool) -> None:
        """Write to the standard error of an output."""
        self._output = output
        self._is_on = is_on

    @contextmanager
    def library_lines(self) -> Generator[None]:
        """Have the warnings of the client told inside, and all it says if that was asked for."""
        handler = _Lines(self._output)
        handler.setLevel(logging.DEBUG if self._is_on else logging.WARNING)
        logger = logging.getLogger("dragoman")
        level = logger.level
        if self._is_on:
            logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)
            if self._is_on:
                logger.setLevel(level)

    @asynccontextmanager
    async def http_client(
        self, tls: Tls, certificate: ClientCertificate | None = None
    ) -> AsyncGenerator[httpx2.AsyncClient | None]:
        """Give a client that tells what it sends and receives.

        Args:
            certificate: what it shows, at its own origin alone.

        None is given if nothing is to be told, nor to be shown.
        """
        is_shown = certificate is not None and bool(certificate.for_origin)
        if not self._is_on and not is_shown:
            yield None
            return
        hooks = {"request": [self._tell_request], "response": [self._tell_response]}
        mounts: dict[str, httpx2.AsyncBaseTransport | None] = {}
        if certificate is not None and is_shown:
            showing = replace(tls, certificate=certificate)
            mounts[certificate.for_origin] = httpx2.AsyncHTTPTransport(verify=showing.http())
        async with httpx2.AsyncClient(
            verify=tls.http(), event_hooks=hooks, mounts=mounts
        ) as client:
            yield client

    def tell(self, mark: str, *lines: str) -> None:
        """Tell lines that were sent (>) or received (<)."""
        if self._is_on:
            self._output.note(*(f"{mark} {line}" for line in lines))

    async def _tell_request(self, request: httpx2.Request) -> None:
        self.tell(">", f"{request.method} {redacted_url(str(request.url))}")
        self._tell_headers(">", request.headers)
        if request.content:
            self.tell(">", redacted_json(request.content.decode("utf-8", "replace")))

    async def _tell_response(self, response: httpx2.Response) -> None:
        self.tell("<", f"HTTP status {response.status_code}")
        self._tell_headers("<", response.headers)
        response.stream = _Told(response.stream, self)

    def _tell_headers(self, mark: str, headers: httpx2.Headers) -> None:
        shown = redacted_headers(dict(headers.items()))
        self.tell(mark, *(f"{name}: {value}" for name, value in shown.items()))


class _Told(httpx2.AsyncByteStream):
    """A body that is told line by line while it is read."""

    def __init__(self, inner: object, log: WireLog) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)  # noqa: S101 - of an async client
        self._inner = inner
        self._log = log

    async def __aiter__(self) -> AsyncIterator[bytes]:
        rest = b""
        async for chunk in self._inner:
            *lines, rest = (rest + chunk).split(b"\n")
            self._tell(lines)
            yield chunk
        self._tell([rest])

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _tell(self, lines: list[bytes]) -> None:
        texts = [redacted_json(line.decode("utf-8", "replace").rstrip("\r")) for line in lines]
        self._log.tell("<", *(text for text in texts if text))


class _Lines(logging.Handler):
    """Tells what a logger says."""

    def __init__(self, output: Output) -> None:
        super().__init__()
        self._output = output

    def emit(self, record: logging.LogRecord) -> None:
        """Tell one record."""
        if record.levelno >= logging.WARNING:
            self._output.warn(record.getMessage())
        else:
            self._output.note(f"* {record.getMessage()}")


def tapped(remote: RemoteService, log: WireLog) -> A2AService:
    """Return a service that does the same and tells what is asked and answered over gRPC."""
    return cast("A2AService", _Tapped(remote, log))


class _Operation(Protocol):
    def __call__(self, request: object, call: Call) -> Coroutine[Any, Any, object]: ...


class _Tapped:
    """All operations have one form, so one method stands for all of them."""

    def __init__(self, remote: RemoteService, log: WireLog) -> None:
        self._remote = remote
        self._log = log

    def __getattr__(self, name: str) -> Callable[[object, Call], Coroutine[Any, Any, object]]:
        operation: _Operation = getattr(self._remote, name)

        async def told(request: object, call: Call) -> object:
            # Other bindings are told where their bytes are.
            if self._remote.interface.protocol_binding != "GRPC":
                return await operation(request, call)
            self._tell(">", f"{name} {self._remote.interface.url}", msgspec.json.encode(request))
            try:
                answer = await operation(request, call)
            except A2AError as refusal:
                self._log.tell("<", f"{spelling_of(refusal).grpc} {refusal}")
                raise
            if isinstance(answer, msgspec.Struct):
                self._tell("<", "OK", _json_of(answer))
                return answer
            return _ToldStream(cast("EventStream", answer), self._log)

        return told

    def _tell(self, mark: str, head: str, message: bytes) -> None:
        self._log.tell(mark, head, redacted_json(message.decode()))


class _ToldStream:
    """A stream whose events are told as they come."""

    def __init__(self, inner: EventStream, log: WireLog) -> None:
        self._inner = inner
        self._log = log

    def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        return self._batches()

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def _batches(self) -> AsyncGenerator[tuple[EventDocument, ...]]:
        async for batch in self._inner:
            self._log.tell("<", *(redacted_json(event.json.decode()) for event in batch))
            yield batch


def _json_of(answer: object) -> bytes:
    if isinstance(answer, TaskDocument):
        return answer.json()
    if isinstance(answer, TaskPage):
        return b"[%b]" % b",".join(document.json() for document in answer.tasks)
    return msgspec.json.encode(answer)
