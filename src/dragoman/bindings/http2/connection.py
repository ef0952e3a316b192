"""The server's side of an HTTP/2 connection (RFC 9113): bytes in, events and bytes out.

The driver feeds it with ``receive``, acts on ``take_events``, and writes what ``take_output``
returns. It holds what its own side has to send until the peer takes it, so whoever sends must wait
for ``Drained`` before it sends more. What the peer sends is handed out at once, and only as much of
it comes as has been granted. Server push, priorities and CONNECT are left out.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from dragoman.bindings.http2 import frames
from dragoman.bindings.http2.budgets import CHATTER, RESETS, Budget
from dragoman.bindings.http2.errors import ConnectionFailedError, ErrorCode, StreamFailedError
from dragoman.bindings.http2.frames import (
    ACK,
    CONTINUATION,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    MAX_FRAME_BYTES,
    MAX_WINDOW,
    PREFACE,
    Frame,
    FrameReader,
)
from dragoman.bindings.http2.hpack import Decoder, TooManyHeadersError
from dragoman.bindings.http2.requests import Head, MalformedError, check_trailers, read_head
from dragoman.bindings.http2.streams import Stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dragoman.bindings.http2.hpack import Headers

__all__ = (
    "ROOM",
    "Connection",
    "DataReceived",
    "Drained",
    "Event",
    "RequestReceived",
    "StreamEnded",
    "TooManyHeaders",
)

MAX_STREAMS: Final = 1000
"""Calls at once on one connection. gRPC itself has no limit; common servers have 100 to 1000."""

MAX_HEADER_LIST_BYTES: Final = 16_384
"""What gRPC's own servers take, and twice what HTTP/1.1 servers commonly do."""

MAX_HEADER_BLOCK_BYTES: Final = 2 * MAX_HEADER_LIST_BYTES
"""Compressed, headers are shorter; longer than this they are beyond the limit, however spelled."""

MAX_CONTINUATIONS: Final = 8
"""Frames of one header block after its first (CVE-2024-27316)."""

CONNECTION_WINDOW: Final = 1_048_576
"""What all streams may send at once. Each stream is held by a window of its own."""

ROOM: Final = 65_536
"""How much DATA is made ready for one write."""

_GOAWAY_BYTES: Final = 8
_OF_CONNECTION: Final = frozenset({frames.SETTINGS, frames.PING, frames.GOAWAY})
_KEPT_HEADS: Final = 64
_KEPT_CUTS: Final = 1000
_EARNED: Final = 3
"""Frames that one DATA frame may be answered with: a window for the stream, one for the connection,
and a ping to measure the way."""


class RequestReceived(Struct, frozen=True, gc=False):
    """A request begins; ``ends`` if it has no body."""

    stream: int
    head: Head
    ends: bool


class TooManyHeaders(Struct, frozen=True, gc=False):
    """A request begins with more headers than are taken. It is to be refused."""

    stream: int


class DataReceived(Struct, frozen=True, gc=False):
    """A piece of a body; ``ends`` if it is the last. The window shrinks until more is granted."""

    stream: int
    data: bytes
    ends: bool


class StreamEnded(Struct, frozen=True, gc=False):
    """A stream is over before its time: given up by the peer, or broken by it."""

    stream: int
    code: int


class Drained(Struct, frozen=True, gc=False):
    """All that was sent on a stream has gone out; more may be sent."""

    stream: int


Event: TypeAlias = RequestReceived | TooManyHeaders | DataReceived | StreamEnded | Drained


class _Block:
    """A header block that is not complete yet."""

    __slots__ = ("ends", "pieces", "size", "stream")

    def __init__(self, stream: int, piece: bytes, *, ends: bool) -> None:
        self.stream = stream
        self.ends = ends
        self.pieces = [piece]
        self.size = len(piece)


