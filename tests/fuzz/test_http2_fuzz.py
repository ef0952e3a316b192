"""HTTP/2 given anything at all: recorded conversations, mutated; frames and bytes of any kind."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.bindings.grpc.framing import GrpcFailedError, MessageReader, frame_message
from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.connection import Connection
from dragoman.net.http2.protocol.errors import ErrorCode
from dragoman.net.http2.protocol.events import DataReceived, Event, RequestReceived
from dragoman.net.http2.protocol.hpack import encode_headers
from tests.support.net.http2_peer import BLOCK, GREETING, REQUEST, TRAILERS, data, request

# They are quick, so there may be more of them; ``make soak`` tries sixty times as many.
MANY = settings(max_examples=20 * settings().max_examples)

CONVERSATIONS = (
    # One call.
    GREETING + request(1) + data(1, frame_message(b"hi"), ends=True),
    # Calls that overlap, one of which is given up, and what a client says beside them.
    GREETING
    + request(1)
    + request(3)
    + data(1, frame_message(b"x" * 3000)[:1000])
    + payloads.window_update(0, 1000)
    + data(3, frame_message(b"y"), ends=True)
    + payloads.reset(1, ErrorCode.CANCEL)
    + frames.write_frame(frames.PING, 0, 0, b"12345678")
    + payloads.settings([(frames.INITIAL_WINDOW_SIZE, 10), (frames.MAX_FRAME_SIZE, 20_000)])
    + payloads.goaway(0, ErrorCode.NO_ERROR),
    # A block in pieces, padding, priority, trailers.
    GREETING
    + frames.write_frame(frames.HEADERS, 0, 1, encode_headers(REQUEST)[:10])
    + frames.write_frame(frames.CONTINUATION, frames.END_HEADERS, 1, encode_headers(REQUEST)[10:])
    + frames.write_frame(frames.DATA, frames.PADDED, 1, b"\x03" + frame_message(b"z") + b"\0" * 3)
    + frames.write_frame(frames.PRIORITY, 0, 5, b"\0\0\0\x01\x10")
    + payloads.headers(1, encode_headers([(b"a", b"b")]), ends=True),
    # Headers that are remembered and recalled, in Huffman code.
    GREETING
    + payloads.headers(1, bytes.fromhex("828684418cf1e3c2e5f23a6ba0ab90f4ff"), ends=True)
    + payloads.headers(3, bytes.fromhex("828684be5886a8eb10649cbf"), ends=True),
)


class Server:
    """What a server does with a connection, without the network."""

    def __init__(self) -> None:
        self.connection = Connection()
        self.events: list[Event] = []
        self.received = self.written = 0
        self._readers: dict[int, MessageReader] = {}

    def receive(self, piece: bytes) -> None:
        self.received += len(piece)
        self.connection.receive(piece, 0.0)
        for event in self.connection.take_events():
            self.events.append(event)
            if isinstance(event, RequestReceived):
                self._readers[event.stream] = MessageReader(event.head, 100_000)
            if isinstance(event, (RequestReceived, DataReceived)):
                self._act(event)
        while output := self.connection.take_output():
            self.written += len(output)
            self.connection.room = 65_536

    def _act(self, event: RequestReceived | DataReceived) -> None:
        body = event.data if isinstance(event, DataReceived) else b""
        try:
            self._readers[event.stream].read(body)
        except GrpcFailedError:
            self.connection.send_headers(event.stream, TRAILERS, ends=True)
        if event.ends:
            self.connection.send_headers(event.stream, BLOCK)
            self.connection.send_data(event.stream, b"answer")
            self.connection.send_headers(event.stream, TRAILERS, ends=True)
        else:
            self.connection.grant(event.stream, len(body))


def mutated(chance: random.Random) -> bytes:
    """Return a conversation with a few bytes changed, removed, repeated or moved."""
    talk = bytearray(chance.choice(CONVERSATIONS))
    for _ in range(chance.randint(1, 6)):
        place = chance.randrange(len(talk))
        match chance.randrange(5):
            case 0:
                talk[place] = chance.randrange(256)
            case 1:
                talk[place] ^= 1 << chance.randrange(8)
            case 2:
                del talk[place : place + chance.randint(1, 12)]
            case 3:
                talk[place:place] = talk[place : place + chance.randint(1, 60)]
            case _:
                talk[place:place] = chance.choice(CONVERSATIONS)[len(GREETING) :]
        if not talk:
            break
    return bytes(talk)


@given(st.integers(0, 2**32), st.integers(1, 400))
@MANY
def test_a_mutated_conversation_is_served_or_refused_and_never_answered_at_length(
    seed: int, step: int
) -> None:
    talk = mutated(random.Random(seed))  # noqa: S311 - to be repeated, not to be secret
    server = Server()
    for start in range(0, len(talk), step):
        server.receive(talk[start : start + step])
    # Our greeting; and for each frame of nine bytes an answer with headers, body and trailers.
    assert server.written <= 100 + 12 * server.received
    assert server.connection.held_bytes == 0
    failure = server.connection.failure
    assert failure is None or failure.code in set(ErrorCode)


some_frames = st.builds(
    frames.write_frame,
    st.integers(0, 10),
    st.sampled_from([0, 1, 4, 5, 8, 9, 0x20, 0x2D, 0xFF]),
    st.integers(0, 9),
    st.one_of(
        st.binary(max_size=40),
        st.sampled_from([encode_headers(REQUEST), b"\x83\x86\x84", b"\0\0\0\x01", b"12345678"]),
    ),
)


@given(st.lists(st.one_of(some_frames, st.binary(max_size=30)), max_size=30))
@MANY
def test_bytes_of_any_kind_are_events_or_a_failure(pieces: list[bytes]) -> None:
    server = Server()
    server.receive(GREETING)
    for piece in pieces:
        server.receive(piece)
    assert server.written <= 100 + 12 * server.received


@given(st.lists(some_frames, max_size=20), st.lists(st.integers(0, 60), max_size=20))
@MANY
def test_what_happens_does_not_depend_on_how_the_bytes_come(
    pieces: list[bytes], cuts: list[int]
) -> None:
    rest = talk = GREETING + b"".join(pieces)
    whole, parts = Connection(), Connection()
    whole.receive(talk, 0.0)
    events: list[Event] = []
    for cut in cuts:
        parts.receive(rest[:cut], 0.0)
        events += parts.take_events()
        rest = rest[cut:]
    parts.receive(rest, 0.0)
    assert [*events, *parts.take_events()] == whole.take_events()
    assert parts.take_output() == whole.take_output()
    assert str(parts.failure) == str(whole.failure)
