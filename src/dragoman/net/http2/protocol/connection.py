"""The server's side of an HTTP/2 connection (RFC 9113): bytes in, events and bytes out.

The driver feeds it with ``receive``, acts on ``take_events``, and writes what ``take_output``
returns. It holds what its own side has to send until the peer takes it, so whoever sends must wait
for ``Drained`` before it sends more. What the peer sends is handed out at once, and only as much of
it comes as has been granted.

To be read in this order: ``frames`` and ``payloads`` (bytes), ``hpack`` (headers), ``streams`` and
``stream_table`` (who may say what), ``receiving`` and ``sending`` (the two directions), and this.
Server push, priorities, extended CONNECT and the upgrade from HTTP/1.1 are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.net.http2.protocol import frames, payloads
from dragoman.net.http2.protocol.budgets import CHATTER, Budget
from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.events import Drained
from dragoman.net.http2.protocol.frames import DEFAULT_WINDOW, MAX_WINDOW
from dragoman.net.http2.protocol.header_blocks import MAX_HEADER_LIST_BYTES
from dragoman.net.http2.protocol.receiving import CONNECTION_WINDOW, LAST_PING, Receiver
from dragoman.net.http2.protocol.sending import Sender
from dragoman.net.http2.protocol.stream_table import MAX_STREAMS, StreamTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.net.http2.protocol.events import Event
    from dragoman.net.http2.protocol.streams import Stream

__all__ = ("Connection",)


class Connection:
    """A connection from its preface to its end.

    Args:
        max_header_bytes: how long the headers of one request may be, as 6.5.2 counts them.

    Attributes:
        failure: why it has ended, if it has; then nothing more is read.
    """

    def __init__(self, max_header_bytes: int = MAX_HEADER_LIST_BYTES) -> None:
        """Begin; the first output is our settings."""
        self.failure: ConnectionFailedError | None = None
        self._events: list[Event] = []
        self._is_draining = False
        self._streams = StreamTable()
        chatter = Budget(*CHATTER)
        self._sender = Sender(chatter, on_drained=self._drained, on_ended=self._ended)
        self._receiver = Receiver(
            self._streams, self._sender, chatter, self._tell, max_header_bytes
        )
        self._sender.add(
            payloads.settings(
                (
                    (frames.MAX_CONCURRENT_STREAMS, MAX_STREAMS),
                    (frames.MAX_HEADER_LIST_SIZE, max_header_bytes),
                )
            )
        )
        self._sender.add(payloads.window_update(0, CONNECTION_WINDOW - DEFAULT_WINDOW))

    # --- for the driver -------------------------------------------------------------------------

    def receive(self, data: bytes, now: float) -> None:
        """Take bytes from the peer; ``now`` is in seconds of any clock that does not jump.

        Never raises: what breaks the rules ends a stream, or sets ``failure``.
        """
        if self.failure is not None:
            return
        try:
            self._receiver.receive(data, now)
        except ConnectionFailedError as problem:
            self.fail(problem)

    def take_events(self) -> list[Event]:
        """Return what has happened since the last time."""
        events, self._events = self._events, []
        return events

    def take_output(self) -> bytes:
        """Return what is to be written now; as long as there is some, there may be more."""
        return self._sender.take()

    @property
    def room(self) -> int:
        """How much DATA may be made ready until the next ``take_output``.

        The driver sets it again after each, to 0 while it cannot write.
        """
        return self._sender.room

    @room.setter
    def room(self, size: int) -> None:
        """Let so much be made ready."""
        self._sender.room = size

    @property
    def has_greeted(self) -> bool:
        """Tell whether the peer has begun to speak HTTP/2."""
        return self._receiver.has_greeted

    @property
    def amid_head_since(self) -> float | None:
        """When the peer began a head that it has not ended; see ``Receiver``."""
        return self._receiver.amid_head_since

    @property
    def last_stream(self) -> int:
        """The highest number of a stream that has begun; it grows with every one."""
        return self._streams.last

    @property
    def has_told_last(self) -> bool:
        """Tell whether the peer has been told that no more streams are taken."""
        return self._streams.is_closed

    @property
    def held_bytes(self) -> int:
        """Count what is ready to be written."""
        return self._sender.held_bytes

    @property
    def waiting_bytes(self) -> int:
        """Count what waits for the peer to make room for it."""
        return self._sender.waiting_bytes

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
        return self._sender.progress()

    # --- sending --------------------------------------------------------------------------------
    # What is sent on a stream that is over goes nowhere: its user may not know yet.

    def send_headers(self, number: int, block: bytes, *, ends: bool = False) -> None:
        """Send headers before a body, or, if they end the stream, behind it."""
        stream = self._streams.get(number)
        if stream is None:
            return
        stream.is_answered = True
        if ends:
            self._sender.end(stream, block)
        else:
            self._sender.add(payloads.headers(number, block, ends=False))

    def send_data(self, number: int, data: bytes) -> bool:
        """Send a piece of a body; tell whether more may be sent without waiting."""
        stream = self._streams.get(number)
        if stream is None or not data:
            return True
        return self._sender.put(stream, data)

    def send_end(self, number: int) -> None:
        """End a body that has no trailers."""
        stream = self._streams.get(number)
        if stream is not None:
            self._sender.end(stream, b"")

    def reset(self, number: int, code: ErrorCode) -> None:
        """End a stream at once."""
        stream = self._streams.get(number)
        if stream is not None:
            self._sender.drop(stream)
            self._sender.add(payloads.reset(number, code))
            self._streams.forget(number, is_cut=True)

    def grant(self, number: int, size: int) -> None:
        """Let the peer send so many bytes more of a body."""
        stream = self._streams.get(number)
        if stream is not None and not stream.has_heard_all and size > 0:
            self._receiver.grant(stream, size)

    def ping(self) -> None:
        """Ask the peer for a sign of life."""
        self._sender.add(frames.write_frame(frames.PING, 0, 0, b"dragoman"))

    def drain(self) -> None:
        """Ask the peer to open no more streams; ``LastStreamTold`` follows when none can come.

        6.8: streams that were under way are served. When the peer has answered a ping it knows, and
        is told the last of them.
        """
        if not self._is_draining and self.failure is None:
            self._is_draining = True
            self._sender.add(payloads.goaway(MAX_WINDOW, ErrorCode.NO_ERROR))
            self._sender.add(frames.write_frame(frames.PING, 0, 0, LAST_PING))

    def fail(self, problem: ConnectionFailedError) -> None:
        """End for a reason, and tell it; what was to be sent is dropped."""
        self.failure = problem
        self._sender.drop_all()
        self._sender.add(payloads.goaway(self._streams.last, problem.code, problem.reason))

    def close(self) -> None:
        """Say which stream was the last. The driver closes the connection after that."""
        if self.failure is None:
            self._streams.is_closed = True
            self._sender.add(payloads.goaway(self._streams.last, ErrorCode.NO_ERROR))

    # --- from the two directions ----------------------------------------------------------------

    def _tell(self, event: Event) -> None:
        self._events.append(event)

    def _drained(self, stream: Stream) -> None:
        self._events.append(Drained(stream.number))

    def _ended(self, stream: Stream) -> None:
        """Let go of a stream on which all has been said."""
        self._receiver.resets.earn(1)
        if not stream.has_heard_all:
            # 8.1: the rest of the request is of no use.
            self._sender.add(payloads.reset(stream.number, ErrorCode.NO_ERROR))
        self._streams.forget(stream.number, is_cut=not stream.has_heard_all)
