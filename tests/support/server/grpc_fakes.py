"""What the tests of gRPC share: a dialect of plain bytes, and a server with it on one port."""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import uvicorn
from msgspec import Struct

from dragoman.bindings.grpc.base import GrpcDialect, GrpcStatus
from dragoman.dialects.base import Dialect
from dragoman.errors import A2AError, InternalError, TaskNotFoundError, spelling_of
from dragoman.model.documents import EventDocument
from dragoman.model.operations import Operation
from dragoman.net.asgi import Receive, Scope, Send
from dragoman.net.limits import ConnectionLimits
from dragoman.net.port import Server, speaking_both
from dragoman.net.tls import Tls
from dragoman.server.admission.authentication import IncomingRequest
from dragoman.server.grpc.server import GrpcServer, Services
from dragoman.service.principal import Principal
from dragoman.service.service import EventStream

__all__ = (
    "SEND",
    "SERVICE",
    "STREAM",
    "Answered",
    "FakePerforms",
    "OnePort",
    "ScriptedEvents",
    "aio",
    "dialect",
    "grpc",
    "new_server",
    "one_port",
)

# The library has no types.
grpc: Any = importlib.import_module("grpc")
aio: Any = importlib.import_module("grpc.aio")

SERVICE = "test.Service"
SEND = f"/{SERVICE}/SendMessage"
STREAM = f"/{SERVICE}/SendStreamingMessage"


class _Writer:
    has_ended = False

    def write(self, event: EventDocument) -> tuple[bytes, ...]:
        self.has_ended = event.json == b"final"
        return (event.json,)


class _Dialect:
    name = "fake"
    service = SERVICE
    rpcs: Mapping[str, Operation] = {
        "SendMessage": Operation.SEND_MESSAGE,
        "SendStreamingMessage": Operation.SEND_STREAMING_MESSAGE,
    }

    def frame_writer(self) -> _Writer:
        return _Writer()

    def encode_status(self, problem: A2AError) -> GrpcStatus:
        return GrpcStatus(spelling_of(problem).grpc_code, problem.message, b"details")


dialect = cast("GrpcDialect", _Dialect())
"""Only what a server needs: its messages are what they are."""


class Answered(Struct, frozen=True):
    """What a performed operation has to say."""

    body: bytes = b""
    events: EventStream | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    dialect: Dialect = dialect


class ScriptedEvents:
    """Events for a stream to show; it waits before each batch if ``is_live``, and may fail."""

    def __init__(
        self, *batches: tuple[EventDocument, ...], is_live: bool = False, ends_with: str = ""
    ) -> None:
        self._batches = batches
        self._is_live = is_live
        self._ends_with = ends_with
        self.closed = asyncio.Event()
        self.shown = 0

    async def __aiter__(self) -> AsyncIterator[tuple[EventDocument, ...]]:
        for batch in self._batches:
            self.shown += len(batch)
            yield batch
        if self._is_live:
            await self.closed.wait()
        if self._ends_with:
            raise ValueError(self._ends_with)

    async def aclose(self) -> None:
        self.closed.set()


class FakePerforms:
    """Answers as the request says, and remembers who asked what."""

    def __init__(self) -> None:
        self.principals: list[Principal] = []
        self.asked: list[tuple[bytes, Mapping[bytes, str]]] = []
        self.explained: list[Exception] = []
        self.told = asyncio.Event()
        self.admitted: list[str | None] = []
        self.answer: Answered | None = None
        self.called = asyncio.Event()
        self.hold: asyncio.Event | None = None
        self.finished = 0

    async def serve_rpc(
        self,
        dialect: GrpcDialect,
        operation: Operation,
        params: bytes,
        incoming: IncomingRequest,
    ) -> Answered:
        del dialect, operation
        self.asked.append((params, incoming.headers))
        self.principals.append(incoming.principal)
        self.called.set()
        if self.hold is not None:
            await self.hold.wait()
        self.finished += 1
        if params == b"unknown":
            raise TaskNotFoundError("t-1")
        if params == b"broken":
            raise ValueError("secret")
        return self.answer or Answered(b"echo " + params)

    def explain(self, problem: Exception) -> A2AError:
        self.explained.append(problem)
        self.told.set()
        return problem if isinstance(problem, A2AError) else InternalError("Internal error")

    async def enter(self, incoming: IncomingRequest) -> Principal:
        """Let everybody in, by their address."""
        self.admitted.append(incoming.peer)
        return Principal(owner=incoming.peer or "local")


def new_server(
    performs: FakePerforms,
    *,
    stall_seconds: float = 60.0,
    head_seconds: float = 60.0,
    body_seconds: float = 60.0,
    http2_idle_seconds: float = 60.0,
    max_body_bytes: int = 1_000_000,
    max_headers: int = 1000,
    heartbeat_seconds: float = 15.0,
    is_ready: Callable[[], bool] = lambda: True,
) -> GrpcServer:
    """Return a gRPC server on top of ``performs``."""
    limits = ConnectionLimits(
        max_body_bytes=max_body_bytes,
        max_headers=max_headers,
        max_header_bytes=16_384,
        head_seconds=head_seconds,
        body_seconds=body_seconds,
        http2_idle_seconds=http2_idle_seconds,
        heartbeat_seconds=heartbeat_seconds,
        stall_seconds=stall_seconds,
    )
    return GrpcServer(
        performs,
        limits,
        services=lambda: Services(dialects=(dialect,)),
        enter=performs.enter,
        is_ready=is_ready,
    )


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer HTTP/1.1."""
    del receive
    headers = [(b"content-length", b"5"), (b"x-scheme", scope["scheme"].encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


class OnePort:
    """What listens at ``target``, in gRPC's way to write it."""

    def __init__(self, grpc_server: GrpcServer, server: Server, port: int) -> None:
        self.grpc = grpc_server
        self.server = server
        self.port = port
        self.target = f"127.0.0.1:{port}"

    def channel(self) -> Any:
        """Return a channel without TLS."""
        return aio.insecure_channel(self.target)

    async def get(self) -> bytes:
        """Make a request of HTTP/1.1 and return the answer."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = await reader.read(-1)
        writer.close()
        await writer.wait_closed()
        return answer


@asynccontextmanager
async def one_port(grpc_server: GrpcServer, *, tls: Tls | None = None) -> AsyncGenerator[OnePort]:
    """Serve HTTP/1.1 and gRPC on one port of the loopback."""
    config = uvicorn.Config(
        hello,  # type: ignore[arg-type] - any ASGI app will do
        http=speaking_both(grpc_server, ConnectionLimits()),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    config.load()
    config.ssl = tls.context if tls else None

    async def before_stop() -> None:
        await grpc_server.stop(0.5)

    server = Server(config, on_started=lambda: None, before_stop=before_stop)
    server.lifespan = config.lifespan_class(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await server.startup([listener])
        try:
            yield OnePort(grpc_server, server, listener.getsockname()[1])
        finally:
            await server.shutdown([listener])
