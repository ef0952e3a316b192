"""A client made of bytes, to talk to a Connection."""

from __future__ import annotations

from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.connection import Connection
from dragoman.net.http2.protocol.events import Event
from dragoman.net.http2.protocol.frames import Frame, FrameReader
from dragoman.net.http2.protocol.hpack import Header, encode_headers

__all__ = (
    "BLOCK",
    "GREETING",
    "PING",
    "REQUEST",
    "TRAILERS",
    "Client",
    "answering",
    "data",
    "request",
    "windows",
)

GREETING = frames.PREFACE + payloads.settings(())
REQUEST: tuple[Header, ...] = (
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/test.Service/Send"),
    (b"content-type", b"application/grpc"),
)

BLOCK = encode_headers([(b":status", b"200")])
TRAILERS = encode_headers([(b"grpc-status", b"0")])
PING = frames.write_frame(frames.PING, 0, 0, b"12345678")


def windows(size: int) -> bytes:
    """Return the greeting of a client with windows of this size."""
    return frames.PREFACE + payloads.settings([(frames.INITIAL_WINDOW_SIZE, size)])


def request(stream: int, *, ends: bool = False, more: tuple[Header, ...] = ()) -> bytes:
    """Return the head of a request."""
    return payloads.headers(stream, encode_headers((*REQUEST, *more)), ends=ends)


def data(stream: int, body: bytes, *, ends: bool = False) -> bytes:
    """Return a piece of a body."""
    return frames.write_frame(frames.DATA, frames.END_STREAM if ends else 0, stream, body)


class Client:
    """A connection that has begun, and its other end."""

    def __init__(self, greeting: bytes = GREETING) -> None:
        self.connection = Connection()
        self.now = 0.0
        self._reader = FrameReader()
        self.send(greeting)
        self.heard()

    def send(self, *pieces: bytes) -> list[Event]:
        """Send bytes; return what happens."""
        self.connection.receive(b"".join(pieces), self.now)
        return self.connection.take_events()

    def heard(self) -> list[Frame]:
        """Return the frames that come back."""
        return list(self._reader.read(self.connection.take_output()))

    def kinds(self) -> list[int]:
        """Return the kinds of the frames that come back."""
        return [frame.kind for frame in self.heard()]

    def body(self, stream: int = 1) -> bytes:
        """Return what comes back of a body, with all the room there is."""
        found = b""
        while frames_ := self.heard():
            self.connection.room = 65_536
            found += b"".join(
                f.payload for f in frames_ if f.kind == frames.DATA and f.stream == stream
            )
        return found

    def failure(self) -> int | None:
        """Return the code of the GOAWAY that ended the connection."""
        problem = self.connection.failure
        goaways = [frame for frame in self.heard() if frame.kind == frames.GOAWAY]
        if problem is None:
            return None
        assert int.from_bytes(goaways[-1].payload[4:8], "big") == problem.code
        return problem.code

    def resets(self) -> list[tuple[int, int]]:
        """Return the streams that were reset, and why."""
        return [
            (frame.stream, int.from_bytes(frame.payload, "big"))
            for frame in self.heard()
            if frame.kind == frames.RST_STREAM
        ]


def answering(client: Client, body: bytes, *streams: int) -> None:
    """Make requests and begin to answer them."""
    for stream in streams:
        client.send(request(stream, ends=True))
        client.connection.send_headers(stream, BLOCK)
        client.connection.send_data(stream, body)
