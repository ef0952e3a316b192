"""Http1Connection: HTTP/1.1 on one connection, one request after the other.

httptools reads, asyncio carries. A general client of HTTP takes several times as long for a call as
the agent does; this one does what calls need. Proxies, redirects and cookies are not known here.
"""

from __future__ import annotations

import asyncio
import select
from collections import deque
from collections.abc import Callable
from typing import Final, cast

import httptools
from msgspec import Struct

__all__ = ("Http1Connection", "Http1Errors")

_MAX_HEAD_BYTES: Final = 256 * 1024
"""What a status line and its headers may take. Servers commonly stop at 8 to 64 KiB."""

_HIGH_WATER_BYTES: Final = 512 * 1024
"""So much of a body is taken in before anybody has read it."""

_SLICE_BYTES: Final = 64 * 1024
"""A request goes out in slices of this size, so that a slow line shows that it is alive."""

_FRAMED: Final = frozenset({"content-length", "transfer-encoding"})


class Http1Errors(Struct, frozen=True, kw_only=True):
    """The exceptions to raise, which are the caller's own.

    Attributes:
        unreachable: no connection could be made. Takes the address and the reason.
        cut: the connection was lost before the answer was complete. Takes the address and the
            reason.
        malformed: what came is no answer of HTTP/1.1. Takes the address and what is wrong.
        timed_out: no answer came in time. Takes the message.
    """

    unreachable: Callable[[str, str], Exception]
    cut: Callable[[str, str], Exception]
    malformed: Callable[[str, str], Exception]
    timed_out: Callable[[str], Exception]


