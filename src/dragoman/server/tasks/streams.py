"""Whoever follows a task: live events from memory, older ones from the log.

A follower never blocks the task, never loses an event and never grows without bound. While somebody
follows, a channel keeps the newest events in memory; who falls behind that reads the log until
caught up. A client that comes back with ``Last-Event-ID`` is replayed what it has missed the same
way: ``Channel.after`` and ``read_log``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from dragoman.model.documents import EventDocument

__all__ = (
    "Channel",
    "Follower",
    "Hub",
    "SharedTimeout",
)


RING_EVENTS: Final = 1024
"""Events kept per followed task; a reader further behind is served from the log."""

RING_BYTES: Final = 1024 * 1024
"""And no more than this much of them, whatever their number."""

BATCH_EVENTS: Final = 256
"""Events handed to a reader at once, so that one slow write is never huge."""

ReadLog = Callable[[int, int], Awaitable[tuple[EventDocument, ...]]]
"""read(after, limit): events from the log."""


class Hub:
    """All followers of one process: they get their heartbeats and their end here."""

    def __init__(self) -> None:
        # Here and in channels, a set in the order of coming: chance is to have no part in anything.
        self._followers: dict[Follower, None] = {}
        self._is_closing = False

    def __len__(self) -> int:
        """Count the open streams."""
        return len(self._followers)

    @property
    def is_closing(self) -> bool:
        """Tell whether streams are being ended."""
        return self._is_closing

    def join(self, follower: Follower) -> None:
        """Count a follower in."""
        self._followers[follower] = None

    def leave(self, follower: Follower) -> None:
        """Count a follower out."""
        self._followers.pop(follower, None)

    def heartbeat(self) -> None:
        """Make every waiting follower hand out an empty batch."""
        for follower in tuple(self._followers):
            follower.wake(is_heartbeat=True)

    def close(self) -> None:
        """End all streams after what is ready; clients come back with their cursor."""
        self._is_closing = True
        for follower in tuple(self._followers):
            follower.wake()


class Channel:
    """The committed events of one task, for those who follow it."""

    __slots__ = (
        "_followers",
        "_is_cut",
        "_read_log",
        "_ring",
        "_ring_bytes",
        "ended_at",
        "hub",
        "on_idle",
        "paused_at",
        "seq",
    )

    def __init__(
        self, hub: Hub, read_log: ReadLog, *, seq: int = 0, paused_at: int = 0, ended_at: int = 0
    ) -> None:
        """Begin after event ``seq``; the others are 0, or where the task has stopped.

        ``on_idle`` may be set to what is to be done when the last follower has left.
        """
        self.on_idle: Callable[[], None] | None = None
        self.hub: Final = hub
        self.seq: int = seq
        self.ended_at: int = ended_at
        self.paused_at: int = paused_at
        self._read_log = read_log
        self._is_cut = False
        self._followers: dict[Follower, None] = {}
        self._ring: list[EventDocument] = []
        self._ring_bytes = 0

    def publish(
        self, seq: int, events: Iterable[EventDocument], *, paused_at: int, ended_at: int
    ) -> None:
        """Make committed events up to ``seq`` visible; the others are 0, or where the task stopped.

        The events are made when they are iterated over, which happens only if somebody follows.
        """
        self.seq = seq
        self.paused_at = paused_at or self.paused_at
        self.ended_at = ended_at or self.ended_at
        if not self._followers:
            return
        start = len(self._ring)
        self._ring.extend(events)
        self._ring_bytes += sum(len(event.json) for event in self._ring[start:])
        self._trim()
        for follower in self._followers:
            follower.wake()

    def skip_to(self, seq: int, *, is_paused: bool) -> None:
        """Let followers read the log for the events up to ``seq``, where the task is now."""
        self._ring = []
        self._ring_bytes = 0
        self.publish(seq, (), paused_at=seq if is_paused else 0, ended_at=0)

    @property
    def is_followed(self) -> bool:
        """Tell whether anybody follows."""
        return bool(self._followers)

    @property
    def is_closing(self) -> bool:
        """Tell whether followers should leave: the server stops, or the task went elsewhere."""
        return self._is_cut or self.hub.is_closing

    def cut(self) -> None:
        """End the streams of a task that goes on elsewhere; clients come back with their cursor."""
        self._is_cut = True
        for follower in self._followers:
            follower.wake()

    def after(self, cursor: int) -> Sequence[EventDocument] | None:
        """Return the events after ``cursor`` that are at hand; None when the log must be asked."""
        if cursor >= self.seq:
            return ()
        ring = self._ring
        if not ring or cursor + 1 < ring[0].seq:
            return None
        start = cursor + 1 - ring[0].seq
        return ring[start : start + BATCH_EVENTS]

    async def read_log(self, cursor: int) -> Sequence[EventDocument]:
        """Return events after ``cursor`` from the log."""
        return await self._read_log(cursor, BATCH_EVENTS)

    def join(self, follower: Follower) -> None:
        """Count a follower in."""
        self._followers[follower] = None
        self.hub.join(follower)

    def leave(self, follower: Follower) -> None:
        """Count a follower out; without followers nothing is kept in memory."""
        self._followers.pop(follower, None)
        self.hub.leave(follower)
        if not self._followers:
            self._ring = []
            self._ring_bytes = 0
            if self.on_idle is not None:
                self.on_idle()

    def _trim(self) -> None:
        ring = self._ring
        if len(ring) <= 2 * RING_EVENTS and self._ring_bytes <= RING_BYTES:
            return
        size = 0
        keep = 0
        for event in reversed(ring):
            size += len(event.json)
            if keep >= RING_EVENTS or size > RING_BYTES:
                break
            keep += 1
        del ring[: len(ring) - keep]
        self._ring_bytes = sum(len(event.json) for event in ring)


class Follower:
    """An EventStream over a channel: ``first`` (already durable), then the events after ``cursor``.

    It ends with the task; with ``until_pause`` also when the task stops for input (Q-03).

    Args:
        start: stops before this event do not count; by default, those before the cursor.
    """

    __slots__ = ("_channel", "_cursor", "_first", "_is_closed", "_start", "_until_pause", "_waiter")

    def __init__(
        self,
        channel: Channel,
        *,
        first: EventDocument | None,
        cursor: int,
        until_pause: bool = False,
        start: int | None = None,
    ) -> None:
        self._channel = channel
        self._first = first
        self._cursor = cursor
        self._start = cursor if start is None else start
        self._until_pause = until_pause
        self._is_closed = False
        self._waiter: asyncio.Future[bool] | None = None
        channel.join(self)

    def __aiter__(self) -> Follower:
        """Return the iterator itself."""
        return self

    async def __anext__(self) -> tuple[EventDocument, ...]:
        """Return what is ready; wait when nothing is. An empty batch is a heartbeat."""
        if self._first is not None:
            first, self._first = self._first, None
            return (first, *self._at_hand())
        channel = self._channel
        while not self._is_closed:
            batch = channel.after(self._cursor)
            if batch is None:
                batch = await channel.read_log(self._cursor)
                if not batch and self._cursor < channel.seq:
                    break  # The task was removed, for its age; nothing will ever come.
            if batch:
                self._cursor = batch[-1].seq
                return tuple(batch)
            if self._is_over():
                break
            self._waiter = asyncio.get_running_loop().create_future()
            if await self._waiter:
                return ()
        raise StopAsyncIteration

    def begin_with(self, first: EventDocument) -> None:
        """Show this before all else; for one that had to join before it was known."""
        self._first = first

    async def aclose(self) -> None:
        """Stop following; wakes whoever iterates."""
        if not self._is_closed:
            self._is_closed = True
            self._channel.leave(self)
            self.wake()

    def wake(self, *, is_heartbeat: bool = False) -> None:
        """Let a waiting reader look again."""
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(is_heartbeat)

    def _at_hand(self) -> tuple[EventDocument, ...]:
        """Return what can go out together with the first frame."""
        batch = self._channel.after(self._cursor)
        if not batch:
            return ()
        self._cursor = batch[-1].seq
        return tuple(batch)

    def _is_over(self) -> bool:
        channel = self._channel
        if channel.ended_at and self._cursor >= channel.ended_at:
            return True
        if channel.is_closing:
            return True
        return (
            self._until_pause
            and channel.paused_at >= self._start
            and self._cursor >= channel.paused_at
        )


class SharedTimeout:
    """Waits for futures, for each of them no longer than the same number of seconds.

    So the wait that began first is the first whose time is up, and the timer looks at that one.
    """

    __slots__ = ("_deadlines", "_seconds", "_timer")

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # The waits under way, in the order in which they began.
        self._deadlines: dict[asyncio.Future[None], float] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, future: asyncio.Future[None]) -> None:
        """Wait until the future is done; it is made so when the time is up."""
        loop = future.get_loop()
        deadline = loop.time() + self._seconds
        self._deadlines[future] = deadline
        if self._timer is None:
            self._timer = loop.call_at(deadline, self._end_waits, loop)
        try:
            await future
        finally:
            self._deadlines.pop(future, None)

    def _end_waits(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the waits whose time is up, and look again when the next one's is."""
        self._timer = None
        now = loop.time()
        for future, deadline in self._deadlines.items():
            if deadline > now:
                self._timer = loop.call_at(deadline, self._end_waits, loop)
                return
            if not future.done():
                future.set_result(None)
