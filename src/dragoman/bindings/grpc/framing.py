"""gRPC on HTTP/2: messages within a body, and what its headers and trailers say."""

from __future__ import annotations

import zlib
from base64 import b64encode
from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

from dragoman.net.http2.protocol.hpack import encode_headers

if TYPE_CHECKING:
    from dragoman.net.http2.protocol.hpack import Header
    from dragoman.net.http2.protocol.requests import Head

__all__ = (
    "ANSWER",
    "OK",
    "PREFIX_BYTES",
    "GrpcFailedError",
    "MessageReader",
    "Metadata",
    "answer_block",
    "frame_message",
    "http_refusal_block",
    "is_grpc",
    "refusal_block",
    "timeout_of",
    "trailer_block",
)

Metadata: TypeAlias = Iterable[tuple[str, str | bytes]]
"""Headers of gRPC: text, or bytes where the name ends in ``-bin``."""

RESOURCE_EXHAUSTED: Final = 8
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13

# Whether the message is compressed, and its length.
_PREFIX: Final = Struct(">BI")
PREFIX_BYTES: Final = _PREFIX.size

_CONTENT_TYPE: Final = (b"content-type", b"application/grpc")
_STATUS_200: Final = (b":status", b"200")
_ENCODINGS: Final = frozenset({b"gzip", b"deflate"})
_ACCEPTED: Final = (b"grpc-accept-encoding", b"identity,deflate,gzip")
_EITHER_HEADER: Final = 32 + zlib.MAX_WBITS
"""Has zlib find out by itself whether it is gzip or what gRPC calls deflate."""

_UNITS: Final = {b"H": 3600.0, b"M": 60.0, b"S": 1.0, b"m": 1e-3, b"u": 1e-6, b"n": 1e-9}
_MAX_TIMEOUT_DIGITS: Final = 8


class GrpcFailedError(Exception):
    """A call fails; ``code`` is its status, ``metadata`` goes with it."""

    def __init__(self, code: int, details: str, metadata: Metadata = ()) -> None:
        """Say what to tell the peer."""
        super().__init__(details)
        self.code = code
        self.details = details
        self.metadata = metadata


# --- messages -----------------------------------------------------------------------------------


def frame_message(message: bytes) -> bytes:
    """Return a message as it stands in a body. It is never compressed."""
    return _PREFIX.pack(0, len(message)) + message


class MessageReader:
    """Cuts a body into messages; it holds what has come of one."""

    __slots__ = ("_buffer", "_encoding", "_limit")

    def __init__(self, head: Head, max_bytes: int) -> None:
        """Take the head of the call, and how long a message may be."""
        encodings = [value for name, value in head.fields if name == b"grpc-encoding"]
        self._encoding = encodings[0] if encodings else b"identity"
        self._limit = max_bytes
        self._buffer = bytearray()

    @property
    def missing(self) -> int:
        """Count the bytes that the message under way still lacks, as far as it has told."""
        if len(self._buffer) < PREFIX_BYTES:
            return 0
        return PREFIX_BYTES + _PREFIX.unpack_from(self._buffer)[1] - len(self._buffer)

    @property
    def is_between(self) -> bool:
        """Tell whether no message is under way."""
        return not self._buffer

    def read(self, data: bytes) -> list[bytes]:
        """Return the messages that these bytes complete.

        Raises:
            GrpcFailedError: one is too long, or compressed in a way that is not known.
        """
        if not self._buffer and len(data) >= PREFIX_BYTES:
            flag, length = _PREFIX.unpack_from(data)
            if not flag and length + PREFIX_BYTES == len(data) and length <= self._limit:
                return [data[PREFIX_BYTES:]]  # As nearly all come.
        self._buffer += data
        found: list[bytes] = []
        while len(self._buffer) >= PREFIX_BYTES:
            flag, length = _PREFIX.unpack_from(self._buffer)
            if flag > 1:
                raise GrpcFailedError(INTERNAL, "A message begins with an unknown flag")
            if length > self._limit:
                raise self._too_long()
            end = PREFIX_BYTES + length
            if len(self._buffer) < end:
                break
            message = bytes(self._buffer[PREFIX_BYTES:end])
            del self._buffer[:end]
            found.append(self._unpack(message) if flag else message)
        return found

    def _unpack(self, message: bytes) -> bytes:
        if self._encoding not in _ENCODINGS:
            is_plain = self._encoding == b"identity"
            raise GrpcFailedError(
                INTERNAL if is_plain else UNIMPLEMENTED,
                "A message is compressed, in a way that is not "
                + ("told" if is_plain else "supported"),
            )
        unpacking = zlib.decompressobj(_EITHER_HEADER)
        try:
            # One byte more than allowed tells that it is too long, without unpacking all of it.
            unpacked = unpacking.decompress(message, self._limit + 1)
        except zlib.error:
            raise GrpcFailedError(INTERNAL, "A message cannot be unpacked") from None
        if len(unpacked) > self._limit:
            raise self._too_long()
        if not unpacking.eof:
            raise GrpcFailedError(INTERNAL, "A message cannot be unpacked")
        return unpacked

    def _too_long(self) -> GrpcFailedError:
        return GrpcFailedError(
            RESOURCE_EXHAUSTED, f"The message is larger than {self._limit} bytes"
        )


