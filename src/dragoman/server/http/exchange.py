"""Exchange: one HTTP request and its answer, over plain ASGI."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import MutableMapping
from typing import Any, Final, Protocol, cast
from urllib.parse import parse_qs, quote

from dragoman.auth.incoming.authenticator import Evidence, ReadBody
from dragoman.dialects.base import RpcDialect
from dragoman.dialects.profiles.base import ServedProfile
from dragoman.errors import A2AError
from dragoman.model.documents import EventDocument
from dragoman.net.asgi import ABORT, REPLY, TLS, Header, Receive, Scope, Send
from dragoman.server.admission.authentication import Guard
from dragoman.server.http.headers import AllHeaders, gather_headers
from dragoman.server.http.media import check_is_plain
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.service.principal import NOBODY, Principal
from dragoman.service.service import EventStream

__all__ = (
    "SECURITY_HEADERS",
    "DisconnectedError",
    "Exchange",
    "Renders",
    "StalledError",
)


_logger = logging.getLogger(__name__)


SECURITY_HEADERS: Final = (
    # An artifact is what its type says; no browser makes a page or a script of it.
    (b"x-content-type-options", b"nosniff"),
    # Addresses hold the ids of tasks and the names of tenants.
    (b"referrer-policy", b"no-referrer"),
)

_PLAIN: Final = "/:@!$&'()*+,;=~"
"""What needs no encoding in a path (RFC 3986, 3.3); the colon sets off a verb."""

_STREAM_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # Proxies that know it pass events on at once.
)


class StalledError(Exception):
    """The client takes nothing any more."""


class DisconnectedError(Exception):
    """The client is gone; there is nobody to answer."""


class Renders(Protocol):
    """Makes bytes of what a stream has to say."""

    @property
    def has_ended(self) -> bool:
        """Tell whether the reader was told that nothing more comes."""
        ...

    def batch(self, events: tuple[EventDocument, ...]) -> bytes:
        """Write events that became ready together; none at all is a heartbeat."""
        ...

    def failure(self, problem: Exception) -> bytes:
        """Write what has ended the stream."""
        ...


class Exchange:
    """One request and its answer.

    Attributes:
        path: as sent, percent-encoded, relative to where the application is mounted; it ends
            without a slash.
        peer: the address of the other end of the connection, None where there is none.
        principal: who calls, once authentication has told.
        also: headers that go with the answer, whatever it is.
        allowance: the same, as far as they tell what is left of a rate limit.
        dialect: the one in which to refuse a JSON-RPC request, once it is known.
        profile: the one that is spoken at this path, if any.
    """

    __slots__ = (
        "_body",
        "_receive",
        "_refused",
        "_scope",
        "_send",
        "allowance",
        "also",
        "dialect",
        "headers",
        "method",
        "path",
        "peer",
        "principal",
        "profile",
        "root_path",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._body: bytes | None = None
        self._refused: A2AError | None = None
        self.dialect: RpcDialect | None = None
        self.profile: ServedProfile | None = None
        self.principal: Principal = NOBODY
        self.also: tuple[Header, ...] = SECURITY_HEADERS
        self.allowance: tuple[Header, ...] = ()
        self.method: str = scope["method"]
        self.headers: Final = gather_headers(scope["headers"])
        self.root_path: str = scope.get("root_path", "").rstrip("/")
        client = scope.get("client")
        self.peer: str | None = client[0] if client else None
        raw = scope.get("raw_path")
        path: str = raw.decode("latin-1").partition("?")[0] if raw else quote(scope["path"], _PLAIN)
        if self.root_path and f"{path}/".startswith(f"{self.root_path}/"):
            path = path[len(self.root_path) :]
        # Every endpoint answers with and without a slash at its end, never by redirect.
        self.path: str = path.rstrip("/") or "/"

    def descend(self, prefix: str) -> bool:
        """Make the path relative to a prefix; tell whether it is below it."""
        if not f"{self.path}/".startswith(f"{prefix}/"):
            return False
        self.path = self.path[len(prefix) :] or "/"
        return True

    @property
    def takes_stream(self) -> bool:
        """Tell whether the client says that it takes a stream for an answer."""
        return "text/event-stream" in self.headers.get(b"accept", "")

    @property
    def is_http1(self) -> bool:
        """Tell whether the connection speaks HTTP/1."""
        return self._scope.get("http_version", "1.1").startswith("1")

    @property
    def query(self) -> str:
        """The query string, percent-encoded."""
        return cast("bytes", self._scope.get("query_string", b"")).decode("latin-1")

    @property
    def scheme(self) -> str:
        """The scheme of the connection."""
        return self._scope.get("scheme", "http")

    @property
    def server(self) -> tuple[str, int | None] | None:
        """The address that was connected to."""
        return self._scope.get("server")

    def evidence(self, read_body: ReadBody | None = None) -> Evidence:
        """Return what the request shows of its caller."""
        return Evidence(
            body=read_body,
            headers=AllHeaders(self._scope["headers"]),
            query=self.query,
            peer=self.peer,
            certificate=self._certificate(),
        )

    def _certificate(self) -> bytes | None:
        """Return the certificate that the caller has shown, if the ASGI server tells (TLS 0.2)."""
        tls = self._scope.get("extensions", {}).get(TLS)
        chain = tls.get("client_cert_chain") if tls else None
        return ssl.PEM_cert_to_DER_cert(next(iter(chain))) if chain else None

    def parameter(self, header: bytes, name: str) -> str | None:
        """Return a service parameter: from its header, else from the query (R-3.6.1-2)."""
        value = self.headers.get(header)
        if value is None and self._scope.get("query_string"):
            values = parse_qs(self.query).get(name)
            return values[-1] if values else None
        return value

    async def read_body(self, guard: Guard) -> bytes:
        """Return the whole body, read once; one beyond the limit is refused before it is held.

        A body that was refused is refused again: there is no more of it to come.
        """
        if self._body is None:
            if self._refused is not None:
                raise self._refused
            try:
                self._body = await self._read(guard)
            except A2AError as refused:
                self._refused = refused
                raise
        return self._body

    async def _read(self, guard: Guard) -> bytes:
        if b"content-encoding" in self.headers:
            check_is_plain(self.headers)
        announced = self.headers.get(b"content-length", "")
        if announced.isdecimal():
            guard.check_size(int(announced))
        message = await self._receive()
        body: bytes = message.get("body", b"")
        if not message.get("more_body") and message["type"] == "http.request":
            guard.check_size(len(body))
            guard.check_depth(body)
            return body
        chunks = [body]
        size = len(body)
        while message.get("more_body"):
            message = await self._receive()
            chunk: bytes = message.get("body", b"")
            chunks.append(chunk)
            size += len(chunk)
            guard.check_size(size)
        if message["type"] == "http.disconnect":
            raise DisconnectedError
        body = b"".join(chunks)
        guard.check_depth(body)
        return body

    async def reply(
        self, status: int, content_type: bytes, body: bytes, extra: tuple[Header, ...] = ()
    ) -> None:
        """Answer with one body."""
        headers = ((b"content-type", content_type), *extra, *self.allowance, *self.also)
        if REPLY in self._scope.get("extensions", ()):
            message = {"type": REPLY, "status": status, "headers": headers, "body": body}
            await self._send(message)
            return
        if status != 304:
            # RFC 9110, 8.6: a 304 would have to tell the length of what it leaves out.
            headers += ((b"content-length", b"%d" % len(body)),)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        if self.method == "HEAD":
            body = b""
        await self._send({"type": "http.response.body", "body": body})

    async def stream(
        self,
        events: EventStream,
        renderer: Renders,
        *,
        background: BackgroundTasks,
        stall_seconds: float,
        extra: tuple[Header, ...] = (),
    ) -> None:
        """Answer with a stream that ends with its events, or when the reader is gone or stuck."""
        given = {name for name, _ in extra}
        usual = [header for header in _STREAM_HEADERS if header[0] not in given]
        headers = [*usual, *extra, *self.allowance, *self.also]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        watch = background.spawn(self._end_on_disconnect(events), name="stream watch")
        try:
            try:
                async for batch in events:
                    await self._send_within(stall_seconds, _more(renderer.batch(batch)))
                    if renderer.has_ended:
                        break
            except StalledError:
                raise
            except Exception as problem:  # noqa: BLE001 - whatever ends a stream is told its reader
                await self._send_within(stall_seconds, _more(renderer.failure(problem)))
            await self._send_within(stall_seconds, {"type": "http.response.body", "body": b""})
        except StalledError:
            _logger.info("a stream to %s is cut: its reader took nothing for too long", self.peer)
            await self._abort()
        finally:
            watch.cancel()
            await events.aclose()

    async def _send_within(self, seconds: float, message: MutableMapping[str, Any]) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._send(message)
        except TimeoutError:
            raise StalledError from None

    async def _abort(self) -> None:
        """Cut the connection, where the ASGI server lets us; others end it in their own way."""
        extension = self._scope.get("extensions", {}).get(ABORT)
        if extension is not None:
            extension["call"]()
            # The connection is lost with the next pass; an answer cut short is then no defect.
            await asyncio.sleep(0)

    async def _end_on_disconnect(self, events: EventStream) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        await events.aclose()


def _more(body: bytes) -> MutableMapping[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}
