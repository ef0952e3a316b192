"""A client of HTTP/2 made of frames, on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.frames import Frame, FrameReader
from dragoman.net.http2.protocol.hpack import Decoder, Header, encode_headers
from tests.support.server.grpc_fakes import SEND, OnePort

__all__ = ("Raw", "raw")


class Raw:
    """A connection in frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._frames = FrameReader()
        self._decoder = Decoder(100_000)
        self._ready: list[Frame] = []

    def send(self, *pieces: bytes) -> None:
        self.writer.write(b"".join(pieces))

    def call(self, stream: int, *more: Header, path: str = SEND, ends: bool = False) -> None:
        headers = (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", path.encode()),
            (b"content-type", b"application/grpc"),
            *more,
        )
        self.send(payloads.headers(stream, encode_headers(headers), ends=ends))

    def data(self, stream: int, body: bytes, *, ends: bool = False) -> None:
        flags = frames.END_STREAM if ends else 0
        self.send(frames.write_frame(frames.DATA, flags, stream, body))

    async def next(self, kind: int) -> Frame:
        """Wait for the next frame of a kind."""
        async with asyncio.timeout(5):
            while True:
                while self._ready:
                    frame = self._ready.pop(0)
                    if frame.kind == kind:
                        return frame
                received = await self._reader.read(65_536)
                if not received:
                    raise EOFError
                self._ready += self._frames.read(received)

    async def headers(self) -> dict[bytes, bytes]:
        return dict(self._decoder.decode((await self.next(frames.HEADERS)).payload))

    async def is_cut(self) -> bool:
        """Wait until the server ends the connection."""
        try:
            while True:
                await self.next(frames.GOAWAY)
        except (EOFError, ConnectionError):
            return True


@asynccontextmanager
async def raw(served: OnePort, *settings: tuple[int, int]) -> AsyncGenerator[Raw]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    client = Raw(reader, writer)
    client.send(frames.PREFACE, payloads.settings(settings))
    try:
        yield client
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
