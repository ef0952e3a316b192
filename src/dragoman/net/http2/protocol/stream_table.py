"""The streams of a connection: which are open, which were, which may come (RFC 9113, 5.1)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode, StreamFailedError
from dragoman.net.http2.protocol.frames import DEFAULT_WINDOW, MAX_WINDOW
from dragoman.net.http2.protocol.streams import Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ("MAX_STREAMS", "StreamTable")

MAX_STREAMS: Final = 1000
"""Calls at once on one connection. gRPC itself has no limit; common servers have 100 to 1000."""

_KEPT_CUTS: Final = 2 * MAX_STREAMS
"""Streams that we ended first are remembered: what their peers sent meanwhile is no error. Older
ones are forgotten, long after anything of theirs can still be on its way."""

_KEPT_GAPS: Final = 16
"""Numbers that were skipped. Clients skip none; the memory is for telling them the right error."""


class StreamTable:
    """The streams that are open, by number, and what is known of the others.

    Attributes:
        last: the highest number that has begun.
        first_window: how much a new stream may send at first, as the peer has set it.
        is_closed: whether no more streams are taken.
    """

    __slots__ = ("_cut", "_gaps", "_open", "first_window", "is_closed", "last")

    def __init__(self) -> None:
        """Begin without any."""
        self.last: int = 0
        self.first_window: int = DEFAULT_WINDOW
        self.is_closed: bool = False
        self._open: dict[int, Stream] = {}
        self._cut: deque[int] = deque(maxlen=_KEPT_CUTS)
        self._gaps: deque[range] = deque(maxlen=_KEPT_GAPS)

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[Stream]:
        return iter(self._open.values())

    def get(self, number: int) -> Stream | None:
        """Return a stream if it is open, or half closed."""
        return self._open.get(number)

    # --- how they begin -------------------------------------------------------------------------

    def claim(self, number: int) -> None:
        """Take note of the number of a new stream; all below it cannot begin any more.

        Raises:
            ConnectionFailedError: a client has no such numbers.
        """
        if number % 2 == 0:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "Clients have odd streams")
        if number > self.last + 2:
            self._gaps.append(range(self.last + 1, number))
        self.last = number

    def open(self, number: int, length: int | None) -> Stream:
        """Open the stream that was claimed; ``length`` is how long its body says it is.

        Raises:
            StreamFailedError: there are too many; the peer may try again (8.7).
        """
        if self.is_closed or len(self._open) >= MAX_STREAMS:
            raise StreamFailedError(number, ErrorCode.REFUSED_STREAM, "Too many streams")
        stream = self._open[number] = Stream(number, self.first_window, length)
        return stream

    def check_begun(self, number: int) -> None:
        """Refuse what can only be said of a stream that has begun.

        Raises:
            ConnectionFailedError: this one has not.
        """
        if number > self.last:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A stream has not begun")

    # --- how they end ---------------------------------------------------------------------------

    def forget(self, number: int, *, is_cut: bool = False) -> None:
        """Let go of a stream; ``is_cut`` if the peer may not know yet that it has ended."""
        self._open.pop(number, None)
        if is_cut:
            self._cut.append(number)

    def check_cut(self, number: int) -> None:
        """Accept what was on its way when we ended a stream, and nothing else after its end.

        Raises:
            ConnectionFailedError: the peer knew that it has ended, or has skipped it.
        """
        if number in self._cut:
            return
        if any(number in gap for gap in self._gaps):
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A stream was skipped")  # 5.1.1
        raise ConnectionFailedError(ErrorCode.STREAM_CLOSED, "A stream has ended")

    # --- their windows --------------------------------------------------------------------------

    def set_first_window(self, size: int) -> None:
        """Change the windows of all streams, open ones too; they may fall below zero (6.9.2).

        Raises:
            ConnectionFailedError: one is larger than a window can be.
        """
        change, self.first_window = size - self.first_window, size
        for stream in self._open.values():
            stream.window += change
            if stream.window > MAX_WINDOW:
                raise ConnectionFailedError(ErrorCode.FLOW_CONTROL_ERROR, "A window is too large")
