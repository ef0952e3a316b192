"""A TCP load balancer: connections go to the replicas in turn, past those that do not answer.

It knows nothing of what it carries. As balancers do, it asks every replica now and then whether it
is ready, and sends nobody to one that is not; what is open there stays open.
"""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

__all__ = ("Balancer", "balanced")

CHECK_SECONDS: Final = 0.2
PATIENCE_SECONDS: Final = 0.5
"""How long a replica may take to say that it is ready, or to take a connection."""

_QUESTION: Final = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Balancer:
    """Carries connections to ports of 127.0.0.1.

    Attributes:
        url: where it listens itself.
        carried: how many connections each port was given.
    """

    def __init__(self, ports: Sequence[int]) -> None:
        self.url = ""
        self.carried = dict.fromkeys(ports, 0)
        self._ports = list(ports)
        self._ready: set[int] = set()

    async def check(self, port: int) -> None:
        """Ask a replica again and again whether it is ready."""
        while True:
            if await _is_ready(port):
                self._ready.add(port)
            else:
                self._ready.discard(port)
            await asyncio.sleep(CHECK_SECONDS)

    async def carry(self, near: StreamReader, near_writer: StreamWriter) -> None:
        """Carry one connection to its end."""
        far_writer: StreamWriter | None = None
        try:
            opened = await self._open()
            if opened is None:
                return
            far, far_writer = opened
            async with asyncio.TaskGroup() as group:
                up = group.create_task(_pass(near, far_writer))
                await _pass(far, near_writer)
                up.cancel()
        finally:
            # At once: who is cut off learns of it now, as if the replica itself had gone.
            near_writer.transport.abort() if far_writer is None else near_writer.close()
            if far_writer is not None:
                far_writer.transport.abort()

    async def _open(self) -> tuple[StreamReader, StreamWriter] | None:
        """Connect to the next replica that takes a connection."""
        for _ in self._ports:
            port = self._ports.pop(0)
            self._ports.append(port)
            if port not in self._ready:
                continue
            with suppress(OSError):
                async with asyncio.timeout(PATIENCE_SECONDS):
                    opened = await asyncio.open_connection("127.0.0.1", port)
                self.carried[port] += 1
                return opened
            self._ready.discard(port)
        return None


async def _is_ready(port: int) -> bool:
    writer: StreamWriter | None = None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(_QUESTION)
            return b" 200 " in await reader.readline()
    except OSError:
        return False
    finally:
        if writer is not None:
            writer.transport.abort()


async def _pass(reader: StreamReader, writer: StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def balanced(ports: Sequence[int]) -> AsyncGenerator[Balancer]:
    """Put a balancer before replicas."""
    balancer = Balancer(ports)
    carriers: set[asyncio.Task[None]] = set()

    def accept(reader: StreamReader, writer: StreamWriter) -> None:
        carrier = group.create_task(balancer.carry(reader, writer))
        carriers.add(carrier)
        carrier.add_done_callback(carriers.discard)

    async with asyncio.TaskGroup() as group:
        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        balancer.url = f"http://{host}:{port}"
        checks = [group.create_task(balancer.check(port)) for port in ports]
        try:
            yield balancer
        finally:
            server.close()
            for task in (*checks, *carriers):
                task.cancel()
