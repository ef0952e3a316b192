"""A pipe of bytes from an accepted connection to a server behind a unix socket.

It knows nothing of what it carries. Neither side can fill its memory: while one does not take
what the other sends, the other is not read; and one that takes nothing for too long is cut.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from typing import Final, Protocol, cast

__all__ = ("CLOSE_SECONDS", "Backend", "Near")

CLOSE_SECONDS: Final = 2.0
"""How long the last bytes may take to go out once the other side has ended."""


class Backend(Protocol):
    """Whoever is to be given connections."""

    def serve(self, near: Near, first: bytes) -> None:
        """Take over a connection of which ``first`` has been read."""
        ...


class _End(asyncio.Protocol):
    """One end of a pipe: what arrives here is written to the other end."""

    transport: asyncio.Transport

    def __init__(self, other: _End | None = None) -> None:
        self.other = other
        self.has_ended = False
        """Whether its peer has said that nothing more comes."""
        self.stall_seconds = CLOSE_SECONDS
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        # The transports of uvloop are no subclasses of asyncio's.
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Pass it on."""
        if self.other is not None and not self.other.transport.is_closing():
            self.other.transport.write(data)

    def pause_writing(self) -> None:
        """Take no more for a peer that does not read, and watch whether it ever does."""
        if self.other is not None and not self.other.transport.is_closing():
            self.other.transport.pause_reading()
        # The end of a side that is not read goes unnoticed: only this brings both to an end.
        self._watch()

    def resume_writing(self) -> None:
        """Go on."""
        self._stop_timer()
        if self.other is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def eof_received(self) -> bool:
        """Pass on that nothing more comes from here; what comes from there still may."""
        self.has_ended = True
        other = self.other
        if other is None or other.has_ended or not self._may_half_close(other):
            self.close()
            return False
        other.transport.write_eof()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """End the other side too: politely, unless this side broke."""
        self._stop_timer()
        if self.other is not None:
            if exc is None:
                self.other.close()
            else:
                self.other.transport.abort()

    def close(self) -> None:
        """Close once everything is written, or when that takes too long."""
        if not self.transport.is_closing():
            self.transport.close()
            self._stop_timer()
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(CLOSE_SECONDS, self.transport.abort)

    def _watch(self) -> None:
        waiting = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() < waiting:
                self._watch()
            else:
                self.transport.abort()

        if not self.transport.is_closing():
            self._timer = asyncio.get_running_loop().call_later(self.stall_seconds, look)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _may_half_close(self, other: _End) -> bool:
        """Tell whether one direction can end before the other; under TLS it cannot."""
        return (
            self.transport.can_write_eof()
            and other.transport.can_write_eof()
            and not other.transport.is_closing()
        )


class Near(_End):
    """The accepted end. It takes over its transport, and does not read until it is carried on."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self.transport = transport
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        transport.set_protocol(self)
        transport.pause_reading()

    @property
    def lost(self) -> asyncio.Future[None]:
        """Done when the connection is."""
        return self._lost

    async def carry(self, first: bytes, *, to: str, bound_to: str, stall_seconds: float) -> None:
        """Carry bytes both ways until the connection is lost; cut it when this is canceled.

        Args:
            first: what has been read already.
            to: the path of the server's socket.
            bound_to: the path under which the server will see this connection. It is gone from
                the file system by then.
            stall_seconds: a side that takes no byte for this long ends both.

        Raises:
            OSError: there is no server; the connection is cut then.
        """
        try:
            if not self._lost.done():
                # It may speak before it has been spoken to, and before we know of it.
                far = _End(self)
                far.stall_seconds = self.stall_seconds = stall_seconds
                await _dial(far, to, bound_to)
                self.other = far
                far.transport.write(first)
                self._begin(far)
            await asyncio.shield(self._lost)
        finally:
            self.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the other side, and whoever carries."""
        super().connection_lost(exc)
        if not self._lost.done():
            self._lost.set_result(None)

    def shutdown(self) -> None:
        """End, as uvicorn asks of every connection when it stops."""
        self.close()

    def _begin(self, far: _End) -> None:
        if self.transport.is_closing():
            far.close()  # It was lost while the server was called.
        else:
            self.transport.resume_reading()


async def _dial(far: _End, to: str, bound_to: str) -> None:
    dialed = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        dialed.settimeout(0)
        dialed.bind(bound_to)
        # Never waits: a unix socket is connected at once, or not at all.
        dialed.connect(to)
        await asyncio.get_running_loop().create_unix_connection(lambda: far, sock=dialed)
    except BaseException:
        dialed.close()
        raise
    finally:
        with suppress(FileNotFoundError):
            os.unlink(bound_to)
