"""One stream: what each side may still send, and what waits to be sent (RFC 9113, 5)."""

from __future__ import annotations

from collections import deque
from typing import Final

from dragoman.net.http2.protocol.errors import ErrorCode, StreamFailedError
from dragoman.net.http2.protocol.frames import DEFAULT_WINDOW, MAX_WINDOW

__all__ = ("Stream",)


class Stream:
    """A stream that is open, or half closed.

    Attributes:
        window: how many bytes the peer takes; below zero after it has made its windows smaller.
        granted: how many bytes we take.
        has_heard_all: whether the peer has ended its side.
        is_answered: whether our side has begun.
        trailers: the block that ends our side once all is sent; empty if it ends without one.
        taken: how many bytes have been sent, ever.
    """

    __slots__ = (
        "_chunks",
        "_expected",
        "_offset",
        "granted",
        "has_heard_all",
        "is_answered",
        "number",
        "taken",
        "trailers",
        "waiting",
        "window",
    )

    def __init__(self, number: int, window: int, length: int | None) -> None:
        """Open it; ``length`` is how long the body will be, if that is known."""
        self.number: Final = number
        self.window: int = window
        self.granted: int = DEFAULT_WINDOW
        self.has_heard_all: bool = False
        self.is_answered: bool = False
        self.trailers: bytes | None = None
        self.waiting: int = 0
        """How many bytes wait to be sent."""
        self.taken: int = 0
        self._chunks: deque[bytes] = deque()
        self._offset = 0
        self._expected = length

    def hear(self, size: int, flow_size: int, *, ends: bool) -> None:
        """Take note of so many bytes of the body; ``flow_size`` is with their padding.

        Raises:
            StreamFailedError: they are more than was granted, or not as many as was said.
        """
        self.check_open()
        self.granted -= flow_size
        if self.granted < 0:
            raise StreamFailedError(
                self.number, ErrorCode.FLOW_CONTROL_ERROR, "The body is longer than the window"
            )
        if self._expected is not None:
            self._expected -= size
            # 8.1.1: a body of another length than it says is no body.
            if self._expected < 0 or (ends and self._expected):
                raise StreamFailedError(
                    self.number, ErrorCode.PROTOCOL_ERROR, "The body is not as long as it says"
                )
        self.has_heard_all = ends

    def check_open(self) -> None:
        """Refuse what can only come while the peer's side is open.

        Raises:
            StreamFailedError: it has ended (5.1).
        """
        if self.has_heard_all:
            raise StreamFailedError(self.number, ErrorCode.STREAM_CLOSED, "The body has ended")

    def widen(self, increment: int) -> None:
        """Let more be sent.

        Raises:
            StreamFailedError: by nothing, or beyond what a window can be.
        """
        if increment == 0:
            raise StreamFailedError(
                self.number, ErrorCode.PROTOCOL_ERROR, "A window grows by nothing"
            )
        self.window += increment
        if self.window > MAX_WINDOW:
            raise StreamFailedError(
                self.number, ErrorCode.FLOW_CONTROL_ERROR, "A window is too large"
            )

    def put(self, data: bytes) -> None:
        """Have bytes wait."""
        self._chunks.append(data)
        self.waiting += len(data)

    def pull(self, limit: int) -> bytes:
        """Return some of what waits, at most ``limit`` bytes, and count it as sent."""
        chunk = self._chunks[0]
        piece = chunk[self._offset : self._offset + limit]
        self._offset += len(piece)
        if self._offset == len(chunk):
            self._chunks.popleft()
            self._offset = 0
        self.waiting -= len(piece)
        self.count(len(piece))
        return piece

    def count(self, size: int) -> None:
        """Count bytes as sent."""
        self.window -= size
        self.taken += size
