"""What frames hold, by their kind: read and checked, and written (RFC 9113, 6)."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Final

from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.frames import (
    CONTINUATION,
    ENABLE_PUSH,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_BYTES,
    MAX_FRAME_SIZE,
    MAX_WINDOW,
    PADDED,
    PRIORITY_FLAG,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Frame,
    write_frame,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = (
    "check_goaway",
    "check_priority",
    "data_of",
    "goaway",
    "header_block_of",
    "headers",
    "number_of",
    "reset",
    "settings",
    "settings_of",
    "window_update",
)

MAX_SETTINGS: Final = 64
"""Settings in one frame. There are ten or so; a frame has room for 2,730."""

_LARGEST_FRAME: Final = 2**24 - 1
_SETTING: Final = Struct(">HI")
_NUMBER: Final = Struct(">I")
_PRIORITY_BYTES: Final = 5
_GOAWAY_BYTES: Final = 8


# --- reading ------------------------------------------------------------------------------------


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
    check_priority(frame.stream, block)
    return block[_PRIORITY_BYTES:]


def check_priority(stream: int, payload: bytes) -> None:
    """Check a priority, which is all that is done with it (5.3.2).

    Raises:
        ConnectionFailedError: a stream depends on itself. RFC 7540, 5.3.1 calls that an error of
            the stream, which may not even have begun; RFC 9113 says nothing of it any more.
    """
    if number_of(payload[:4]) & MAX_WINDOW == stream:
        raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A stream depends on itself")


def settings_of(payload: bytes) -> Iterator[tuple[int, int]]:
    """Yield the settings of a SETTINGS frame, checked (6.5.2).

    Raises:
        ConnectionFailedError: it is no list of settings, or one is beyond its bounds.
    """
    if len(payload) % _SETTING.size:
        raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "Settings have a wrong length")
    if len(payload) > MAX_SETTINGS * _SETTING.size:
        raise ConnectionFailedError(ErrorCode.ENHANCE_YOUR_CALM, "There are too many settings")
    for name, value in _SETTING.iter_unpack(payload):
        if name == INITIAL_WINDOW_SIZE and value > MAX_WINDOW:
            raise ConnectionFailedError(ErrorCode.FLOW_CONTROL_ERROR, "A window is too large")
        if name == ENABLE_PUSH and value > 1:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "ENABLE_PUSH is neither 0 nor 1")
        if name == MAX_FRAME_SIZE and not MAX_FRAME_BYTES <= value <= _LARGEST_FRAME:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "MAX_FRAME_SIZE is out of bounds")
        yield name, value


def check_goaway(payload: bytes) -> None:
    """Check what a GOAWAY frame holds (6.8).

    Raises:
        ConnectionFailedError: it is too short.
    """
    if len(payload) < _GOAWAY_BYTES:
        raise ConnectionFailedError(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY is too short")


def number_of(payload: bytes) -> int:
    """Return the number that four bytes hold: an error, a stream, an increment."""
    return _NUMBER.unpack(payload)[0]


# --- writing ------------------------------------------------------------------------------------


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
