"""A collector of spans for tests: a real HTTP server on a thread, well or badly behaved."""

from __future__ import annotations

import base64
import ssl
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from types import TracebackType
from typing import Any, cast

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

__all__ = ("Collector", "until")

PATIENCE_SECONDS = 15.0


def until(is_true: Callable[[], bool]) -> None:
    """Wait until something is true, but not for ever."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not is_true():
        assert time.monotonic() < deadline, "this did not come true"
        time.sleep(0.01)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Who is held is not waited for.
    block_on_close = False
    collector: Collector

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: who hangs up is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        collector = cast("_Server", self.server).collector
        body = self.rfile.read(int(self.headers["Content-Length"]))
        collector.requests += 1
        if collector.is_held:
            collector.released.wait(PATIENCE_SECONDS)
        status, headers, answer = collector.answers.pop(0) if collector.answers else collector.usual
        if 200 <= status < 300:
            collector.bodies.append(_decoded(body))
            collector.paths.append(self.path)
            collector.headers.append(dict(self.headers.items()))
        self.send_response(status)
        for name, value in {"Content-Length": str(len(answer)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer)
        # Said or not, it is closed: the next request finds that out.
        self.close_connection = collector.hangs_up

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is declared
        """Say nothing."""


class Collector:
    """Takes spans until the block ends; may be entered again, at the same port.

    Attributes:
        answers: status, headers and body of the next answers; then comes ``usual``.
        is_held: whether nothing is answered before ``released``.
        hangs_up: whether connections are closed after an answer, without a word.
        requests: how many came, however they were answered.
        bodies, paths, headers: those of requests that were taken.
    """

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.usual: tuple[int, dict[str, str], bytes] = (200, {}, b"")
        self.is_held = self.hangs_up = False
        self.released = Event()
        self.requests = 0
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self._port = 0
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        """Where it is, or was before."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    @property
    def resources(self) -> list[dict[str, Any]]:
        """Who has sent something, by attributes, a request after the other."""
        return [
            _plain(each["resource"]["attributes"])
            for body in self.bodies
            for each in body["resourceSpans"]
        ]

    @property
    def spans(self) -> list[dict[str, Any]]:
        """All that were taken."""
        return [
            span
            for body in self.bodies
            for each in body["resourceSpans"]
            for scope in each["scopeSpans"]
            for span in scope["spans"]
        ]

    @property
    def names(self) -> list[str]:
        """What they are called."""
        return [span["name"] for span in self.spans]

    def one(self, name: str) -> dict[str, Any]:
        """Return the only span of a name."""
        (span,) = (span for span in self.spans if span["name"] == name)
        return span

    def attributes_of(self, name: str) -> dict[str, Any]:
        """Return the attributes of the only span of a name, in a plainer form."""
        return _plain(self.one(name).get("attributes", []))

    def parent_of(self, span: dict[str, Any]) -> str:
        """Return the name of the parent of a span; "" if it has none here."""
        parents = {one["spanId"]: one["name"] for one in self.spans}
        return parents.get(span.get("parentSpanId", ""), "")

    def __enter__(self) -> Collector:
        self._server = _Server(("127.0.0.1", self._port), _Handler)
        self._server.collector = self
        if self._tls is not None:
            self._server.socket = self._tls.wrap_socket(self._server.socket, server_side=True)
        self._port = self._server.server_port
        Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._server is not None
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


def _decoded(body: bytes) -> dict[str, Any]:
    """Return a request as OTLP writes it in JSON: ids are hexadecimals there, enums numbers."""
    request = ExportTraceServiceRequest.FromString(body)
    found = MessageToDict(request, use_integers_for_enums=True)
    for resource in found["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in {"traceId", "spanId", "parentSpanId"} & span.keys():
                    span[name] = base64.b64decode(span[name]).hex()
    return found


def _plain(attributes: list[dict[str, Any]]) -> dict[str, Any]:
    return {each["key"]: next(iter(each["value"].values()), None) for each in attributes}
