"""HTTP/1.1 connections by uvicorn, with less work for the common request.

An answer that is there as a whole goes out with one message (``REPLY``) in one write. ``watch``
limits how long the peer may take. All else is uvicorn's.
"""

from __future__ import annotations

import asyncio
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from dragoman.net.asgi import ABORT, REPLY, TLS, Header
from dragoman.net.http1.watch import WatchedProtocol
from dragoman.net.peer import peer_of

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

__all__ = ("Cycle", "Http1Protocol")

_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""RFC 9110, 5.6.2: what the name of a header is made of."""

_CONTROL: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""RFC 9110, 5.5: what its value must not hold; a line break would begin the next header."""


class Cycle(RequestResponseCycle):
    """One request and its answer, which the application may give as a whole."""

    async def send(self, message: Any) -> None:
        """Send a message of ASGI, or a whole answer (``REPLY``), which uvicorn does not know."""
        if message["type"] != REPLY:
            await super().send(message)
        elif self.access_log or self.response_started:
            # uvicorn writes the line of the log, or says that there is an answer already.
            await self._send_in_two(message["status"], message["headers"], message["body"])
        else:
            if self.flow.write_paused and not self.disconnected:
                await self.flow.drain()
            if not self.disconnected:
                self._write(message["status"], message["headers"], message["body"])

    def _write(self, status: int, headers: tuple[Header, ...], body: bytes) -> None:
        """Write the answer and end the cycle, as uvicorn does at the end of a body."""
        self.transport.write(
            b"".join(
                (
                    _head(status, (*self.default_headers, *headers)),
                    _length(status, body),
                    b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n",
                    b"" if self.scope["method"] == "HEAD" else body,
                )
            )
        )
        self.response_started = True
        self.response_complete = True
        self.waiting_for_100_continue = False
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    async def _send_in_two(self, status: int, headers: tuple[Header, ...], body: bytes) -> None:
        length = () if status == 304 else ((b"content-length", b"%d" % len(body)),)
        await super().send(
            {"type": "http.response.start", "status": status, "headers": (*headers, *length)}
        )
        await super().send({"type": "http.response.body", "body": body, "more_body": False})


@lru_cache(maxsize=256)
def _head(status: int, headers: tuple[Header, ...]) -> bytes:
    """Write the status line and headers; within a second, most answers have the same."""
    lines = [STATUS_LINE[status]]
    for name, value in headers:
        if not _NAME.fullmatch(name) or _CONTROL.search(value):
            raise RuntimeError(f"Invalid HTTP header: {name!r}")
        lines += (name, b": ", value, b"\r\n")
    return b"".join(lines)


def _length(status: int, body: bytes) -> bytes:
    # RFC 9110, 8.6: a 304 would have to tell the length of what it leaves out.
    return b"" if status == 304 else b"content-length: %d\r\n" % len(body)


class Http1Protocol(WatchedProtocol):
    """A connection whose requests are ``Cycle``, and which the application may cut (``ABORT``).

    Closing politely waits until the peer has taken everything, which one that is stuck never does.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] - as in uvicorn
        """Begin; what the connection offers is the same for all its requests."""
        super().connection_made(transport)
        self._extensions: dict[str, dict[str, Any]] = {
            ABORT: {"call": transport.abort},
            REPLY: {},
        }
        if certificate := peer_of(transport).certificate:
            self._extensions[TLS] = {"client_cert_chain": (certificate,)}

    def on_message_begin(self) -> None:
        """Put the extensions into the scope of each request."""
        super().on_message_begin()
        self.scope["extensions"] = self._extensions  # type: ignore[typeddict-item] - uvicorn types fewer keys

    def on_headers_complete(self) -> None:
        """Start the application, or let it wait for the answer to the request before."""
        super().on_headers_complete()
        # Until the first request there is no cycle, and without a connection no parser.
        parser = cast("httptools.HttpRequestParser", self.parser)
        before = cast("RequestResponseCycle | None", self.cycle)
        scope = self.scope
        scope["method"] = parser.get_method().decode("ascii")
        if parser.should_upgrade() and self._should_upgrade():
            return
        version = parser.get_http_version()
        if version != "1.1":
            scope["http_version"] = version
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope["path"] = self.root_path + (unquote(path) if "%" in path else path)
        scope["raw_path"] = self.root_path.encode("ascii") + url.path
        scope["query_string"] = url.query or b""
        app = self._app()
        cycle = Cycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=self.access_log,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        self.cycle: RequestResponseCycle = cycle
        if before is None or before.response_complete:
            self._start(cycle, app)
        else:
            # Pipelined: one answer at a time, in the order of the requests.
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, app))

    def _app(self) -> ASGI3Application:
        limit = self.limit_concurrency
        if limit is None or max(len(self.connections), len(self.tasks)) < limit:
            return cast("ASGI3Application", self.app)  # pyright: ignore[reportUnknownMemberType] - uvicorn does not say
        self.logger.warning("Exceeded concurrency limit.")
        return service_unavailable

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the request at work; uvicorn tells the last that came, which may wait behind it."""
        super().connection_lost(exc)
        cycle = self.at_work
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()

    def _start(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self.at_work: RequestResponseCycle | None = cycle
        task = self.loop.create_task(cycle.run_asgi(app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def on_response_complete(self) -> None:
        """Go on with the next request, or begin to idle."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start(*self.pipeline.pop())
            return
        self.begin_idling()
