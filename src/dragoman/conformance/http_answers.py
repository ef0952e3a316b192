"""Reading answers of HTTP: whole bodies of JSON, and streams of server-sent events.

Written for the checker alone: it shares no code with the client and the server that it checks.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Final

import msgspec

from dragoman.conformance.lines import HttpReply, NoAnswerError

__all__ = ("EVENT_STREAM", "MAX_BYTES", "json_of", "read_all", "read_events")

EVENT_STREAM: Final = "text/event-stream"

MAX_BYTES: Final = 8 * 1024 * 1024
"""No answer to what the checks ask is larger; what is, could fill the memory."""


async def read_all(reply: HttpReply) -> bytes:
    """Read the whole body of a reply.

    Raises:
        NoAnswerError: it is too large, or the connection was lost.
    """
    body = bytearray()
    async for chunk in reply.chunks:
        body += chunk
        if len(body) > MAX_BYTES:
            raise NoAnswerError(f"the answer has more than {MAX_BYTES} bytes")
    return bytes(body)


def json_of(body: bytes) -> tuple[object, tuple[str, ...]]:
    """Return the JSON of a body, and what is wrong with it if it is none."""
    try:
        return msgspec.json.decode(body), ()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        shown = body[:60].decode("utf-8", "replace")
        return None, (f"the body is not JSON: {shown!r}",)


async def read_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the data of server-sent events; comments and other fields are passed over.

    Raises:
        NoAnswerError: an event is too large, or the connection was lost.
    """
    rest, data = b"", list[bytes]()
    async for chunk in chunks:
        rest += chunk
        if len(rest) > MAX_BYTES or sum(map(len, data)) > MAX_BYTES:
            raise NoAnswerError(f"an event has more than {MAX_BYTES} bytes")
        # A CR at the very end may be the first half of a line break.
        *lines, rest = rest.replace(b"\r\n", b"\n").split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
            elif not line and data:
                yield b"\n".join(data)
                data.clear()
