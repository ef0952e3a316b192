"""Server-sent events, both ways (reference section 3.3).

Writing: one event is one line of JSON. Our frames carry the number of the event as SSE ``id``,
which the specification leaves undefined; clients that know it may resume from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dragoman.errors import InvalidAgentResponseError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dragoman.dialects.base import FrameWriter
    from dragoman.model.documents import EventDocument

__all__ = ("HEARTBEAT", "MAX_EVENT_BYTES", "Parser", "SseEvent", "frame", "frames")

HEARTBEAT: Final = b":\n\n"
"""A comment: keeps the connection busy and means nothing."""

MAX_EVENT_BYTES: Final = 64 * 1024 * 1024
"""How much of one event a parser holds before it gives up; far above any real artifact chunk."""

_SEPARATORS: Final = tuple(
    (character.encode(), f"\\u{ord(character):04x}".encode())
    for character in ("\x85", "\u2028", "\u2029")
)

_TOO_LONG: Final = "The stream holds an event that is too long"


def frame(data: bytes, *, seq: int = 0, event: str = "") -> bytes:
    """Write one event; ``seq`` 0 writes no id. ``data`` is one line, as our encoders write it."""
    head = b"id: %d\n" % seq if seq else b""
    if event:
        head += b"event: %b\n" % event.encode()
    return b"%bdata: %b\n\n" % (head, _without_separators(data))


def frames(
    batch: Iterable[EventDocument],
    writer: FrameWriter,
    *,
    prefix: bytes = b"",
    suffix: bytes = b"",
) -> bytes:
    """Write a batch of events as one body, each within ``prefix`` and ``suffix``.

    What comes after a frame that said it is the last is left out.
    """
    start, end = b"data: " + prefix, suffix + b"\n\n"
    pieces: list[bytes] = []
    for item in batch:
        lines = writer.write(item)
        if item.seq and lines:
            # Of several frames for one event the last one has its number: who has read that far
            # has read all of it.
            *before, last = lines
            for line in before:
                pieces += (start, line, end)
            pieces += (b"id: %d\n" % item.seq, start, last, end)
        else:
            for line in lines:
                pieces += (start, line, end)
        if writer.has_ended:
            break
    return _without_separators(b"".join(pieces))


def _without_separators(body: bytes) -> bytes:
    """Escape what some readers take for the end of a line, though SSE does not.

    In JSON, U+0085, U+2028 and U+2029 stand only inside strings, where an escape means the same.
    Python clients that read lines with ``str.splitlines`` would cut an event there.
    """
    if body.isascii():
        return body
    for raw, escaped in _SEPARATORS:
        if raw in body:
            body = body.replace(raw, escaped)
    return body


class SseEvent(Struct, frozen=True, gc=False):
    """One event. ``id`` is the last id the stream has named, as the SSE rules have it."""

    data: bytes
    id: str = ""
    event: str = ""


class Parser:
    """Cuts a byte stream into events, however it arrives.

    Feed it what the network delivers. Lines end in LF, CR or CRLF; comments and unknown fields are
    skipped; an event that the stream breaks off is dropped, as the SSE rules have it.
    """

    __slots__ = ("_after_cr", "_data", "_event", "_id", "_is_start", "_max", "_partial", "_size")

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        """Start at the beginning of a stream."""
        self._max = max_event_bytes
        self._partial: list[bytes] = []
        self._data: list[bytes] = []
        self._event = ""
        self._id = ""
        self._size = 0
        self._after_cr = False
        self._is_start = True

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """Take the next bytes and return the events they complete.

        Raises:
            InvalidAgentResponseError: one event grows beyond the limit.
        """
        if self._after_cr and chunk:
            # The CR ended a line already; an LF right after it belongs to the same line end.
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        events: list[SseEvent] = []
        # For bytes, these are LF, CR and CRLF and no others.
        for piece in chunk.splitlines(keepends=True):
            line = piece.rstrip(b"\r\n")
            self._size += len(line)
            if self._size > self._max:
                raise InvalidAgentResponseError(_TOO_LONG)
            self._partial.append(line)
            if len(line) == len(piece):
                break  # the rest of this line is still to come
            self._after_cr = piece.endswith(b"\r")
            if (event := self._end_line()) is not None:
                events.append(event)
        return events

    def _end_line(self) -> SseEvent | None:
        line = b"".join(self._partial)
        self._partial.clear()
        if self._is_start:
            line = line.removeprefix(b"\xef\xbb\xbf")
            self._is_start = False
        if not line:
            return self._end_event()
        name, _, value = line.partition(b":")
        self._take(name, value.removeprefix(b" "))
        return None

    def _take(self, name: bytes, value: bytes) -> None:
        match name:
            case b"data":
                self._data.append(value)
            case b"event":
                self._event = value.decode(errors="replace")
            case b"id" if b"\0" not in value:
                self._id = value.decode(errors="replace")
            case _:
                pass  # a comment has no name; retry is for the driver to ignore

    def _end_event(self) -> SseEvent | None:
        data, event = self._data, self._event
        self._data, self._event, self._size = [], "", 0
        return SseEvent(b"\n".join(data), self._id, event) if data else None
