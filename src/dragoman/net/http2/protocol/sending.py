"""What goes out: frames that go at once, and bodies that wait for their windows (RFC 9113, 5.2).

Bodies are cut into frames when they can be written and not before, a frame of each stream in turn,
so that a reader who takes nothing holds up nobody else and costs no more than what it was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.net.http2.protocol import payloads
from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.frames import (
    DATA,
    DEFAULT_WINDOW,
    END_STREAM,
    MAX_FRAME_BYTES,
    MAX_WINDOW,
    write_frame,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from dragoman.net.http2.protocol.budgets import Budget
    from dragoman.net.http2.protocol.streams import Stream

__all__ = ("ROOM", "Sender")

ROOM: Final = 65_536
"""How much DATA is made ready for one write."""

_EARNED: Final = 3
"""Frames that one DATA frame may be answered with: a window for the stream, one for the connection,
and a ping to measure the way. The end of a stream may be followed by a late reset, window or ping.
"""


class Sender:
    """All that is to be sent on one connection.

    Args:
        chatter: the budget of the peer, which has reason to answer what it is sent.
        on_drained: called when nothing of a stream waits any more.
        on_ended: called when all of a stream has been sent, its end, too.

    Attributes:
        room: how much DATA may be made ready until the next ``take``; 0 while nobody can write.
        waiting_bytes: how much of all bodies waits for windows or room.
    """

    __slots__ = (
        "_chatter",
        "_frames",
        "_on_drained",
        "_on_ended",
        "_waiting",
        "_window",
        "room",
        "waiting_bytes",
    )

    def __init__(
        self,
        chatter: Budget,
        *,
        on_drained: Callable[[Stream], None],
        on_ended: Callable[[Stream], None],
    ) -> None:
        """Begin with nothing."""
        self.room: int = ROOM
        self.waiting_bytes: int = 0
        self._chatter = chatter
        self._on_drained = on_drained
        self._on_ended = on_ended
        self._frames: list[bytes] = []
        self._waiting: dict[int, Stream] = {}
        self._window = DEFAULT_WINDOW

    @property
    def held_bytes(self) -> int:
        """Count what is ready to be written."""
        return sum(map(len, self._frames))

    def progress(self) -> Mapping[int, int]:
        """Return how much has been sent of each stream that has something left to send."""
        return {number: stream.taken for number, stream in self._waiting.items()}

    def take(self) -> bytes:
        """Return what is to be written now."""
        if self._waiting:
            self._pump()
        frames, self._frames = self._frames, []
        return b"".join(frames)

    def add(self, frame: bytes) -> None:
        """Send a frame that needs no window."""
        self._frames.append(frame)

    def put(self, stream: Stream, data: bytes) -> bool:
        """Send a piece of a body; tell whether none of it waits."""
        size = len(data)
        if (
            size <= MAX_FRAME_BYTES
            and size <= stream.window
            and size <= self._window
            and size <= self.room
            and not stream.waiting
        ):
            stream.count(size)
            self._emit(stream.number, data)
            return True
        stream.put(data)
        self.waiting_bytes += size
        self._waiting[stream.number] = stream
        self._pump()
        return not stream.waiting

    def end(self, stream: Stream, trailers: bytes) -> None:
        """End a body when all of it is sent, with trailers or, if they are empty, without."""
        stream.trailers = trailers
        if not stream.waiting:
            self._finish(stream)

    def drop(self, stream: Stream) -> None:
        """Send nothing more of a stream."""
        if self._waiting.pop(stream.number, None) is not None:
            self.waiting_bytes -= stream.waiting

    def drop_all(self) -> None:
        """Send nothing more of any stream."""
        self._waiting.clear()
        self.waiting_bytes = 0

    def widen(self, increment: int) -> None:
        """Let more be sent on all streams together.

        Raises:
            ConnectionFailedError: by nothing, or beyond what a window can be.
        """
        if increment == 0:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A window grows by nothing")
        self._window += increment
        if self._window > MAX_WINDOW:
            raise ConnectionFailedError(ErrorCode.FLOW_CONTROL_ERROR, "A window is too large")

    def _pump(self) -> None:
        """Send what waits while windows and room last."""
        while self._waiting and self.room > 0 and self._window > 0:
            ready = [stream for stream in self._waiting.values() if stream.window > 0]
            if not ready:
                return
            for stream in self._affordable(ready):
                limit = min(MAX_FRAME_BYTES, stream.window, self._window, self.room)
                piece = stream.pull(limit)
                self.waiting_bytes -= len(piece)
                self._emit(stream.number, piece)
                if not stream.waiting:
                    self._sent(stream)

    def _affordable(self, ready: list[Stream]) -> Iterator[Stream]:
        """Yield streams while anything may be sent, and put each at the end of the line."""
        for stream in ready:
            if self.room <= 0 or self._window <= 0:
                return
            self._waiting[stream.number] = self._waiting.pop(stream.number)
            yield stream

    def _emit(self, number: int, data: bytes) -> None:
        size = len(data)
        self._window -= size
        self.room -= size
        self._frames.append(write_frame(DATA, 0, number, data))
        self._chatter.earn(_EARNED)

    def _sent(self, stream: Stream) -> None:
        del self._waiting[stream.number]
        if stream.trailers is None:
            self._on_drained(stream)
        else:
            self._finish(stream)

    def _finish(self, stream: Stream) -> None:
        if stream.trailers:
            self._frames.append(payloads.headers(stream.number, stream.trailers, ends=True))
        else:
            self._frames.append(write_frame(DATA, END_STREAM, stream.number))
        self._chatter.earn(_EARNED)
        self._on_ended(stream)
