"""Frames: their bytes, and what each kind holds (RFC 9113, 4 and 6).

A frame is known by its kind alone here; which frames may come when is the connection's business.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from dragoman.bindings.http2.errors import ConnectionFailedError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
    "data_of",
    "goaway",
    "header_block_of",
    "headers",
    "increment_of",
    "reset",
    "settings",
    "settings_of",
    "window_update",
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

_LARGEST_FRAME: Final = 2**24 - 1
_STREAM: Final = 2**31 - 1
"""A stream's number without the bit that is reserved."""

# The length and the kind in one, the flags, the stream.
_HEAD: Final = Struct(">IBI")
_SETTING: Final = Struct(">HI")
_NUMBER: Final = Struct(">I")
_HEAD_BYTES: Final = _HEAD.size
_PRIORITY_BYTES: Final = 5
_PING_BYTES: Final = 8
_SIZES: Final = {PRIORITY: _PRIORITY_BYTES, RST_STREAM: 4, PING: _PING_BYTES, WINDOW_UPDATE: 4}
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


# --- what they hold -----------------------------------------------------------------------------


def data_of(frame: Frame) -> bytes:
    """Return a frame's payload without its padding (6.1).

    Raises:
        ConnectionFailedError: there is more padding than frame.
    """
    payload = frame.payload
    if not frame.flags & PADDED:
        return payload
    if not payload:
        raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "The length of padding is missing")
    end = len(payload) - payload[0]
    if end < 1:
        raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "Padding is longer than its frame")
    return payload[1:end]


def header_block_of(frame: Frame) -> bytes:
    """Return the piece of a header block that a HEADERS frame holds (6.2); priority is ignored.

    Raises:
        ConnectionFailedError: the frame is too short, or a stream depends on itself.
    """
    block = data_of(frame)
    if not frame.flags & PRIORITY_FLAG:
        return block
    if len(block) < _PRIORITY_BYTES:
        raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "A priority is missing")
    return block[_PRIORITY_BYTES:]


def settings_of(payload: bytes) -> Iterator[tuple[int, int]]:
    """Yield the settings of a SETTINGS frame, checked (6.5.2).

    Raises:
        ConnectionFailedError: it is no list of settings, or one is beyond its bounds.
    """
    if len(payload) % _SETTING.size:
        raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "Settings have a wrong length")
    for name, value in _SETTING.iter_unpack(payload):
        if name == INITIAL_WINDOW_SIZE and value > MAX_WINDOW:
            raise ConnectionFailedError(ErrorCode.FLOW_CONTROL_ERROR, "A window is too large")
        if name == ENABLE_PUSH and value > 1:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "ENABLE_PUSH is neither 0 nor 1")
        if name == MAX_FRAME_SIZE and not MAX_FRAME_BYTES <= value <= _LARGEST_FRAME:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "MAX_FRAME_SIZE is out of bounds")
        yield name, value


def increment_of(payload: bytes) -> int:
    """Return by how much a window grows, or what other number a frame of four bytes holds."""
    return _NUMBER.unpack(payload)[0] & _STREAM


# --- writing ------------------------------------------------------------------------------------


def write_frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Write a frame of any kind."""
    return _HEAD.pack(len(payload) << 8 | kind, flags, stream) + payload


def headers(stream: int, block: bytes, *, ends: bool) -> bytes:
    """Write a header block: a HEADERS frame, with CONTINUATION frames if it is long."""
    flags = END_STREAM if ends else 0
    if len(block) <= MAX_FRAME_BYTES:
        return write_frame(HEADERS, flags | END_HEADERS, stream, block)
    starts = range(0, len(block), MAX_FRAME_BYTES)
    return b"".join(
        write_frame(
            CONTINUATION if start else HEADERS,
            (0 if start else flags) | (END_HEADERS if start == starts[-1] else 0),
            stream,
            block[start : start + MAX_FRAME_BYTES],
        )
        for start in starts
    )


def settings(pairs: Iterable[tuple[int, int]]) -> bytes:
    """Write a SETTINGS frame."""
    return write_frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*pair) for pair in pairs))


def window_update(stream: int, increment: int) -> bytes:
    """Write that so many bytes more may be sent; stream 0 stands for the connection."""
    return write_frame(WINDOW_UPDATE, 0, stream, _NUMBER.pack(increment))


def reset(stream: int, code: ErrorCode) -> bytes:
    """Write the end of a stream."""
    return write_frame(RST_STREAM, 0, stream, _NUMBER.pack(code))


def goaway(last_stream: int, code: ErrorCode, reason: str = "") -> bytes:
    """Write that no stream beyond this one is served, and why."""
    payload = _NUMBER.pack(last_stream) + _NUMBER.pack(code) + reason.encode()
    return write_frame(GOAWAY, 0, 0, payload)
