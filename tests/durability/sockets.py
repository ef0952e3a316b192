"""RawStream: a stream read by hand from a socket with a tiny buffer, as slowly as a test wants."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

from dragoman.bindings.sse import Parser
from tests.support.wire import Frame

__all__ = ("RawStream", "raw_stream")

BUFFER_BYTES: Final = 4096


class RawStream:
    """The body of a streaming response. Nothing is read but what is asked for."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def chunk(self) -> bytes:
        """Read one chunk of the body; empty at the end. Raises IncompleteReadError if cut off."""
        size = int((await self._reader.readuntil(b"\r\n")).strip(), 16)
        return (await self._reader.readexactly(size + 2))[:-2]

    async def frames(self) -> AsyncGenerator[Frame]:
        """Read on to the end."""
        parser = Parser()
        while chunk := await self.chunk():
            for event in parser.feed(chunk):
                yield Frame(event.id, event.event, json.loads(event.data))


@asynccontextmanager
async def raw_stream(url: str, path: str, *headers: str) -> AsyncGenerator[RawStream]:
    """Ask for a stream, and read no more than the head of the response."""
    address = urlsplit(url)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    sock.settimeout(0)
    await asyncio.get_running_loop().sock_connect(sock, (address.hostname, address.port))
    reader, writer = await asyncio.open_connection(sock=sock, limit=BUFFER_BYTES)
    try:
        lines = (f"GET {path} HTTP/1.1", "Host: localhost", "A2A-Version: 1.0", *headers, "", "")
        writer.write("\r\n".join(lines).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        yield RawStream(reader)
    finally:
        writer.transport.abort()
