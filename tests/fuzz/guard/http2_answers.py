"""Answers over HTTP/2, read as they came and judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import hpack

from tests.fuzz.guard.talks import HeardWrongError, Talk

__all__ = ("Answers",)

_HEADERS, _RESET, _GOAWAY = 1, 3, 7
_END_STREAM: Final = 0x1
_HEAD_BYTES: Final = 9

_INTERNAL_ERROR: Final = 2
"""The code of HTTP/2 for what is the server's own fault."""

_OURS: Final = {
    b"2": "UNKNOWN",
    b"13": "INTERNAL",
    b"14": "UNAVAILABLE",
    b"15": "DATA_LOSS",
}
_THEIRS: Final = (
    # What gRPC has called INTERNAL ever since: a message that is framed wrongly.
    b"A message begins with an unknown flag",
    b"A message is compressed, in a way that is not",
    b"A message cannot be unpacked",
    b"The request ends within a message",
    b"The timeout is not one",
    # UNAVAILABLE: it took too long.
    b"The request did not come in time",
)
_KNOWN: Final = {
    b"0": "served",
    b"7": "denied",
    b"8": "limited",
    b"11": "too large",
    b"14": "too slow",
    b"16": "unauthenticated",
}


class _Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes


class Answers:
    """What comes back on one connection.

    Attributes:
        is_over: every call has come to an end, or none can any more.
    """

    def __init__(self, talk: Talk) -> None:
        self._open = set(talk.asked)
        self._rest = b""
        self._decoder = hpack.Decoder()
        self._outcomes: list[str] = []
        self.is_over = False

    def take(self, data: bytes) -> None:
        """Read on.

        Raises:
            HeardWrongError: what has come is the server's own fault.
        """
        self._rest += data
        for frame in self._frames():
            if frame.kind == _GOAWAY:
                self._take_goaway(frame)
            elif frame.kind == _RESET:
                self._checked_code(frame, 0)
                self._end(frame.stream, "reset")
            elif frame.kind == _HEADERS:
                self._take_headers(frame)
            if frame.kind <= _HEADERS and frame.flags & _END_STREAM:
                self._open.discard(frame.stream)
        self.is_over = self.is_over or not self._open

    def close(self, *, is_whole: bool) -> list[str]:
        """Return what the calls came to, at the end of the connection.

        Raises:
            HeardWrongError: a call has no end, although all of it was sent, and in time.
        """
        if is_whole and not self.is_over:
            raise HeardWrongError(f"calls without an end: {sorted(map(int, self._open))}")
        return self._outcomes

    def _frames(self) -> Iterator[_Frame]:
        while len(self._rest) >= _HEAD_BYTES:
            rest = self._rest
            end = _HEAD_BYTES + int.from_bytes(rest[:3], "big")
            if len(rest) < end:
                return
            self._rest = rest[end:]
            stream = int.from_bytes(rest[5:9], "big")
            yield _Frame(rest[3], rest[4], stream, rest[_HEAD_BYTES:end])

    def _take_headers(self, frame: _Frame) -> None:
        headers = {bytes(name): bytes(value) for name, value in self._decoded(frame)}
        status = headers.get(b":status", b"200")
        if status >= b"500":
            raise HeardWrongError(f"our own fault: {headers}")
        code = headers.get(b"grpc-status")
        if code is None:
            if status != b"200":
                self._outcomes.append("refused")
            return
        if code in _OURS and not headers.get(b"grpc-message", b"").startswith(_THEIRS):
            raise HeardWrongError(f"our own fault: {_OURS[code]} {headers}")
        self._outcomes.append(_KNOWN.get(code, "refused"))

    def _decoded(self, frame: _Frame) -> list[tuple[bytes, bytes]]:
        # It is never in pieces or padded: our server does not do that.
        return list(self._decoder.decode(frame.payload, raw=True))

    def _take_goaway(self, frame: _Frame) -> None:
        if self._checked_code(frame, 4):
            self.is_over = True
            self._outcomes.append("cut")

    def _checked_code(self, frame: _Frame, at: int) -> int:
        code = int.from_bytes(frame.payload[at : at + 4], "big")
        if code == _INTERNAL_ERROR:
            raise HeardWrongError(f"our own fault: {frame}")
        return code

    def _end(self, stream: int, outcome: str) -> None:
        if stream in self._open:
            self._open.discard(stream)
            self._outcomes.append(outcome)
