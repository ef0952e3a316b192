"""A client that says what it likes: frames written and read by other people's code."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import TypeAlias

import hpack
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    GoAwayFrame,
    HeadersFrame,
    PingFrame,
    RstStreamFrame,
    SettingsFrame,
)

from tests.support.server.grpc_fakes import SEND

__all__ = (
    "ALIVE",
    "PREFACE",
    "REQUEST",
    "Ends",
    "FramePeer",
    "Outcome",
    "Piece",
    "Resets",
    "block",
    "connect",
    "data",
    "in_pieces",
    "raw",
    "request",
)

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
REQUEST = (
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", SEND.encode()),
    (b":authority", b"localhost"),
    (b"content-type", b"application/grpc"),
    (b"te", b"trailers"),
)
Piece: TypeAlias = Frame | bytes


class Ends(int):
    """The connection ends, with this code."""


class Resets(int):
    """The stream ends, with this code; the connection does not."""


ALIVE = None
Outcome: TypeAlias = Ends | Resets | None


def raw(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """Return a frame that no library would write."""
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
    return head + payload


def block(*headers: tuple[bytes, bytes]) -> bytes:
    """Return headers that say nothing of what came before them."""
    encoder = hpack.Encoder()
    encoder.header_table_size = 0
    return encoder.encode(headers)


def request(
    stream: int = 1,
    *more: tuple[bytes, bytes],
    flags: tuple[str, ...] = ("END_HEADERS",),
    head: tuple[tuple[bytes, bytes], ...] = REQUEST,
) -> HeadersFrame:
    """Return the head of a request."""
    return HeadersFrame(stream, block(*head, *more), flags=flags)


def data(stream: int, body: bytes, *, ends: bool = False) -> DataFrame:
    """Return a piece of a body."""
    return DataFrame(stream, body, flags=("END_STREAM",) if ends else ())


def written(piece: Piece) -> bytes:
    return piece if isinstance(piece, bytes) else piece.serialize()


class FramePeer:
    """A connection that has begun."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._decoder = hpack.Decoder()
        self.writer = writer
        self.seen: list[Frame] = []

    def send(self, *pieces: Piece) -> None:
        self.writer.write(b"".join(map(written, pieces)))

    async def read(self) -> Frame | None:
        """Return the next frame, None at the end."""
        try:
            async with asyncio.timeout(5):
                head = await self._reader.readexactly(9)
                frame, length = Frame.parse_frame_header(memoryview(head))
                frame.parse_body(memoryview(await self._reader.readexactly(length)))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        self.seen.append(frame)
        return frame

    async def wait_for(self, kind: type[Frame], stream: int | None = None) -> Frame:
        """Return the next frame of a kind."""
        while (frame := await self.read()) is not None:
            if isinstance(frame, kind) and stream in (None, frame.stream_id):
                return frame
        raise EOFError(kind)

    async def headers(self, stream: int = 1) -> dict[bytes, bytes]:
        """Return the next headers of a stream."""
        frame = await self.wait_for(HeadersFrame, stream)
        assert isinstance(frame, HeadersFrame)
        return {
            bytes(name): bytes(value) for name, value in self._decoder.decode(frame.data, raw=True)
        }

    async def outcome(self, *pieces: Piece, stream: int = 1) -> Outcome:
        """Send frames and a ping after them; return what becomes of the stream or of it all."""
        self.send(*pieces, PingFrame(0, opaque_data=b"are you?"))
        reset: Resets | None = None
        while (frame := await self.read()) is not None:
            if isinstance(frame, GoAwayFrame):
                assert await self.is_over()
                return Ends(frame.error_code)
            if isinstance(frame, RstStreamFrame) and frame.stream_id == stream:
                reset = Resets(frame.error_code)
            if isinstance(frame, PingFrame) and frame.opaque_data == b"are you?":
                assert "ACK" in frame.flags
                return reset
        raise EOFError("The connection ended without a reason")

    async def is_over(self) -> bool:
        """Wait for the end of the connection."""
        while await self.read() is not None:
            pass
        return True


@asynccontextmanager
async def connect(port: int, *greeting: Piece) -> AsyncGenerator[FramePeer]:
    """Connect, and begin with a preface and settings unless another greeting is given."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    peer = FramePeer(reader, writer)
    peer.send(*(greeting or (PREFACE, SettingsFrame(0))))
    try:
        yield peer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def in_pieces(stream: int, *cuts: int) -> list[Piece]:
    """Return the head of a request in a HEADERS frame and CONTINUATION frames."""
    whole = block(*REQUEST)
    places = [0, *cuts, len(whole)]
    pieces: list[Piece] = []
    for number, (start, end) in enumerate(pairwise(places)):
        flags = ("END_HEADERS",) if end == len(whole) else ()
        kind = ContinuationFrame if number else HeadersFrame
        pieces.append(kind(stream, whole[start:end], flags=flags))
    return pieces