class Http1Connection(asyncio.Protocol):
    """A connection, made by ``loop.create_connection``.

    ``send`` a request, wait for its ``head``, ``read`` its body to the end, and it can be used
    again if ``is_reusable``; otherwise ``close`` it. Only one exchange goes on at a time.

    Attributes:
        status, headers: the head of the answer, once it is there; names in lower case.
        closed: done when the connection is gone.
        idle_since: when it was used last, for the one who keeps it.
    """

    def __init__(self, address: str, errors: Http1Errors) -> None:
        """Speak to ``address``, by which errors call the peer."""
        self._address = address
        self._errors = errors
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._chunks: deque[bytes] = deque()
        self._is_writable = True
        self._is_keeping = False
        self.closed: asyncio.Future[None] = self._loop.create_future()
        self.idle_since: float = 0.0
        self._reset()

    def _reset(self) -> None:
        self._chunks.clear()
        self.status: int = 0
        self.headers: dict[str, str] = {}
        self._problem: Exception | None = None
        self._head_bytes = self._held_bytes = 0
        self._is_framed = self._is_complete = self._is_paused = False

    # --- for the one who asks -------------------------------------------------------------------

    @property
    def is_reusable(self) -> bool:
        """Tell whether another request can be sent: the last one has got its answer, all of it."""
        is_read = self._is_complete and not self._is_paused
        return is_read and self._is_keeping and not self.closed.done()

    @property
    def is_waiting(self) -> bool:
        """Tell whether it stands idle as it should: the peer has neither hung up nor spoken.

        The event loop may not have looked yet.
        """
        if self._transport is None:
            return False
        return not _is_readable(self._transport.get_extra_info("socket").fileno())

    async def send(self, data: bytes, seconds: float) -> None:
        """Send a request; stop where the peer answers before it has heard all of it.

        Args:
            seconds: how long the peer may take not a byte.
        """
        self._reset()
        self._parser = httptools.HttpResponseParser(self)
        if self._transport is None:
            self._fail(self._errors.cut(self._address, "the agent has hung up"))
        for start in range(0, len(data), _SLICE_BYTES):
            if self._transport is None or self._problem or self.status:
                return
            is_whole = len(data) <= _SLICE_BYTES
            self._transport.write(data if is_whole else data[start : start + _SLICE_BYTES])
            while not (self._is_writable or self._problem or self.status):
                await self._wait(seconds)

    async def head(self, seconds: float) -> None:
        """Wait for status and headers.

        Raises:
            Exception: one of ``Http1Errors``: they do not come.
        """
        while not self.status:
            if self._problem is not None:
                raise self._problem
            await self._wait(seconds)

    async def read(self, seconds: float) -> bytes:
        """Return what has come of the body, b"" at its end.

        Raises:
            Exception: one of ``Http1Errors``: the rest does not come.
        """
        while not self._chunks:
            if self._is_complete:
                return b""
            if self._problem is not None:
                raise self._problem
            await self._wait(seconds)
        data = self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._held_bytes = 0
        if self._is_paused and self._transport is not None:
            self._is_paused = False
            self._transport.resume_reading()
        return data

    def close(self) -> None:
        """Give the connection up; what is under way is broken off."""
        self._is_keeping = False
        if self._transport is not None and self._is_complete:
            self._transport.close()
        else:
            self.abort()

    def abort(self) -> None:
        """Give the connection up at once; the peer may not get all that it was sent."""
        self._is_keeping = False
        if self._transport is not None:
            self._transport.abort()

    async def _wait(self, seconds: float) -> None:
        self._waiter = self._loop.create_future()
        try:
            async with asyncio.timeout(seconds):
                await self._waiter
        except TimeoutError:
            raise self._errors.timed_out(f"{self._address} did not answer in time") from None
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, problem: Exception) -> None:
        if not self._is_complete:
            self._problem = self._problem or problem
            self._wake()

    # --- for asyncio ----------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end, which may be the end of a body."""
        self._transport = None
        if not self.closed.done():
            self.closed.set_result(None)
        # RFC 9112, 6.3: a body without a length ends with the connection.
        if self.status and not self._is_framed and exc is None and not self._is_complete:
            self._is_complete = True
            self._wake()
        missing = "in the middle of an answer" if self.status else "without an answer"
        self._fail(self._errors.cut(self._address, str(exc or f"the agent hung up {missing}")))

    def data_received(self, data: bytes) -> None:
        """Read what comes."""
        if self._parser is None or self._is_complete:
            self.abort()  # Nobody has asked: it must not be taken for the answer to what follows.
            return
        if not self.status:
            self._head_bytes += len(data)
            if self._head_bytes > _MAX_HEAD_BYTES:
                self._refuse(f"the head of the answer has more than {_MAX_HEAD_BYTES} bytes")
                return
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse("it wants to go on in another protocol")
        except httptools.HttpParserError as problem:
            self._refuse(f"what comes is not HTTP/1.1: {problem}")

    def pause_writing(self) -> None:
        """Hold the next slice back."""
        self._is_writable = False

    def resume_writing(self) -> None:
        """Let the next slice go."""
        self._is_writable = True
        self._wake()

    def _refuse(self, finding: str) -> None:
        self._fail(self._errors.malformed(self._address, finding))
        self.abort()

    # --- for httptools --------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin an answer, perhaps one that only says that another will come (RFC 9110, 15.2)."""
        if self._is_complete:
            self._is_keeping = False  # A second answer to one request.
        elif not self.status:
            self.headers = {}

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; of those that come after a body, none means anything to us."""
        if self.status:
            return
        key, text = name.decode("latin-1").lower(), value.decode("latin-1")
        known = self.headers.get(key)
        self.headers[key] = text if known is None else f"{known}, {text}"

    def on_headers_complete(self) -> None:
        """Note that the head is there."""
        if self._parser is None or self.status:
            return
        status = self._parser.get_status_code()
        if status >= 200:
            self.status = status
            self._is_framed = not _FRAMED.isdisjoint(self.headers)
            self._wake()

    def on_body(self, data: bytes) -> None:
        """Keep a piece of the body, and take in no more for now if there is much of it."""
        if self._is_complete:
            return
        self._chunks.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > _HIGH_WATER_BYTES and not self._is_paused and self._transport:
            self._is_paused = True
            self._transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        """Note that the answer is complete."""
        if self.status and not self._is_complete and self._parser is not None:
            self._is_complete = True
            self._is_keeping = self._parser.should_keep_alive()
            self._wake()


def _is_readable(number: int) -> bool:
    """Tell whether there is something to read at a file descriptor, be it the end."""
    if not hasattr(select, "poll"):  # Windows, where select takes any number.
        return bool(select.select([number], [], [], 0)[0])
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))
