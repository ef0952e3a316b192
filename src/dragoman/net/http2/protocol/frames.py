"""Frames: how bytes are cut into them (RFC 9113, 4).

A frame is known by its kind alone here. What it holds is in ``payloads``; which frames may come
when is the connection's business.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = (
    "ACK",
    "CONTINUATION",
    "DATA",
    "DEFAULT_WINDOW",
    "ENABLE_PUSH",
    "END_HEADERS",
    "END_STREAM",
    "GOAWAY",
    "HEADERS",
    "HEADER_TABLE_SIZE",
    "INITIAL_WINDOW_SIZE",
    "MAX_CONCURRENT_STREAMS",
    "MAX_FRAME_BYTES",
    "MAX_FRAME_SIZE",
    "MAX_HEADER_LIST_SIZE",
    "MAX_WINDOW",
    "PADDED",
    "PING",
    "PREFACE",
    "PRIORITY",
    "PRIORITY_FLAG",
    "PUSH_PROMISE",
    "RST_STREAM",
    "SETTINGS",
    "WINDOW_UPDATE",
    "Frame",
    "FrameReader",
    "write_frame",
)

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""How every HTTP/2 connection begins (RFC 9113, 3.4); no request of HTTP/1.1 begins so."""

DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITY_FLAG: Final = 0x20

HEADER_TABLE_SIZE: Final = 0x1
ENABLE_PUSH: Final = 0x2
MAX_CONCURRENT_STREAMS: Final = 0x3
INITIAL_WINDOW_SIZE: Final = 0x4
MAX_FRAME_SIZE: Final = 0x5
MAX_HEADER_LIST_SIZE: Final = 0x6

MAX_FRAME_BYTES: Final = 16_384
"""The longest frame that is taken, and sent: the one that everybody must take (4.2)."""

DEFAULT_WINDOW: Final = 65_535
MAX_WINDOW: Final = 2**31 - 1

_STREAM: Final = 2**31 - 1
"""A stream's number without the bit that is reserved."""

# The length and the kind in one, the flags, the stream.
_HEAD: Final = Struct(">IBI")
_HEAD_BYTES: Final = _HEAD.size
_KIND_AT: Final = 3
_SIZES: Final = {PRIORITY: 5, RST_STREAM: 4, PING: 8, WINDOW_UPDATE: 4}
"""The kinds that have one length only."""


class Frame(NamedTuple):
    """A whole frame; its payload is not looked into."""

    kind: int
    flags: int
    stream: int
    payload: bytes


class FrameReader:
    """Cuts bytes into frames. It holds what has come of one frame, and no more."""

    __slots__ = ("_partial",)

    def __init__(self) -> None:
        """Begin with nothing."""
        self._partial = bytearray()

    def read(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that these bytes complete.

        Exhaust it before it is called again.

        Raises:
            ConnectionFailedError: a frame is longer than may be, or than its kind can be.
        """
        if self._partial:
            self._partial += data
            data = bytes(self._partial) if self._is_whole() else b""
        at, size = 0, len(data)
        while size - at >= _HEAD_BYTES:
            head, flags, stream = _HEAD.unpack_from(data, at)
            length, kind = head >> 8, head & 0xFF
            _check_length(kind, length)
            end = at + _HEAD_BYTES + length
            if end > size:
                break
            payload = data[at + _HEAD_BYTES : end]
            at = end
            yield Frame(kind, flags, stream & _STREAM, payload)
        if data:
            # What has been gone through goes, what has not been stays.
            self._partial[:] = data[at:]

    @property
    def is_amid_data(self) -> bool:
        """Tell whether what has come of a frame is of DATA."""
        return len(self._partial) > _KIND_AT and self._partial[_KIND_AT] == DATA

    @property
    def is_between(self) -> bool:
        """Tell whether all that has come was whole frames."""
        return not self._partial

    def _is_whole(self) -> bool:
        """Tell whether what has come is worth going through: bytes may come one by one."""
        if len(self._partial) < _HEAD_BYTES:
            return False
        head, _, _ = _HEAD.unpack_from(self._partial)
        _check_length(head & 0xFF, head >> 8)
        return len(self._partial) >= _HEAD_BYTES + (head >> 8)


def _check_length(kind: int, length: int) -> None:
    if length > MAX_FRAME_BYTES:
        raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "A frame is too long")
    if kind in _SIZES and length != _SIZES[kind]:
        # 6.3 makes it an error of the stream for PRIORITY. Whoever cannot count is not worth it.
        raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "A frame has a wrong length")


def write_frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Write a frame of any kind."""
    return _HEAD.pack(len(payload) << 8 | kind, flags, stream) + payload
