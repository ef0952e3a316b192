"""What comes in: each kind of frame, when it may come, and what follows from it (RFC 9113, 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.budgets import RESETS, Budget
from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode, StreamFailedError
from dragoman.net.http2.protocol.events import (
    DataReceived,
    LastStreamTold,
    RequestReceived,
    StreamEnded,
    TooManyHeaders,
)
from dragoman.net.http2.protocol.frames import ACK, END_STREAM, PREFACE, Frame, FrameReader
from dragoman.net.http2.protocol.header_blocks import HeaderBlocks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dragoman.net.http2.protocol.events import Event
    from dragoman.net.http2.protocol.header_blocks import Block
    from dragoman.net.http2.protocol.sending import Sender
    from dragoman.net.http2.protocol.stream_table import StreamTable
    from dragoman.net.http2.protocol.streams import Stream

__all__ = ("CONNECTION_WINDOW", "LAST_PING", "Receiver")

CONNECTION_WINDOW: Final = 1_048_576
"""What all streams may send at once. Each stream is held by a window of its own, so this one is
filled again as soon as it is half used: streams that wait do not hold up others."""

LAST_PING: Final = b"goodbye\0"
"""Sent when a connection begins to drain: what comes before its answer was under way."""

_OF_CONNECTION: Final = frozenset({frames.SETTINGS, frames.PING, frames.GOAWAY})

_OF_HEADS: Final = frozenset({frames.HEADERS, frames.CONTINUATION})


class Receiver:
    """Reads what the peer sends, and acts on it.

    Args:
        chatter: is spent by frames that move nothing.
        tell: takes what the driver has to know.
        max_header_bytes: how long the headers of one request may be.

    Attributes:
        has_greeted: whether the peer has begun as every peer must.
        amid_head_since: when the peer began what it must send at once and has not ended: a header
            block, or a frame of any kind but DATA. None if it owes nothing of that kind.
        granted: how many bytes the peer may still send on all streams together.
        resets: the budget for calls that the peer ends before they are answered.
    """

    def __init__(
        self,
        streams: StreamTable,
        sender: Sender,
        chatter: Budget,
        tell: Callable[[Event], None],
        max_header_bytes: int,
    ) -> None:
        """Begin with the preface."""
        self.has_greeted: bool = False
        self.amid_head_since: float | None = None
        self.resets: Final = Budget(*RESETS)
        self._streams = streams
        self._sender = sender
        self._chatter = chatter
        self._tell = tell
        self._preface = PREFACE
        self._reader = FrameReader()
        self._blocks = HeaderBlocks(max_header_bytes)
        self.granted: int = CONNECTION_WINDOW
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
            frames.CONTINUATION: self._take_continuation,
        }

    def receive(self, data: bytes, now: float) -> None:
        """Act on bytes from the peer. What breaks one stream ends that stream.

        Raises:
            ConnectionFailedError: nothing more can be understood, or the peer asks too much.
        """
        self._now = now
        if self._preface:
            data = self._greet(data)
        for frame in self._reader.read(data):
            try:
                self._take(frame)
            except StreamFailedError as problem:
                self._fail_stream(problem)
        if not self._is_amid_head():
            self.amid_head_since = None
        elif self.amid_head_since is None:
            self.amid_head_since = now

    def _is_amid_head(self) -> bool:
        reader = self._reader
        return self._blocks.is_open or not (reader.is_between or reader.is_amid_data)

    def _greet(self, data: bytes) -> bytes:
        """Check the preface, or as much as has come of it; return what follows."""
        count = min(len(self._preface), len(data))
        if data[:count] != self._preface[:count]:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "This is not HTTP/2")
        self._preface = self._preface[count:]
        return data[count:]

    def _take(self, frame: Frame) -> None:
        kind = frame.kind
        if self._blocks.is_open and kind != frames.CONTINUATION:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A header block is interrupted")
        if not self.has_greeted:
            # 3.4
            if kind != frames.SETTINGS or frame.flags & ACK:
                raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "Settings are missing")
            self.has_greeted = True
        if kind not in _OF_HEADS:
            self.amid_head_since = None  # This one has ended; what follows it has its own time.
        handle = self._handlers.get(kind)
        if handle is None:
            self._chatter.spend(self._now)  # 5.5: what is unknown is ignored.
        elif (kind in _OF_CONNECTION) is (frame.stream != 0) and kind != frames.WINDOW_UPDATE:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A frame is on a wrong stream")
        else:
            handle(frame)

    # --- requests -------------------------------------------------------------------------------

    def _take_headers(self, frame: Frame) -> None:
        block = self._blocks.begin(frame)
        if block is not None:
            self._take_block(block)

    def _take_continuation(self, frame: Frame) -> None:
        block = self._blocks.go_on(frame)
        if block is not None:
            self._take_block(block)

    def _take_block(self, block: Block) -> None:
        self.amid_head_since = None
        number = block.stream
        if number <= self._streams.last:
            self._take_trailers(block)
            return
        self._streams.claim(number)
        head = self._blocks.read_head(block)
        stream = self._streams.open(number, head.length if head else None)
        if block.ends:
            stream.hear(0, 0, ends=True)
        if head is None:
            self._tell(TooManyHeaders(number))
        else:
            self._tell(RequestReceived(number, head, block.ends))

    def _take_trailers(self, block: Block) -> None:
        stream = self._streams.get(block.stream)
        if stream is None:
            self._blocks.skip(block)
            self._ignore_late(block.stream)
            return
        self._blocks.read_trailers(stream, block)
        stream.hear(0, 0, ends=True)
        self._tell(DataReceived(block.stream, b"", ends=True))

    def _take_data(self, frame: Frame) -> None:
        flow_size = len(frame.payload)
        data = payloads.data_of(frame)
        ends = bool(frame.flags & END_STREAM)
        self._take_from_window(flow_size)
        stream = self._streams.get(frame.stream)
        if stream is None:
            self._ignore_late(frame.stream)
            return
        if not data and not ends:
            self._chatter.spend(self._now)  # CVE-2019-9518
        stream.hear(len(data), flow_size, ends=ends)
        if flow_size > len(data) and not ends:
            self.grant(stream, flow_size - len(data))  # 6.1: padding fills the window, too.
        self._tell(DataReceived(frame.stream, data, ends))

    def _take_from_window(self, size: int) -> None:
        self.granted -= size
        if self.granted < 0:
            raise ConnectionFailedError(ErrorCode.FLOW_CONTROL_ERROR, "More than the window holds")
        if self.granted < CONNECTION_WINDOW // 2:
            self._sender.add(payloads.window_update(0, CONNECTION_WINDOW - self.granted))
            self.granted = CONNECTION_WINDOW

    def grant(self, stream: Stream, size: int) -> None:
        """Let the peer send so many bytes more of a body."""
        stream.granted += size
        self._sender.add(payloads.window_update(stream.number, size))

    # --- streams --------------------------------------------------------------------------------

    def _take_reset(self, frame: Frame) -> None:
        self._streams.check_begun(frame.stream)
        stream = self._streams.get(frame.stream)
        if stream is None or stream.is_answered:
            self._chatter.spend(self._now)
        else:
            self.resets.spend(self._now)
        if stream is not None:
            self._forget(stream)
            self._tell(StreamEnded(frame.stream, payloads.number_of(frame.payload)))

    def _take_window(self, frame: Frame) -> None:
        self._chatter.spend(self._now)
        increment = payloads.number_of(frame.payload) & frames.MAX_WINDOW
        if not frame.stream:
            self._sender.widen(increment)
            return
        self._streams.check_begun(frame.stream)
        stream = self._streams.get(frame.stream)
        if stream is not None:
            stream.widen(increment)

    def _take_priority(self, frame: Frame) -> None:
        payloads.check_priority(frame.stream, frame.payload)
        self._chatter.spend(self._now)

    def _take_push(self, frame: Frame) -> None:
        del frame
        raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "Clients push nothing")  # 8.4

    def _ignore_late(self, number: int) -> None:
        """Ignore what was under way when a stream was cut; more than that is an error (5.1)."""
        self._streams.check_begun(number)
        self._streams.check_cut(number)
        self._chatter.spend(self._now)

    def _fail_stream(self, problem: StreamFailedError) -> None:
        # A stream that is refused costs nothing. One that is made to fail is as good as given up
        # (CVE-2025-8671).
        is_refused = problem.code == ErrorCode.REFUSED_STREAM
        (self._chatter if is_refused else self.resets).spend(self._now)
        number = problem.stream
        self._sender.add(payloads.reset(number, problem.code))
        stream = self._streams.get(number)
        if stream is None:
            self._streams.forget(number, is_cut=True)
        else:
            self._forget(stream, is_cut=True)
            self._tell(StreamEnded(number, problem.code))

    def _forget(self, stream: Stream, *, is_cut: bool = False) -> None:
        self._sender.drop(stream)
        self._streams.forget(stream.number, is_cut=is_cut)

    # --- the connection -------------------------------------------------------------------------

    def _take_settings(self, frame: Frame) -> None:
        self._chatter.spend(self._now)
        if frame.flags & ACK:
            if frame.payload:
                raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "An ACK has settings")
            return
        # The last of each name counts. The others (how large our frames and header tables may be)
        # allow more than we ever use.
        settings = dict(payloads.settings_of(frame.payload))
        if frames.INITIAL_WINDOW_SIZE in settings:
            self._streams.set_first_window(settings[frames.INITIAL_WINDOW_SIZE])
        self._sender.add(frames.write_frame(frames.SETTINGS, ACK, 0))

    def _take_ping(self, frame: Frame) -> None:
        self._chatter.spend(self._now)
        if not frame.flags & ACK:
            self._sender.add(frames.write_frame(frames.PING, ACK, 0, frame.payload))
        elif frame.payload == LAST_PING and not self._streams.is_closed:
            self._streams.is_closed = True
            self._sender.add(payloads.goaway(self._streams.last, ErrorCode.NO_ERROR))
            self._tell(LastStreamTold())

    def _take_goaway(self, frame: Frame) -> None:
        """Ignore it: the peer opens no more streams, and what it began goes on."""
        payloads.check_goaway(frame.payload)
        self._chatter.spend(self._now)