# --- the head of a call -------------------------------------------------------------------------


def is_grpc(head: Head) -> bool:
    """Tell whether a request is a call of gRPC with messages of protobuf."""
    if head.method != b"POST":
        return False
    for name, value in head.fields:
        if name == b"content-type":
            media_type = value.partition(b";")[0].strip().lower()
            return media_type in (b"application/grpc", b"application/grpc+proto")
    return False


def timeout_of(head: Head) -> float | None:
    """Return how many seconds the caller waits, None if it does not say.

    Raises:
        GrpcFailedError: it says something else.
    """
    for name, value in head.fields:
        if name == b"grpc-timeout":
            digits, unit = value[:-1], value[-1:]
            if unit not in _UNITS or not digits.isdigit() or len(digits) > _MAX_TIMEOUT_DIGITS:
                raise GrpcFailedError(INTERNAL, "The timeout is not one")
            return int(digits) * _UNITS[unit]
    return None


# --- answers ------------------------------------------------------------------------------------


def answer_block(metadata: Metadata) -> bytes:
    """Return the headers of an answer with messages."""
    return encode_headers((_STATUS_200, _CONTENT_TYPE, *map(_write_metadata, metadata)))


def trailer_block(code: int, details: str = "", metadata: Metadata = ()) -> bytes:
    """Return the trailers that end an answer."""
    return encode_headers(_status(code, details, metadata))


def refusal_block(code: int, details: str, metadata: Metadata = ()) -> bytes:
    """Return the headers of an answer that is a status and nothing else."""
    accepted = (_ACCEPTED,) if code == UNIMPLEMENTED else ()
    return encode_headers(
        (_STATUS_200, _CONTENT_TYPE, *accepted, *_status(code, details, metadata))
    )


@lru_cache(maxsize=16)
def http_refusal_block(status: int, length: int) -> bytes:
    """Return the headers of an answer to one who does not speak gRPC; a text follows."""
    return encode_headers(
        (
            (b":status", b"%d" % status),
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % length),
        )
    )


def _status(code: int, details: str, metadata: Metadata) -> Iterable[Header]:
    yield b"grpc-status", b"%d" % code
    if details:
        yield b"grpc-message", _percent_encode(details)
    yield from map(_write_metadata, metadata)


def _write_metadata(item: tuple[str, str | bytes]) -> Header:
    name, value = item
    if name.endswith("-bin"):
        binary = value if isinstance(value, bytes) else value.encode()
        return name.encode(), b64encode(binary).rstrip(b"=")
    text = value if isinstance(value, bytes) else value.encode("latin-1", "replace")
    # What no header can hold would break the whole answer.
    return name.encode(), bytes(c if 0x20 <= c <= 0x7E else 0x3F for c in text)


def _percent_encode(text: str) -> bytes:
    """Write a text in printable ASCII, everything else as ``%XX``."""
    data = text.encode("utf-8", "replace")
    if data.isascii() and text.isprintable() and "%" not in text:
        return data
    return b"".join(bytes((c,)) if 0x20 <= c <= 0x7E and c != 0x25 else b"%%%02X" % c for c in data)


ANSWER: Final[bytes] = answer_block(())
"""The headers of an answer without metadata."""
OK: Final[bytes] = trailer_block(0)
"""The trailers of a call that went well."""
