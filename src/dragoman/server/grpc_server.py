"""The gRPC server: started by the first connection that needs it, behind a private unix socket.

Connections of the shared port reach it through the relay; it may have a port of its own as well.
The library is optional and takes its time to import, so this is the one place that does, and late.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import shutil
import tempfile
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from dragoman.bindings.grpc.base import GrpcDialect
from dragoman.errors import UsageError
from dragoman.model.operations import STREAMING
from dragoman.server.grpc_calls import Calls, Enter, Performs
from dragoman.server.nursery import Nursery
from dragoman.server.peers import Peers, peer_of
from dragoman.server.relay import CLOSE_SECONDS, Near

if TYPE_CHECKING:
    from dragoman.server.tls import Tls

__all__ = ("MISSING", "GrpcLimits", "GrpcServer", "Services")

_logger = logging.getLogger(__name__)

MAX_STREAMS: Final = 1000
"""Calls at once on one connection. gRPC itself has no limit; common servers have 100 to 1000."""

_PING_INTERVAL_MS: Final = 5000
"""Clients may ping as often as this, called or not; gRPC's own five minutes cut lively ones."""

_PING_PATIENCE_MS: Final = 20_000
"""A client that does not answer a ping for so long is gone."""

MISSING: Final = "gRPC needs packages that are not installed: pip install grpcio protobuf"
"""What to do when they are not there."""


class GrpcLimits(Struct, frozen=True, kw_only=True):
    """The settings of the server that matter here, by their names there."""

    max_body_bytes: int
    heartbeat_seconds: float
    stall_seconds: float


class Services(Struct, frozen=True, kw_only=True):
    """What is served.

    Attributes:
        dialects: the forms of A2A, one service each.
        files: serialized FileDescriptorProtos of those services, for reflection.
    """

    dialects: Sequence[GrpcDialect]
    files: Sequence[bytes] = ()


