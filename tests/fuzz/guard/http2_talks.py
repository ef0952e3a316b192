"""What is said over HTTP/2: calls of gRPC of both versions, and frames that are none."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from random import Random
from typing import Final

import hpack

from tests.fuzz.guard.callers import Callers, Header
from tests.fuzz.guard.mutation import bent, in_pieces, odd_headers
from tests.fuzz.guard.talks import Talk
from tests.fuzz.test_grpc_fuzz import TOKENS, field, varint
from tests.http2.frame_peer import PREFACE, raw

__all__ = ("Http2Talks",)

_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _WINDOW, _CONTINUATION = 0, 1, 3, 4, 6, 8, 9
_END_STREAM, _END_HEADERS = 0x1, 0x4
_FRAME_BYTES: Final = 16_384
_WIDE: Final = 2**31 - 1

_GREETING: Final = (
    PREFACE
    # Windows so wide that no answer has to wait for us.
    + raw(_SETTINGS, 0, 0, struct.pack(">HI", 4, _WIDE))
    + raw(_WINDOW, 0, 0, struct.pack(">I", _WIDE - 65_535))
)
_FIELD_NUMBERS: Final = 9


class Http2Talks:
    """Makes talks.

    Args:
        valid: a message that the method takes, by its path.
    """

    def __init__(self, callers: Callers, valid: Mapping[str, bytes]) -> None:
        self._callers = callers
        self._valid = dict(valid)
        self._paths = list(valid)

    def talk(self, chance: Random) -> Talk:
        """Return up to four calls on one connection, something wrong with most of them."""
        streams = range(1, 2 * chance.randint(1, 4), 2)
        calls = [self._call(stream, chance) for stream in streams]
        whole = _GREETING + b"".join(call for call, _ in calls)
        pieces = in_pieces(whole, chance) if chance.random() < 0.1 else [whole]
        what = ", ".join(change for _, change in calls)
        return Talk("gRPC", what, pieces, is_whole=True, asked=list(streams))

    def raw_talk(self, chance: Random) -> Talk:
        """Return frames that have been bent, or that nobody would send."""
        calls = b"".join(self._call(stream, chance)[0] for stream in (1, 3))
        match chance.randrange(4):
            case 0:
                what, talk = "frames", b"".join(_odd_frame(chance) for _ in range(20))
            case 1:
                what, talk = "frames", calls + b"".join(_odd_frame(chance) for _ in range(5))
            case 2:
                what, talk = "greeting", b""
            case _:
                what, talk = "bytes", bent(calls, chance, TOKENS)
        whole = bent(_GREETING, chance) + calls if what == "greeting" else _GREETING + talk
        pieces = in_pieces(whole, chance) if chance.random() < 0.3 else [whole]
        return Talk("HTTP/2", what, pieces, is_whole=False)

    def stalled_talk(self, chance: Random) -> Talk:
        """Return the beginning of a call that does not go on."""
        whole = _GREETING + self._call(1, chance)[0]
        cut = chance.randrange(1, len(whole) - 1)
        return Talk("HTTP/2", "stall", [whole[:cut]], is_whole=False, is_stalled=True)

    def _call(self, stream: int, chance: Random) -> tuple[bytes, str]:
        path = chance.choice(self._paths)
        headers: list[Header] = [
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", path.encode()),
            (b":authority", b"127.0.0.1"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
            *self._callers.any(chance),
        ]
        if chance.random() < 0.9:
            headers.append(
                (b"x-forwarded-for", b"10.2.%d.%d" % divmod(chance.randrange(3000), 250))
            )
        message, body = self._valid[path], b""
        change = chance.choice(("nothing", "bytes", "fields", "other", "headers", "framing"))
        match change:
            case "bytes":
                message = bent(message, chance, TOKENS)
            case "fields":
                message += b"".join(_odd_field(chance, 3) for _ in range(chance.randint(1, 4)))
            case "other":
                message += self._valid[chance.choice(self._paths)]
            case "headers":
                headers += odd_headers(chance)
            case "framing":
                body = _misframed(message, chance)
            case _:
                pass
        # What is longer has to be granted first; there are other tests for that.
        body = (body or b"\0" + struct.pack(">I", len(message)) + message)[:60_000]
        return _head(stream, headers) + _body(stream, body), change


def _head(stream: int, headers: list[Header]) -> bytes:
    encoder = hpack.Encoder()
    encoder.header_table_size = 0
    block = encoder.encode([(name.lower(), value) for name, value in headers])
    pieces = [block[at : at + _FRAME_BYTES] for at in range(0, len(block), _FRAME_BYTES)]
    kinds = [_HEADERS] + [_CONTINUATION] * (len(pieces) - 1)
    flags = [0] * (len(pieces) - 1) + [_END_HEADERS]
    return b"".join(
        raw(kind, flag, stream, piece)
        for kind, flag, piece in zip(kinds, flags, pieces, strict=True)
    )


def _body(stream: int, body: bytes) -> bytes:
    pieces = [body[at : at + _FRAME_BYTES] for at in range(0, len(body), _FRAME_BYTES)] or [b""]
    flags = [0] * (len(pieces) - 1) + [_END_STREAM]
    return b"".join(
        raw(_DATA, flag, stream, piece) for flag, piece in zip(flags, pieces, strict=True)
    )


def _misframed(message: bytes, chance: Random) -> bytes:
    """Write messages whose lengths, number or flags are wrong."""
    size = len(message)
    return chance.choice(
        (
            b"\x01" + struct.pack(">I", size) + message,
            b"\xff" + struct.pack(">I", size) + message,
            b"\0" + struct.pack(">I", size + 5) + message,
            b"\0" + struct.pack(">I", max(0, size - 5)) + message,
            b"\0" + struct.pack(">I", 2**32 - 1) + message,
            (b"\0" + struct.pack(">I", size) + message) * 2,
            b"\0\0",
        )
    )


def _odd_field(chance: Random, depth: int) -> bytes:
    """Return a field of any number and kind, with fields in it."""
    number, kind = chance.randint(1, _FIELD_NUMBERS), chance.choice((0, 1, 2, 2, 5))
    match kind:
        case 0:
            return field(number, 0, varint(chance.getrandbits(chance.choice((3, 33, 64)))))
        case 1:
            return field(number, 1, chance.randbytes(8))
        case 5:
            return field(number, 5, chance.randbytes(4))
        case _ if depth and chance.random() < 0.5:
            inner = (_odd_field(chance, depth - 1) for _ in range(chance.randrange(4)))
            return field(number, 2, b"".join(inner))
        case _:
            text = chance.choice((b"", b"mirror", b"acme", b"\xff", b"x" * 30_000, b"tasks/t-1"))
            return field(number, 2, text)


def _odd_frame(chance: Random) -> bytes:
    """Return a frame of any kind."""
    payload = chance.choice(
        (b"", b"\0\0\0\x01", b"12345678", chance.randbytes(chance.randrange(40)))
    )
    flags = chance.choice((0, 1, 4, 5, 8, 9, 0x20, 0x2D, 0xFF))
    return raw(chance.randrange(11), flags, chance.choice((0, 1, 2, 3, 5, 99)), payload)
