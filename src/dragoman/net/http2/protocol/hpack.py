"""Header compression (RFC 7541): a reader for all of it, a writer for what needs no memory.

What is written is never indexed and never Huffman coded: answers have few headers, the same each
time, so their blocks are made once and kept by whoever sends them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode
from dragoman.net.http2.protocol.huffman import HuffmanError, decode_huffman
from dragoman.net.http2.protocol.static_table import STATIC_TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ("Decoder", "Header", "Headers", "TooManyHeadersError", "encode_headers")

Header: TypeAlias = tuple[bytes, bytes]
Headers: TypeAlias = tuple[Header, ...]

TABLE_BYTES: Final = 4096
"""The most that a reader remembers for its peer; what both sides begin with (6.5.2 of RFC 9113)."""

OVERHEAD: Final = 32
"""What a header counts for beside its name and value (RFC 7541, 4.1)."""

_MAX_SHIFT: Final = 21
"""A number has at most four bytes after its first: no length or index here needs more."""

_STATIC_COUNT: Final = len(STATIC_TABLE)
_EXACT: Final = {header: index for index, header in enumerate(STATIC_TABLE, 1)}
_NAMED: Final = {name: index for index, (name, _) in reversed(tuple(enumerate(STATIC_TABLE, 1)))}


class TooManyHeadersError(Exception):
    """A list of headers is beyond the limit. It has been read all the same, and the next can be."""


def _broken(reason: str) -> ConnectionFailedError:
    # 4.3 of RFC 9113: the two sides do not remember the same any more.
    return ConnectionFailedError(ErrorCode.COMPRESSION_ERROR, reason)


class Decoder:
    """Reads the header blocks of one connection, in their order.

    Attributes:
        revision: another after each change of what is remembered. Two equal blocks under one
            revision mean the same headers.
    """

    __slots__ = ("_entries", "_limit", "_max_list_bytes", "_size", "revision")

    def __init__(self, max_list_bytes: int) -> None:
        """Remember nothing yet."""
        self._max_list_bytes = max_list_bytes
        self._entries: list[Header] = []
        self._size = 0
        self._limit = TABLE_BYTES
        self.revision: int = 0

    def decode(self, block: bytes) -> Headers:
        """Read a block.

        Raises:
            ConnectionFailedError: it is none.
            TooManyHeadersError: there are more than the limit allows.
        """
        found: list[Header] = []
        size = at = 0
        end = len(block)
        while at < end:
            first = block[at]
            if first & 0x80:
                index, at = _number(block, at, 0x7F)
                header = self._entry(index)
            elif first & 0x40:
                header, at = self._literal(block, at, 0x3F)
                self._remember(header)
            elif first & 0x20:
                limit, at = _number(block, at, 0x1F)
                self._resize(limit, is_first=not size)
                continue
            else:
                header, at = self._literal(block, at, 0x0F)
            size += len(header[0]) + len(header[1]) + OVERHEAD
            if size <= self._max_list_bytes:
                found.append(header)
        if size > self._max_list_bytes:
            raise TooManyHeadersError
        return tuple(found)

    def _entry(self, index: int) -> Header:
        if 0 < index <= _STATIC_COUNT:
            return STATIC_TABLE[index - 1]
        place = index - _STATIC_COUNT - 1
        if not 0 <= place < len(self._entries):
            raise _broken("A header refers to nothing that is remembered")
        return self._entries[place]

    def _literal(self, block: bytes, at: int, mask: int) -> tuple[Header, int]:
        index, at = _number(block, at, mask)
        if index:
            name = self._entry(index)[0]
        else:
            name, at = _string(block, at)
        value, at = _string(block, at)
        return (name, value), at

    def _remember(self, header: Header) -> None:
        self.revision += 1
        self._entries.insert(0, header)
        self._size += len(header[0]) + len(header[1]) + OVERHEAD
        self._forget()

    def _resize(self, limit: int, *, is_first: bool) -> None:
        if not is_first:
            raise _broken("The table changes its size within a block")  # 4.2
        if limit > TABLE_BYTES:
            raise _broken("The table is larger than it may be")  # 6.3
        self.revision += 1
        self._limit = limit
        self._forget()

    def _forget(self) -> None:
        """Forget the oldest until the rest is small enough; it may be all (4.4)."""
        while self._size > self._limit:
            name, value = self._entries.pop()
            self._size -= len(name) + len(value) + OVERHEAD


def _number(block: bytes, at: int, mask: int) -> tuple[int, int]:
    """Read a number (5.1); return it and where the next thing begins."""
    value = block[at] & mask
    at += 1
    if value < mask:
        return value, at
    for shift in range(0, _MAX_SHIFT + 1, 7):
        if at >= len(block):
            raise _broken("A block ends within a number")
        byte = block[at]
        at += 1
        value += (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise _broken("A number is too large")


def _string(block: bytes, at: int) -> tuple[bytes, int]:
    """Read a string (5.2); return it and where the next thing begins."""
    if at >= len(block):
        raise _broken("A block ends before a string")
    is_coded = block[at] & 0x80
    length, at = _number(block, at, 0x7F)
    end = at + length
    if end > len(block):
        raise _broken("A block ends within a string")
    text = block[at:end]
    if not is_coded:
        return text, end
    try:
        return decode_huffman(text), end
    except HuffmanError:
        raise _broken("A string is not in Huffman code") from None


# --- writing ------------------------------------------------------------------------------------


def encode_headers(headers: Iterable[Header]) -> bytes:
    """Write a block that changes nothing of what the peer remembers."""
    return b"".join(map(_write_header, headers))


def _write_header(header: Header) -> bytes:
    if header in _EXACT:
        return _write_number(_EXACT[header], 0x80, 0x7F)
    name, value = header
    if name in _NAMED:
        return _write_number(_NAMED[name], 0, 0x0F) + _write_string(value)
    return b"\x00" + _write_string(name) + _write_string(value)


def _write_string(text: bytes) -> bytes:
    return _write_number(len(text), 0, 0x7F) + text


def _write_number(value: int, flags: int, mask: int) -> bytes:
    if value < mask:
        return bytes((flags | value,))
    value -= mask
    written = bytearray((flags | mask,))
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
