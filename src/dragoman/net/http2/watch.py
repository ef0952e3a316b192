"""What is stuck on a connection, and what is of no use any more.

A peer that is gone, one that does not read or does not go on, calls that wait, a connection without
calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dragoman.net.http2.protocol.connection import Connection
    from dragoman.net.limits import ConnectionLimits

__all__ = ("Watch",)

PING_TIMEOUT_SECONDS: Final = 20.0
"""A client from which nothing comes for so long after a ping is gone."""


class Watch:
    """Compares what it sees with what it saw before; it is asked every ``interval`` seconds."""

    def __init__(self, http2: Connection, limits: ConnectionLimits, now: float) -> None:
        self.heard_at = now
        """When anything came from the peer. The driver sets it."""
        self._http2 = http2
        self._limits = limits
        self._made_at = now
        self._asked_at = now
        self._idle: tuple[int, float] | None = None
        self._stuck_at: dict[int, tuple[int, float]] = {}
        self._unwritten: tuple[int, float] | None = None

    @property
    def interval(self) -> float:
        """How often to look."""
        limits = self._limits
        return min(
            limits.heartbeat_seconds,
            limits.stall_seconds,
            limits.head_seconds,
            limits.body_seconds,
            limits.http2_idle_seconds,
        )

    def is_gone(self, now: float) -> bool:
        """Tell whether the peer does not answer; ask it if nothing has come for a while."""
        if self.heard_at < self._asked_at:
            return now - self._asked_at >= PING_TIMEOUT_SECONDS
        # Timers fire a little early.
        if now - self.heard_at >= 0.9 * self._limits.heartbeat_seconds:
            if not self._http2.has_greeted:
                return True  # It cannot be asked, and whoever connects has something to say.
            self._asked_at = now
            self._http2.ping()
        return False

    def is_late(self, now: float) -> bool:
        """Tell whether the peer takes too long for a head, or to begin at all.

        However lively it drips: each byte of a head is as much as a sign of life, and no more.
        """
        since = self._http2.amid_head_since if self._http2.has_greeted else self._made_at
        return since is not None and now - since >= self._limits.head_seconds

    def is_idle(self, now: float) -> bool:
        """Tell whether there was no call for as long as a connection may be kept for the next."""
        last = self._http2.last_stream
        if self._http2.open_streams:
            self._idle = None
        elif self._idle is None or self._idle[0] != last:
            # It may have been some time ago that the last one ended, but not so long.
            self._idle = last, now
        return self._idle is not None and now - self._idle[1] >= self._limits.http2_idle_seconds

    def is_stuck(self, unwritten: int, now: float) -> bool:
        """Tell whether the peer has taken no byte for too long, of so many that are waiting."""
        if not unwritten:
            self._unwritten = None
            return False
        if self._unwritten is None or self._unwritten[0] != unwritten:
            self._unwritten = unwritten, now
        return now - self._unwritten[1] >= self._limits.stall_seconds

    def stuck_streams(self, now: float) -> Iterator[int]:
        """Yield the streams of which the peer has taken nothing for too long."""
        before, self._stuck_at = self._stuck_at, {}
        for stream, taken in self._http2.progress().items():
            since = before.get(stream, (taken, now))
            if since[0] != taken:
                since = taken, now
            # Whoever follows events is told first that its reader is stuck.
            if now - since[1] > 2 * self._limits.stall_seconds:
                yield stream
            else:
                self._stuck_at[stream] = since
