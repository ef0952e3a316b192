"""The gRPC server: the calls of A2A, health and reflection on connections of HTTP/2.

Connections of the shared port are given to it; it may have a port of its own as well. Messages need
protobuf, which takes its time to import, so that is done late: by the first connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dragoman.bindings.grpc.base import GrpcDialect, can_serve
from dragoman.errors import UsageError
from dragoman.net.http2.driver import Http2Protocol
from dragoman.net.limits import ConnectionLimits
from dragoman.server.grpc.calls import Calls, Enter, Performs, Rpc
from dragoman.server.grpc.connection import GrpcConnection
from dragoman.server.tasks.background import BackgroundTasks

if TYPE_CHECKING:
    from dragoman.net.tls import Tls

__all__ = ("MISSING", "GrpcServer", "Services")

_logger = logging.getLogger(__name__)

DRAIN_SECONDS: Final = 1.0
"""How long a peer may take to hear that it must make no more calls."""

MISSING: Final = "gRPC needs a package that is not installed: pip install protobuf"
"""What to do when it is not there."""


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
        limits: ConnectionLimits,
        *,
        services: Callable[[], Services],
        enter: Enter,
        is_ready: Callable[[], bool],
    ) -> None:
        self.limits: Final = limits
        self.rpcs: Mapping[bytes, Rpc] = {}
        self._services = services
        self._is_ready = is_ready
        self._calls = Calls(performs, enter=enter, stall_seconds=limits.stall_seconds)
        self._background = BackgroundTasks()
        self._running: set[asyncio.Task[None]] = set()
        self._connections: set[Http2Protocol] = set()
        self._all_lost = asyncio.Event()
        self._draining: set[Http2Protocol] = set()
        self._all_drained = asyncio.Event()
        self._listening: list[asyncio.Server] = []
        self._is_stopped = False
        self._has_complained = False

    @property
    def is_started(self) -> bool:
        """Tell whether it serves."""
        return bool(self.rpcs) and not self._is_stopped

    def accept(self, on_lost: Callable[[], object] = lambda: None) -> Http2Protocol | None:
        """Return what serves one more connection, None if it must be cut.

        Args:
            on_lost: called when that connection has ended.
        """
        try:
            self._start()
        except (ImportError, UsageError) as problem:
            self._complain(problem)
            return None
        return Http2Protocol(self, on_lost)

    async def listen(self, host: str, port: int, tls: Tls | None = None) -> int:
        """Start with a port of its own; return it, which is another if 0 was asked for.

        Raises:
            UsageError: the packages are missing, or the port cannot be had.
        """
        self._start()
        try:
            server = await asyncio.get_running_loop().create_server(
                lambda: self.accept() or _Refusal(), host, port, ssl=tls.http2 if tls else None
            )
        except OSError:
            address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            raise UsageError(f"cannot listen on {address} for gRPC; choose another port") from None
        self._listening.append(server)
        return server.sockets[0].getsockname()[1]

    async def stop(self, grace_seconds: float) -> None:
        """Let calls finish within the grace period, then end them and every connection."""
        self._is_stopped = True
        for server in self._listening:
            server.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_seconds):
                await self._finish()
        await self._background.close()
        for connection in tuple(self._connections):
            connection.shutdown()
        if self._connections:
            # Each cuts itself if its last bytes take too long.
            self._all_lost.clear()
            await self._all_lost.wait()
        # What began while the others were ended.
        await self._background.close()

    async def _finish(self) -> None:
        """Wait until no call is under way, be it here or still on its way here."""
        self._draining = {each for each in self._connections if each.drain()}
        self._all_drained.clear()
        if self._draining:
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await self._all_drained.wait()
        while self._running:
            await asyncio.wait(tuple(self._running))

    # --- for connections (driver.Host, connection.Served) ---------------------------------------

    def serve(self, connection: Http2Protocol) -> GrpcConnection:
        """Return what serves the streams of a connection."""
        return GrpcConnection(connection, self, self.limits)

    def spawn(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        """Start the task of a call."""
        task = self._background.spawn(work, name="a gRPC call")
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def made(self, connection: Http2Protocol) -> None:
        """Know a connection; under TLS that is some time after it was accepted."""
        self._connections.add(connection)
        if self._is_stopped:
            connection.shutdown()

    def drained(self, connection: Http2Protocol) -> None:
        """Know that no more calls come on a connection."""
        self._draining.discard(connection)
        if not self._draining:
            self._all_drained.set()

    def lost(self, connection: Http2Protocol) -> None:
        """Forget a connection that has ended."""
        self.drained(connection)
        self._connections.discard(connection)
        if not self._connections:
            self._all_lost.set()

    def _start(self) -> None:
        if self._is_stopped:
            raise UsageError("the server has stopped")
        if self.rpcs:
            return
        if not can_serve():
            raise UsageError(MISSING)
        # Imports protobuf.
        from dragoman.server.grpc.standard_services import standard_rpcs  # noqa: PLC0415 - see above

        services = self._services()
        rpcs = {
            f"/{dialect.service}/{name}": self._calls.rpc(dialect, operation)
            for dialect in services.dialects
            for name, operation in dialect.rpcs.items()
        }
        names = [dialect.service for dialect in services.dialects]
        rpcs |= standard_rpcs(names, services.files, self._is_ready)
        self.rpcs = {path.encode(): rpc for path, rpc in rpcs.items()}

    def _complain(self, problem: Exception) -> None:
        """Log once why there is no gRPC: every client that tries would be one more line."""
        if not (self._is_stopped or self._has_complained):
            self._has_complained = True
            _logger.error("gRPC is not served: %s", problem)


class _Refusal(asyncio.Protocol):
    """A connection that came when the server had stopped."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Cut it."""
        transport.close()