class Connection:
    """A connection from its preface to its end.

    Attributes:
        room: how much DATA may be made ready until the next ``take_output``; 0 while the driver
            cannot write.
        failure: why it has ended, if it has; then nothing more is read.
    """

    def __init__(self) -> None:
        """Begin; the first output is our settings."""
        self.room = ROOM
        self.failure: ConnectionFailedError | None = None
        self._preface = PREFACE
        self._reader = FrameReader()
        self._decoder = Decoder(MAX_HEADER_LIST_BYTES)
        self._heads: dict[bytes, Head] = {}
        self._revision = 0
        self._streams: dict[int, Stream] = {}
        self._waiting: dict[int, Stream] = {}
        self._cut: deque[int] = deque(maxlen=_KEPT_CUTS)
        self._last = 0
        self._block: _Block | None = None
        self._window = self._first_window = DEFAULT_WINDOW
        self._granted = CONNECTION_WINDOW
        self._has_settings = self._is_draining = False
        self._chatter = Budget(*CHATTER)
        self._resets = Budget(*RESETS)
        self._now = 0.0
        self._handlers: Final[Mapping[int, Callable[[Frame], None]]] = {
            frames.DATA: self._take_data,
            frames.HEADERS: self._take_headers,
            frames.PRIORITY: self._take_priority,
            frames.RST_STREAM: self._take_reset,
            frames.SETTINGS: self._take_settings,
            frames.PUSH_PROMISE: self._take_push,
            frames.PING: self._take_ping,
            frames.GOAWAY: self._take_goaway,
            frames.WINDOW_UPDATE: self._take_window,
            CONTINUATION: self._take_continuation,
        }
        self._events: list[Event] = []
        self._output: list[bytes] = [
            frames.settings(
                (
                    (frames.MAX_CONCURRENT_STREAMS, MAX_STREAMS),
                    (frames.MAX_HEADER_LIST_SIZE, MAX_HEADER_LIST_BYTES),
                )
            ),
            frames.window_update(0, CONNECTION_WINDOW - DEFAULT_WINDOW),
        ]

    # --- for the driver -------------------------------------------------------------------------

    def receive(self, data: bytes, now: float) -> None:
        """Take bytes from the peer; ``now`` is in seconds of any clock that does not jump.

        Never raises: what breaks the rules ends a stream, or sets ``failure``.
        """
        if self.failure is not None:
            return
        self._now = now
        try:
            if self._preface:
                data = self._greet(data)
            for frame in self._reader.read(data):
                try:
                    self._take(frame)
                except StreamFailedError as problem:
                    self._resets.spend(now)
                    self._fail_stream(problem)
        except ConnectionFailedError as problem:
            self.failure = problem
            self._output.append(frames.goaway(self._last, problem.code, problem.reason))

    def take_events(self) -> list[Event]:
        """Return what has happened since the last time."""
        events, self._events = self._events, []
        return events

    def take_output(self) -> bytes:
        """Return what is to be written now; as long as there is some, there may be more."""
        self._pump()
        output, self._output = self._output, []
        return b"".join(output)

    @property
    def held_bytes(self) -> int:
        """Count what is ready to be written."""
        return sum(map(len, self._output))

    @property
    def open_streams(self) -> int:
        """Count the streams that are not over."""
        return len(self._streams)

    def granted(self, number: int) -> int:
        """Return how many bytes the peer may still send on a stream."""
        stream = self._streams.get(number)
        return stream.granted if stream is not None else 0

    def progress(self) -> Mapping[int, int]:
        """Return how much has been sent of each stream that has something left to send."""
        return {number: stream.taken for number, stream in self._waiting.items()}

    # --- sending --------------------------------------------------------------------------------
    # What is sent on a stream that is over goes nowhere: its user may not know yet.

    def send_headers(self, number: int, block: bytes, *, ends: bool = False) -> None:
        """Send headers before a body, or, if they end the stream, behind it."""
        stream = self._streams.get(number)
        if stream is None:
            return
        if not ends:
            self._output.append(frames.headers(number, block, ends=False))
            return
        stream.trailers = block
        if not stream.waiting:
            self._send_trailers(stream)

    def send_data(self, number: int, data: bytes) -> bool:
        """Send a piece of a body; tell whether more may be sent without waiting."""
        stream = self._streams.get(number)
        if stream is None or not data:
            return True
        size = len(data)
        if (
            size <= MAX_FRAME_BYTES
            and size <= stream.window
            and size <= self._window
            and size <= self.room
            and not stream.waiting
        ):
            stream.count(size)
            self._emit(number, data)
            return True
        stream.put(data)
        self._waiting[number] = stream
        self._pump()
        return not stream.waiting

    def send_end(self, number: int) -> None:
        """End a body that has no trailers."""
        stream = self._streams.get(number)
        if stream is None:
            return
        stream.trailers = b""
        if not stream.waiting:
            self._send_trailers(stream)

    def reset(self, number: int, code: ErrorCode) -> None:
        """End a stream at once."""
        if number in self._streams:
            self._output.append(frames.reset(number, code))
            self._forget(number, is_cut=True)

    def grant(self, number: int, size: int) -> None:
        """Let the peer send so many bytes more of a body."""
        stream = self._streams.get(number)
        if stream is not None and not stream.has_heard_all and size > 0:
            stream.granted += size
            self._output.append(frames.window_update(number, size))

    def ping(self) -> None:
        """Ask the peer for a sign of life."""
        self._output.append(frames.write_frame(frames.PING, 0, 0, b"dragoman"))

    def drain(self) -> None:
        """Take no more streams; those that are open go on (6.8)."""
        if not self._is_draining:
            self._is_draining = True
            self._output.append(frames.goaway(MAX_WINDOW, ErrorCode.NO_ERROR))

    def close(self) -> None:
        """Say which stream was the last. The driver closes the connection after that."""
        if self.failure is None:
            self._is_draining = True
            self._output.append(frames.goaway(self._last, ErrorCode.NO_ERROR))

    # --- what comes in --------------------------------------------------------------------------

    def _greet(self, data: bytes) -> bytes:
        """Check the preface, or as much as has come of it; return what follows."""
        count = min(len(self._preface), len(data))
        if data[:count] != self._preface[:count]:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "This is not HTTP/2")
        self._preface = self._preface[count:]
        return data[count:]

    def _take(self, frame: Frame) -> None:
        kind = frame.kind
        if self._block is not None and kind != CONTINUATION:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A header block is interrupted")
        if not self._has_settings:
            # 3.4
            if kind != frames.SETTINGS or frame.flags & ACK:
                raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "Settings are missing")
            self._has_settings = True
        handle = self._handlers.get(kind)
        if handle is None:
            self._chatter.spend(self._now)  # 5.5: what is unknown is ignored.
        elif (kind in _OF_CONNECTION) is (frame.stream != 0) and kind != frames.WINDOW_UPDATE:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A frame is on a wrong stream")
        else:
            handle(frame)

    def _take_data(self, frame: Frame) -> None:
        flow_size = len(frame.payload)
        data = frames.data_of(frame)
        ends = bool(frame.flags & END_STREAM)
        self._granted -= flow_size
        if self._granted < 0:
            raise ConnectionFailedError(ErrorCode.FLOW_CONTROL_ERROR, "More than the window holds")
        if self._granted < CONNECTION_WINDOW // 2:
            self._output.append(frames.window_update(0, CONNECTION_WINDOW - self._granted))
            self._granted = CONNECTION_WINDOW
        stream = self._streams.get(frame.stream)
        if stream is None:
            self._ignore_late(frame)
            return
        if not data and not ends:
            self._chatter.spend(self._now)  # CVE-2019-9518
        stream.hear(len(data), flow_size, ends=ends)
        if flow_size > len(data):
            self.grant(frame.stream, flow_size - len(data))
        self._events.append(DataReceived(frame.stream, data, ends))

    def _take_headers(self, frame: Frame) -> None:
        piece = frames.header_block_of(frame)
        ends = bool(frame.flags & END_STREAM)
        if frame.flags & END_HEADERS:
            self._take_block(frame.stream, piece, ends=ends)
        else:
            self._block = _Block(frame.stream, piece, ends=ends)

    def _take_continuation(self, frame: Frame) -> None:
        block = self._block
        if block is None or block.stream != frame.stream:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A continuation of nothing")
        block.pieces.append(frame.payload)
        block.size += len(frame.payload)
        if block.size > MAX_HEADER_BLOCK_BYTES or len(block.pieces) > MAX_CONTINUATIONS + 1:
            # Unread, the two sides do not remember the same any more.
            raise ConnectionFailedError(ErrorCode.ENHANCE_YOUR_CALM, "A header block is too long")
        if frame.flags & END_HEADERS:
            self._block = None
            self._take_block(block.stream, b"".join(block.pieces), ends=block.ends)

    def _take_block(self, number: int, block: bytes, *, ends: bool) -> None:
        if number <= self._last:
            self._take_trailers(number, block, ends=ends)
            return
        if number % 2 == 0:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "Clients have odd streams")
        self._last = number
        try:
            head = self._head(number, block)
        except TooManyHeadersError:
            head = None
        if self._is_draining or len(self._streams) >= MAX_STREAMS:
            raise StreamFailedError(number, ErrorCode.REFUSED_STREAM, "Too many streams")
        stream = Stream(number, self._first_window, head.length if head else None)
        self._streams[number] = stream
        if ends:
            stream.hear(0, 0, ends=True)
        if head is None:
            self._events.append(TooManyHeaders(number))
        else:
            self._events.append(RequestReceived(number, head, ends))

    def _head(self, number: int, block: bytes) -> Head:
        """Read the head of a request. Most are like one before, and then cost nothing."""
        if self._revision == self._decoder.revision and block in self._heads:
            return self._heads[block]
        headers: Headers = self._decoder.decode(block)
        try:
            head = read_head(headers)
        except MalformedError as problem:
            raise StreamFailedError(number, ErrorCode.PROTOCOL_ERROR, str(problem)) from None
        if self._revision != self._decoder.revision:
            # This block has changed what blocks mean, this one too.
            self._revision = self._decoder.revision
            self._heads.clear()
        elif len(self._heads) < _KEPT_HEADS:
            self._heads[block] = head
        return head

    def _take_trailers(self, number: int, block: bytes, *, ends: bool) -> None:
        # Read in any case: it may change what later blocks mean.
        try:
            headers = self._decoder.decode(block)
        except TooManyHeadersError:
            headers = ()
        stream = self._streams.get(number)
        if stream is None:
            self._check_cut(number)
            return
        if not ends:
            raise StreamFailedError(number, ErrorCode.PROTOCOL_ERROR, "Headers within a body")
        try:
            check_trailers(headers)
        except MalformedError as problem:
            raise StreamFailedError(number, ErrorCode.PROTOCOL_ERROR, str(problem)) from None
        stream.hear(0, 0, ends=True)
        self._events.append(DataReceived(number, b"", ends=True))

    def _take_priority(self, frame: Frame) -> None:
        del frame
        self._chatter.spend(self._now)

    def _take_reset(self, frame: Frame) -> None:
        self._check_begun(frame.stream)
        if frame.stream not in self._streams:
            self._chatter.spend(self._now)
            return
        self._resets.spend(self._now)
        self._forget(frame.stream)
        self._events.append(StreamEnded(frame.stream, frames.increment_of(frame.payload)))

    def _take_settings(self, frame: Frame) -> None:
        self._chatter.spend(self._now)
        if frame.flags & ACK:
            if frame.payload:
                raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "An ACK has settings")
            return
        for name, value in frames.settings_of(frame.payload):
            if name == frames.INITIAL_WINDOW_SIZE:
                self._shift_windows(value - self._first_window)
                self._first_window = value
        self._output.append(frames.write_frame(frames.SETTINGS, ACK, 0))

    def _shift_windows(self, change: int) -> None:
        """Change the windows of all streams, open ones too; they may fall below zero (6.9.2)."""
        for stream in self._streams.values():
            stream.window += change
            if stream.window > MAX_WINDOW:
                raise ConnectionFailedError(ErrorCode.FLOW_CONTROL_ERROR, "A window is too large")

    def _take_ping(self, frame: Frame) -> None:
        self._chatter.spend(self._now)
        if not frame.flags & ACK:
            self._output.append(frames.write_frame(frames.PING, ACK, 0, frame.payload))

    def _take_goaway(self, frame: Frame) -> None:
        """Ignore it: the peer opens no more streams, and what it began goes on."""
        if len(frame.payload) < _GOAWAY_BYTES:
            raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY is too short")
        self._chatter.spend(self._now)

    def _take_window(self, frame: Frame) -> None:
        self._chatter.spend(self._now)
        increment = frames.increment_of(frame.payload)
        if frame.stream:
            self._check_begun(frame.stream)
            stream = self._streams.get(frame.stream)
            if stream is not None:
                stream.widen(increment)
            return
        if increment == 0:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A window grows by nothing")
        self._window += increment
        if self._window > MAX_WINDOW:
            raise ConnectionFailedError(ErrorCode.FLOW_CONTROL_ERROR, "A window is too large")

    def _take_push(self, frame: Frame) -> None:
        del frame
        raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "Clients push nothing")

    # --- streams --------------------------------------------------------------------------------

    def _check_begun(self, number: int) -> None:
        if number > self._last:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A stream has not begun")

    def _ignore_late(self, frame: Frame) -> None:
        """Ignore what was under way when a stream was cut; more than that is an error (5.1)."""
        self._check_begun(frame.stream)
        self._check_cut(frame.stream)

    def _check_cut(self, number: int) -> None:
        self._chatter.spend(self._now)
        if number not in self._cut:
            raise ConnectionFailedError(ErrorCode.STREAM_CLOSED, "A stream has ended")

    def _fail_stream(self, problem: StreamFailedError) -> None:
        number = problem.stream
        self._output.append(frames.reset(number, problem.code))
        if number in self._streams:
            self._events.append(StreamEnded(number, problem.code))
        self._forget(number, is_cut=True)

    def _forget(self, number: int, *, is_cut: bool = False) -> None:
        self._streams.pop(number, None)
        self._waiting.pop(number, None)
        if is_cut:
            self._cut.append(number)

    # --- what goes out --------------------------------------------------------------------------

    def _emit(self, number: int, data: bytes) -> None:
        size = len(data)
        self._window -= size
        self.room -= size
        self._output.append(frames.write_frame(frames.DATA, 0, number, data))
        self._chatter.earn(_EARNED)

    def _pump(self) -> None:
        """Send what waits, a frame of each stream in turn, while windows and room last."""
        while self._waiting and self.room > 0 and self._window > 0:
            ready = [stream for stream in self._waiting.values() if stream.window > 0]
            if not ready:
                return
            for stream in self._affordable(ready):
                limit = min(MAX_FRAME_BYTES, stream.window, self._window, self.room)
                self._emit(stream.number, stream.pull(limit))
                if not stream.waiting:
                    self._drained(stream)

    def _affordable(self, ready: list[Stream]) -> Iterator[Stream]:
        """Yield streams while anything may be sent, and put each at the end of the line."""
        for stream in ready:
            if self.room <= 0 or self._window <= 0:
                return
            self._waiting[stream.number] = self._waiting.pop(stream.number)
            yield stream

    def _drained(self, stream: Stream) -> None:
        del self._waiting[stream.number]
        if stream.trailers is None:
            self._events.append(Drained(stream.number))
        else:
            self._send_trailers(stream)

    def _send_trailers(self, stream: Stream) -> None:
        number, block = stream.number, stream.trailers
        if block:
            self._output.append(frames.headers(number, block, ends=True))
        else:
            self._output.append(frames.write_frame(frames.DATA, END_STREAM, number))
        if not stream.has_heard_all:
            # 8.1: the rest of the request is of no use.
            self._output.append(frames.reset(number, ErrorCode.NO_ERROR))
        self._forget(number, is_cut=not stream.has_heard_all)
