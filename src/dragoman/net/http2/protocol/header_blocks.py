"""Header blocks: put together from their frames, and read (RFC 9113, 4.3 and 6.10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dragoman.net.http2.protocol.errors import ConnectionFailedError, ErrorCode, StreamFailedError
from dragoman.net.http2.protocol.frames import END_HEADERS, END_STREAM, Frame
from dragoman.net.http2.protocol.hpack import Decoder, TooManyHeadersError
from dragoman.net.http2.protocol.payloads import header_block_of
from dragoman.net.http2.protocol.requests import Head, MalformedError, check_trailers, read_head

if TYPE_CHECKING:
    from dragoman.net.http2.protocol.streams import Stream

__all__ = ("MAX_HEADER_LIST_BYTES", "Block", "HeaderBlocks")

MAX_HEADER_LIST_BYTES: Final = 16_384
"""For whoever sets no other limit: what gRPC's own servers take, and twice what HTTP/1.1 servers
commonly do."""

MAX_CONTINUATIONS: Final = 8
"""Frames of one header block after its first (CVE-2024-27316)."""

_KEPT_HEADS: Final = 64
_KEPT_BLOCK_BYTES: Final = 512
"""Heads are kept if their blocks are short, as those of repeated calls are: 32 KiB in all."""


class Block(Struct, frozen=True, gc=False):
    """A whole header block, not yet read; ``ends`` if nothing follows it on its stream."""

    stream: int
    data: bytes
    ends: bool


class HeaderBlocks:
    """The header blocks of one connection, in their order.

    Every block has to be read, even one that nobody wants: it may change what later ones mean.
    """

    __slots__ = (
        "_decoder",
        "_ends",
        "_heads",
        "_max_block_bytes",
        "_pieces",
        "_revision",
        "_size",
        "_stream",
    )

    def __init__(self, max_list_bytes: int = MAX_HEADER_LIST_BYTES) -> None:
        """Begin without any."""
        self._decoder = Decoder(max_list_bytes)
        # Compressed, headers are shorter; longer than this they are too many, however spelled.
        self._max_block_bytes = 2 * max_list_bytes
        self._heads: dict[bytes, Head] = {}
        self._revision = 0
        self._stream = 0
        self._ends = False
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def is_open(self) -> bool:
        """Tell whether a block has begun; then no frame but its continuation may come (6.10)."""
        return bool(self._stream)

    # --- frames ---------------------------------------------------------------------------------

    def begin(self, frame: Frame) -> Block | None:
        """Take a HEADERS frame; return the block if it is whole."""
        piece = header_block_of(frame)
        ends = bool(frame.flags & END_STREAM)
        if frame.flags & END_HEADERS:
            return Block(frame.stream, piece, ends)
        self._stream, self._ends = frame.stream, ends
        self._pieces, self._size = [piece], len(piece)
        return None

    def go_on(self, frame: Frame) -> Block | None:
        """Take a CONTINUATION frame; return the block if it is whole.

        Raises:
            ConnectionFailedError: it continues nothing, or without end.
        """
        if not self._stream or self._stream != frame.stream:
            raise ConnectionFailedError(ErrorCode.PROTOCOL_ERROR, "A continuation of nothing")
        self._pieces.append(frame.payload)
        self._size += len(frame.payload)
        if self._size > self._max_block_bytes or len(self._pieces) > MAX_CONTINUATIONS + 1:
            # It is not going to be read, and then later ones cannot be.
            raise ConnectionFailedError(ErrorCode.ENHANCE_YOUR_CALM, "A header block is too long")
        if not frame.flags & END_HEADERS:
            return None
        block = Block(frame.stream, b"".join(self._pieces), self._ends)
        self._stream, self._pieces = 0, []
        return block

    # --- what they say --------------------------------------------------------------------------

    def read_head(self, block: Block) -> Head | None:
        """Read the head of a request; None if it has too many headers.

        Most heads are like one before, and then cost nothing.

        Raises:
            ConnectionFailedError: the block cannot be read.
            StreamFailedError: it can, and holds no head.
        """
        decoder = self._decoder
        if self._revision == decoder.revision and block.data in self._heads:
            return self._heads[block.data]
        try:
            head = read_head(decoder.decode(block.data))
        except TooManyHeadersError:
            return None
        except MalformedError as problem:
            raise _malformed(block, problem) from None
        if self._revision != decoder.revision:
            # This block has changed what blocks mean, this one too.
            self._revision = decoder.revision
            self._heads.clear()
        elif len(self._heads) < _KEPT_HEADS and len(block.data) <= _KEPT_BLOCK_BYTES:
            self._heads[block.data] = head
        return head

    def read_trailers(self, stream: Stream, block: Block) -> None:
        """Read what follows a body. Nobody here looks at it, but it has to be in order.

        Raises:
            ConnectionFailedError: the block cannot be read.
            StreamFailedError: it can, and holds no trailers.
        """
        try:
            trailers = self._decoder.decode(block.data)
        except TooManyHeadersError:
            raise StreamFailedError(
                block.stream, ErrorCode.ENHANCE_YOUR_CALM, "There are too many trailers"
            ) from None
        stream.check_open()
        try:
            check_trailers(trailers)
        except MalformedError as problem:
            raise _malformed(block, problem) from None
        if not block.ends:
            # 8.1
            raise _malformed(block, MalformedError("Headers stand within a body"))

    def skip(self, block: Block) -> None:
        """Read a block of a stream that has ended.

        Raises:
            ConnectionFailedError: the block cannot be read.
        """
        try:
            self._decoder.decode(block.data)
        except TooManyHeadersError:
            return


def _malformed(block: Block, problem: MalformedError) -> StreamFailedError:
    return StreamFailedError(block.stream, ErrorCode.PROTOCOL_ERROR, str(problem))
