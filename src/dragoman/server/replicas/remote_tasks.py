"""Tasks that another replica holds: following them, and posting to their inbox.

The log is the truth. Hints of the bus say when to look at it; one that is lost is made up for by
the sweep, which asks the store about all followed tasks at once. There is no timer per task.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final

import msgspec
from msgspec import Struct

from dragoman.bus.base import Bus, InboxFilled, TaskMoved
from dragoman.errors import (
    ConflictError,
    SentBeforeError,
    StoreError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
)
from dragoman.model.documents import EventDocument
from dragoman.model.tasks import TaskState
from dragoman.server.replicas.lease import ReplicaLease
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.inbox import NO_STORE
from dragoman.server.tasks.streams import BATCH_EVENTS, Channel, Follower, Hub
from dragoman.server.tasks.turns import STORE_POLL_SECONDS
from dragoman.stores.base import CANCEL_ITEM, Placed, SendRecord, SharedTaskStore, StoredTask

__all__ = ("RemoteTasks",)

_logger = logging.getLogger(__name__)

_STOPPING: Final = "The server is shutting down; try again"


class _Status(Struct, frozen=True):
    state: TaskState


class _Update(Struct, frozen=True):
    status: _Status


class _Entry(Struct, frozen=True, rename="camel"):
    status_update: _Update


_decode_entry: Final = msgspec.json.Decoder(_Entry).decode


def _state_in(event: EventDocument) -> TaskState | None:
    """Return the state that an event tells of; None if it is no status."""
    if not event.json.startswith(b'{"statusUpdate"'):
        return None
    return _decode_entry(event.json).status_update.status.state


class _Followed:
    """A task that somebody follows here."""

    __slots__ = ("channel", "has_moved", "is_over", "is_read", "unfollow")

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.unfollow: Callable[[], None] = lambda: None
        # There may be more in its log than is known here; and its log is being read.
        self.has_moved = False
        self.is_read = False
        # It is not ours to publish any more.
        self.is_over = False


class RemoteTasks:
    """What this replica has to do with tasks of others.

    Attributes:
        taken_over: how many tasks this replica has taken over from others that are gone.
        lost: how many others have taken over from this one.

    Args:
        alarm: set when there is work that nobody does; it makes the sweep come at once.
    """

    def __init__(
        self,
        *,
        store: SharedTaskStore,
        replica: ReplicaLease,
        bus: Bus,
        hub: Hub,
        background: BackgroundTasks,
        alarm: asyncio.Event,
    ) -> None:
        self.store: Final = store
        self.replica: Final = replica
        self._bus = bus
        self._hub = hub
        self._background = background
        self._alarm = alarm
        self._followed: dict[str, _Followed] = {}
        self.taken_over: int = 0
        self.lost: int = 0

    # --- following ------------------------------------------------------------------------------

    def channel(self, stored: StoredTask) -> Channel:
        """Return what to follow a task by; a Follower has to join it in the same pass.

        It goes on wherever the task goes, to this replica included.
        """
        followed = self._followed.get(stored.id)
        if followed is not None:
            return followed.channel
        channel = Channel(
            self._hub,
            lambda after, limit: self.store.read_events(stored.id, after=after, limit=limit),
            seq=stored.seq,
            paused_at=stored.seq if stored.state.is_interrupted else 0,
        )
        self._follow(stored.id, channel)
        return channel

    def keep(self, task_id: str, channel: Channel) -> None:
        """Go on with the followers of a task that another replica has taken over."""
        self.lost += 1
        if not channel.is_followed:
            return
        if task_id in self._followed:
            # Somebody has come to follow it since; these come back with their cursor.
            channel.cut()
        else:
            self._follow(task_id, channel)

    def is_free(self, stored: StoredTask) -> bool:
        """Tell whether a task may be taken up here: no other replica has it that may live."""
        return not stored.is_elsewhere and self.replica.may_take(stored)

    def note_taken(self, known: StoredTask) -> None:
        """Count a task that is now held here, as it was known before: parked, or somebody's."""
        if known.holder not in ("", self.replica.id):
            self.taken_over += 1

    def claim(self, task_id: str) -> Channel | None:
        """Return the channel of a task that is from now on held here, if it was followed."""
        followed = self._followed.get(task_id)
        if followed is None:
            return None
        self._forget(task_id, followed)
        return followed.channel

    def known(self) -> Mapping[str, int]:
        """Return the tasks that are followed, and up to which event each is known."""
        return {task_id: followed.channel.seq for task_id, followed in self._followed.items()}

    def look_at(self, task_ids: Iterable[str]) -> None:
        """Read on in the logs of tasks that are followed."""
        for task_id in task_ids:
            if (followed := self._followed.get(task_id)) is not None:
                self._read_on(task_id, followed)

    def announce(self, task_id: str, seq: int) -> None:
        """Tell the other replicas up to which event the log of a task reaches."""
        self._bus.publish(TaskMoved(task_id, seq))

    def _follow(self, task_id: str, channel: Channel) -> None:
        followed = self._followed[task_id] = _Followed(channel)

        def moved(seq: int) -> None:
            if seq > channel.seq:
                self._read_on(task_id, followed)

        followed.unfollow = self._bus.follow(task_id, moved)
        channel.on_idle = partial(self._forget, task_id, followed)
        # Between the look at the task and this, it may have moved.
        self._read_on(task_id, followed)

    def _forget(self, task_id: str, followed: _Followed) -> None:
        followed.is_over = True
        followed.channel.on_idle = None
        followed.unfollow()
        if self._followed.get(task_id) is followed:
            del self._followed[task_id]

    def _read_on(self, task_id: str, followed: _Followed) -> None:
        followed.has_moved = True
        if not followed.is_read:
            followed.is_read = True
            self._background.spawn(self._read(task_id, followed), name=f"log of {task_id}")

    async def _read(self, task_id: str, followed: _Followed) -> None:
        channel = followed.channel
        try:
            while followed.has_moved:
                followed.has_moved = False
                while events := await self.store.read_events(
                    task_id, after=channel.seq, limit=BATCH_EVENTS
                ):
                    if followed.is_over:
                        return
                    _publish(channel, events)
        except StoreError as error:
            _logger.debug("task %s cannot be followed for now: %s", task_id, error)
        finally:
            followed.is_read = False

    def release(self, task_id: str, epoch: int) -> None:
        """Let any replica have a task that is not in memory here, as soon as the store is there."""
        self._background.spawn(self._release(task_id, epoch), name=f"release of {task_id}")

    async def _release(self, task_id: str, epoch: int) -> None:
        while True:
            try:
                await self.store.release(task_id, epoch)
            except StoreError:
                await self.replica.clock.sleep(STORE_POLL_SECONDS)
            else:
                return

    # --- leaving word ---------------------------------------------------------------------------

    async def post(self, stored: StoredTask, body: bytes, send: SendRecord | None) -> Placed:
        """Put something into the inbox of a task, durably, and tell its holder.

        Raises:
            SentBeforeError: another replica has got the same message first.
        """
        try:
            placed = await self.store.post(stored.id, body, send)
        except SentBeforeError:
            raise
        except ConflictError:
            raise TaskNotFoundError(stored.id) from None  # It was removed, for its age.
        except StoreError:
            raise UnavailableError(NO_STORE) from None
        if placed.n:
            self._bus.publish(InboxFilled(stored.id, stored.holder))
        if not stored.is_elsewhere:
            self._alarm.set()
        return placed

    async def cancel(self, stored: StoredTask) -> None:
        """Have a task canceled by its holder, or by whoever takes over from that.

        Raises:
            TaskNotCancelableError: it ended otherwise (R-3.1.5-3).
        """
        placed = await self.post(stored, CANCEL_ITEM, None)
        if not placed.n:
            raise TaskNotCancelableError(stored.id, placed.state.value)
        state = await self._wait(stored, placed.seq, lambda state: state.is_terminal)
        if state is not TaskState.CANCELED:
            raise TaskNotCancelableError(stored.id, state.value)

    def settled(self, stored: StoredTask, after: int) -> asyncio.Future[None]:
        """Return a future for the next end or pause of a task after an event."""
        settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        wait = self._background.spawn(
            self._settle(settled, stored, after), name=f"wait for {stored.id}"
        )
        # Who stops waiting stops following.
        settled.add_done_callback(lambda _: wait.cancel())
        # It may be stopped with the server, even before it has begun.
        wait.add_done_callback(lambda _: _fail(settled, UnavailableError(_STOPPING)))
        return settled

    async def _settle(self, settled: asyncio.Future[None], stored: StoredTask, after: int) -> None:
        try:
            await self._wait(stored, after, lambda state: state.is_terminal or state.is_interrupted)
        except UnavailableError as error:
            _fail(settled, error)
        else:
            if not settled.done():
                settled.set_result(None)

    async def _wait(
        self, stored: StoredTask, after: int, is_it: Callable[[TaskState], bool]
    ) -> TaskState:
        """Follow a task from an event on until it is in a state, and return that."""
        follower = Follower(self.channel(stored), first=None, cursor=after)
        try:
            async for batch in follower:
                for event in batch:
                    state = _state_in(event)
                    if state is not None and is_it(state):
                        return state
        except StoreError:
            raise UnavailableError(NO_STORE) from None
        finally:
            await follower.aclose()
        # The stream ended before the task did.
        raise UnavailableError(_STOPPING)


def _fail(settled: asyncio.Future[None], error: UnavailableError) -> None:
    if not settled.done():
        settled.set_exception(error)
        settled.exception()  # Perhaps nobody looks at it any more; that is no fault.


def _publish(channel: Channel, events: Sequence[EventDocument]) -> None:
    """Show events of the log to those who follow."""
    paused_at = ended_at = 0
    for event in events:
        state = _state_in(event)
        if state is TaskState.INPUT_REQUIRED:
            paused_at = event.seq
        elif state is not None and state.is_terminal:
            ended_at = event.seq
    channel.publish(events[-1].seq, events, paused_at=paused_at, ended_at=ended_at)