class GrpcServer:
    """A2A over gRPC. It is started by a connection or a port, and stopped once.

    Args:
        services: gives what is to be served; asked when the server starts.
        enter: tells who calls; raises for a caller who is not let in.
        is_ready: tells whether requests can be answered.
    """

    def __init__(
        self,
        performs: Performs,
        limits: GrpcLimits,
        *,
        services: Callable[[], Services],
        enter: Enter,
        is_ready: Callable[[], bool],
    ) -> None:
        self._performs = performs
        self._limits = limits
        self._services = services
        self._enter = enter
        self._is_ready = is_ready
        self._peers = Peers()
        self._nursery = Nursery()
        self._relayed: set[asyncio.Task[None]] = set()
        self._starting = asyncio.Lock()
        self._numbers = count(1)
        self._folder = ""
        self._server: Any = None
        self._is_stopped = False
        self._has_complained = False

    @property
    def is_started(self) -> bool:
        """Tell whether it runs."""
        return self._server is not None

    def serve(self, near: Near, first: bytes) -> None:
        """Take over a connection of the shared port of which ``first`` has been read."""
        task = self._nursery.spawn(self._relay(near, first), name="a gRPC connection")
        self._relayed.add(task)
        task.add_done_callback(self._relayed.discard)

    async def listen(self, host: str, port: int, tls: Tls | None = None) -> int:
        """Start with a port of its own; return it, which is another if 0 was asked for.

        Raises:
            UsageError: the packages are missing, or the port cannot be had.
        """
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        async with self._starting:
            return await self._start(address, tls)

    async def stop(self, grace_seconds: float) -> None:
        """Let calls finish within the grace period, then end them and every connection."""
        self._is_stopped = True
        async with self._starting:
            if self._server is not None:
                await self._server.stop(grace_seconds)
            if self._relayed:
                # The last answers are still on their way through the relay.
                await asyncio.wait(tuple(self._relayed), timeout=CLOSE_SECONDS)
            await self._nursery.close()
            self._server = None
            if self._folder:
                shutil.rmtree(self._folder, ignore_errors=True)

    async def _relay(self, near: Near, first: bytes) -> None:
        peer = peer_of(near.transport)
        try:
            async with self._starting:
                if self._server is None:
                    await self._start()
        except Exception as problem:  # noqa: BLE001 - HTTP/1.1 is served all the same
            near.transport.abort()
            self._complain(problem)
            return
        path = f"{self._folder}/{next(self._numbers)}"
        self._peers.add(path, peer)
        try:
            await near.carry(
                first,
                to=f"{self._folder}/grpc",
                bound_to=path,
                stall_seconds=self._limits.stall_seconds,
            )
        except OSError as problem:
            _logger.warning("a gRPC connection from %s is cut: %s", peer.address, problem)
        finally:
            self._peers.forget(path)

    def _complain(self, problem: Exception) -> None:
        """Log once why there is no gRPC: every client that tries would be one more line."""
        if not (self._is_stopped or self._has_complained):
            self._has_complained = True
            _logger.error("gRPC is not served: %s", problem)

    async def _start(self, address: str = "", tls: Tls | None = None) -> int:
        if self._is_stopped:
            raise UsageError("the server has stopped")
        grpc = _import_grpc()
        server = grpc.aio.server(options=self._options())
        server.add_generic_rpc_handlers(self._handlers(grpc))
        port = _bind(grpc, server, address, tls) if address else 0
        self._folder = self._folder or tempfile.mkdtemp(prefix="dragoman-")  # For its owner alone.
        server.add_insecure_port(f"unix:{self._folder}/grpc")
        await server.start()
        self._server = server
        return port

    def _options(self) -> list[tuple[str, int]]:
        limits = self._limits
        return [
            ("grpc.max_receive_message_length", limits.max_body_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_concurrent_streams", MAX_STREAMS),
            # Streams have no heartbeats of their own here. Pings tell whether the client is there,
            # and keep proxies from cutting what is idle.
            ("grpc.keepalive_time_ms", round(limits.heartbeat_seconds * 1000)),
            ("grpc.keepalive_timeout_ms", _PING_PATIENCE_MS),
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", _PING_INTERVAL_MS),
            # Two servers on one port would each get half of the calls.
            ("grpc.so_reuseport", 0),
        ]

    def _handlers(self, grpc: Any) -> list[Any]:
        services = self._services()
        calls = Calls(
            self._performs,
            enter=self._enter,
            peers=self._peers,
            nursery=self._nursery,
            stall_seconds=self._limits.stall_seconds,
            statuses={status.value[0]: status for status in grpc.StatusCode},
            gone=grpc.aio.InternalError,
        )
        handlers = [_a2a_handler(grpc, calls, dialect) for dialect in services.dialects]
        names = [dialect.service for dialect in services.dialects]
        # Imports protobuf.
        from dragoman.server.grpc_standard import standard_handlers  # noqa: PLC0415 - see above

        return handlers + standard_handlers(grpc, names, services.files, self._is_ready)


def _import_grpc() -> Any:
    """Import what is optional, all of it: it comes without types."""
    try:
        importlib.import_module("google.protobuf")
        importlib.import_module("grpc.aio")
        return importlib.import_module("grpc")
    except ImportError:
        raise UsageError(MISSING) from None


def _bind(grpc: Any, server: Any, address: str, tls: Tls | None) -> int:
    try:
        if tls is None:
            return server.add_insecure_port(address)
        credentials = grpc.ssl_server_credentials(
            ((tls.key, tls.certificate),),
            root_certificates=tls.client_ca or None,
            require_client_auth=bool(tls.client_ca),
        )
        return server.add_secure_port(address, credentials)
    except RuntimeError:
        raise UsageError(f"cannot listen on {address} for gRPC; choose another port") from None


def _a2a_handler(grpc: Any, calls: Calls, dialect: GrpcDialect) -> Any:
    handlers = {
        name: grpc.unary_stream_rpc_method_handler(calls.streaming(dialect, operation))
        if operation in STREAMING
        else grpc.unary_unary_rpc_method_handler(calls.unary(dialect, operation))
        for name, operation in dialect.rpcs.items()
    }
    return grpc.method_handlers_generic_handler(dialect.service, handlers)
