"""What a peer of HTTP/1.1 may take: time for a request and between two, and room for its head.

uvicorn bounds neither a head nor the time for one, so a peer that sends a byte now and then could
hold connections and memory for ever. Each connection has one timer for as long as it lives; a
request that arrives whole starts none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from dragoman.net.limits import ConnectionLimits

if TYPE_CHECKING:
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
    from uvicorn.server import ServerState

__all__ = ("WatchedProtocol",)

_Stage: TypeAlias = Literal["idle", "head", "body"] | None
"""What the peer owes: the next request, the rest of a head, the rest of a body, or nothing."""

_HEAD_TOO_LARGE: Final = b"The request has too many headers, or too large ones."
_TOO_SLOW: Final = b"The request took too long to arrive."


class _RefusedError(Exception):
    """Ends the work of the parser, which makes an error of its own of it."""


class WatchedProtocol(HttpToolsProtocol):
    """A connection that ends when its peer takes too long, or more than its share.

    Attributes:
        at_work: the request that is being answered, or was last; others may wait behind it. Whoever
            inherits this sets it.
    """

    at_work: RequestResponseCycle | None = None

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limits: ConnectionLimits,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # Told to write no access log, uvicorn still does once somebody listens to its logger; and
        # its lines have the whole query, where keys may be.
        self.access_log: bool = self.access_log and config.access_log
        self._limits = limits
        self._seconds: dict[_Stage, float] = {
            "idle": limits.keep_alive_seconds,
            "head": limits.head_seconds,
            "body": limits.body_seconds,
        }
        # No stage is shorter than this. So whenever one begins, the timer goes off before its end.
        self._tick_seconds = min(self._seconds.values())
        self._stage: _Stage = None
        # The stage that is watched, and the time at which it is to be over.
        self._watched: _Stage = None
        self._due = 0.0
        self._chunk_bytes = 0
        # Upper bound of what has been read of the request so far.
        self._read_bytes = 0

    # --- a request ------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Read on; begin to watch unless what has begun is complete by now."""
        self._chunk_bytes = len(data)
        if self._stage == "head":
            self._read_bytes += len(data)
        super().data_received(data)
        # A header without end never gets as far as ``on_headers_complete``.
        if self._stage == "head" and self._read_bytes > self._limits.max_header_bytes:
            self._refuse(431, _HEAD_TOO_LARGE)
        elif self._stage != self._watched:
            self._watch(self._stage)

    def on_message_begin(self) -> None:
        """Note that a head has begun."""
        super().on_message_begin()
        self._stage = "head"
        self._read_bytes = self._chunk_bytes

    def on_headers_complete(self) -> None:
        """Look at what the head holds; the rest is up to whoever inherits this."""
        limits = self._limits
        if len(self.headers) > limits.max_headers or (
            # Counted one by one only if it may be too much.
            self._read_bytes > limits.max_header_bytes
            and len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
            > limits.max_header_bytes
        ):
            self._refuse(431, _HEAD_TOO_LARGE)
            raise _RefusedError
        self._stage = "body"

    def on_message_complete(self) -> None:
        """Note that the peer owes nothing more."""
        self._stage = None
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, unless that has been done."""
        self._stage = None
        if self._is_answering():
            self.transport.close()
        elif not self.transport.is_closing():
            super().send_400_response(msg)

    def _is_answering(self) -> bool:
        """Tell whether an answer is on its way; another one in the midst of it would be a lie."""
        cycle = self.at_work
        return cycle is not None and cycle.response_started and not cycle.response_complete

    # --- time -----------------------------------------------------------------------------------

    def begin_idling(self) -> None:
        """Wait for the next request, for as long as a connection may idle."""
        self._watch("idle")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop watching."""
        super().connection_lost(exc)
        self._stage = self._watched = None
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()

    def timeout_keep_alive_handler(self) -> None:
        """End a connection whose peer has let its time pass; else look again when it may have."""
        self.timeout_keep_alive_task = None
        stage = self._watched
        if stage is None:
            return  # The next stage starts the timer again.
        left = self._due - self.loop.time()
        if left > 0:
            self._start_timer(min(left, self._tick_seconds))
        elif stage == "idle":
            super().timeout_keep_alive_handler()
        elif self.flow.read_paused:
            self._watch(stage)  # It is we who do not read: requests before this one are at work.
        else:
            self._refuse(408, _TOO_SLOW)

    def _watch(self, stage: _Stage) -> None:
        self._watched = stage
        if stage is not None:
            self._due = self.loop.time() + self._seconds[stage]
            if self.timeout_keep_alive_task is None:
                self._start_timer(self._tick_seconds)

    def _start_timer(self, seconds: float) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(
            seconds, self.timeout_keep_alive_handler
        )

    def _unset_keepalive_if_required(self) -> None:
        """Leave the timer alone: uvicorn would stop it whenever something was read."""

    def _refuse(self, status: int, text: bytes) -> None:
        """Tell what is wrong, unless an answer is on its way already, and end the connection."""
        self._stage = self._watched = None
        if not self._is_answering():
            self.transport.write(
                b"%bcontent-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%b" % (STATUS_LINE[status], len(text), text)
            )
        self.transport.close()
