"""What a replica has to do with tasks of others. Whole stories are in ``scenarios/replicas``."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from dragoman.bus.base import InboxFilled, ReplicaHint, TaskMoved
from dragoman.bus.local import LocalBus, LocalExchange
from dragoman.errors import (
    SentBeforeError,
    StoreUnavailableError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
)
from dragoman.model.documents import EventDocument, encode_entry
from dragoman.model.events import TaskStatusUpdateEvent
from dragoman.model.tasks import TaskState, TaskStatus
from dragoman.server.replicas.lease import ReplicaLease
from dragoman.server.replicas.remote_tasks import RemoteTasks
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.streams import Channel, Follower, Hub
from dragoman.stores.base import (
    CANCEL_ITEM,
    Placed,
    SendKey,
    SendRecord,
    StoredTask,
    TaskWrite,
)
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.stores.memory.store import MemoryRecords
from dragoman.testing.clock import FakeClock
from tests.contracts.storing import write
from tests.support.server.fakes import NEW_TASK, SCOPE

WORKING = TaskState.WORKING
COMPLETED = TaskState.COMPLETED
CANCELED = TaskState.CANCELED
INPUT_REQUIRED = TaskState.INPUT_REQUIRED
AUTH_REQUIRED = TaskState.AUTH_REQUIRED


class Store(SharedMemoryTaskStore):
    """Counts how often a log is read, and fails when it is told to."""

    reads = 0
    is_down = False

    async def read_events(
        self, task_id: str, *, after: int, limit: int
    ) -> tuple[EventDocument, ...]:
        self.reads += 1
        if self.is_down:
            raise StoreUnavailableError("gone")
        return await super().read_events(task_id, after=after, limit=limit)

    async def post(self, task_id: str, body: bytes, send: SendRecord | None) -> Placed:
        if self.is_down:
            raise StoreUnavailableError("gone")
        return await super().post(task_id, body, send)


class Stage:
    """A replica that holds nothing, and beside it one that holds the task t-1."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        records = MemoryRecords()
        self.holder = SharedMemoryTaskStore(records, clock=self.clock)
        self.store = Store(records, clock=self.clock)
        self.hub = Hub()
        self.background = BackgroundTasks()
        self.alarm = asyncio.Event()
        exchange = LocalExchange()
        self.bus, self.other_bus = LocalBus(exchange), LocalBus(exchange)
        self.replica = ReplicaLease(self.store, self.clock, lease_seconds=10)
        self.remote_tasks = RemoteTasks(
            store=self.store,
            replica=self.replica,
            bus=self.bus,
            hub=self.hub,
            background=self.background,
            alarm=self.alarm,
        )
        self.heard: list[ReplicaHint] = []
        self.seq = 0

    async def open(self) -> None:
        for store in (self.holder, self.store):
            await store.open()
        await self.holder.join("holder", lease_seconds=10)
        await self.replica.join()
        await self.bus.open(self.replica.id, on_hint=_ignore, on_reconnect=_nothing)
        await self.other_bus.open("holder", on_hint=self.heard.append, on_reconnect=_nothing)
        await self.move(WORKING)

    async def move(self, state: TaskState, *, is_told: bool = True) -> None:
        """Let the holder move the task on, and tell of it."""
        event = TaskStatusUpdateEvent(
            task_id="t-1", context_id="c-1", status=TaskStatus(state=state)
        )
        await write(
            self.holder,
            TaskWrite(
                task_id="t-1",
                epoch=1,
                expected_seq=self.seq,
                created=None if self.seq else NEW_TASK,
                entries=(encode_entry(event),),
                events=1,
                state=state,
                status_at_ms=1,
            ),
        )
        self.seq += 1
        if is_told:
            self.other_bus.publish(TaskMoved("t-1", self.seq))

    async def stored(self) -> StoredTask:
        stored = await self.store.load(SCOPE, "t-1")
        assert stored is not None
        return stored

    async def follow(self) -> Follower:
        stored = await self.stored()
        return Follower(self.remote_tasks.channel(stored), first=None, cursor=stored.seq)


@asynccontextmanager
async def stage() -> AsyncGenerator[Stage]:
    on = Stage()
    await on.open()
    yield on
    await on.background.close()


def _ignore(hint: ReplicaHint) -> None:
    del hint


def _nothing() -> None:
    pass


async def passes(count: int = 20) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def numbers(follower: Follower) -> list[int]:
    return [event.seq async for batch in follower for event in batch]


# --- following ----------------------------------------------------------------------------------


async def test_a_task_is_followed_by_hints() -> None:
    async with stage() as on:
        following = asyncio.ensure_future(numbers(await on.follow()))
        await on.move(WORKING)
        await on.move(COMPLETED)
        assert await following == [2, 3]


async def test_all_who_follow_share_one_read_of_the_log() -> None:
    async with stage() as on:
        followers = [await on.follow() for _ in range(5)]
        await passes()
        before = on.store.reads
        await on.move(COMPLETED)
        assert await asyncio.gather(*map(numbers, followers)) == [[2]] * 5
        # One that finds the event, and one that finds nothing after it.
        assert on.store.reads - before == 2


async def test_a_task_that_moved_between_the_look_and_the_hints_is_read_on() -> None:
    async with stage() as on:
        stored = await on.stored()
        await on.move(COMPLETED, is_told=False)
        follower = Follower(on.remote_tasks.channel(stored), first=None, cursor=stored.seq)
        assert await numbers(follower) == [2]


async def test_what_is_followed_can_be_looked_at_without_a_hint() -> None:
    async with stage() as on:
        follower = await on.follow()
        assert on.remote_tasks.known() == {"t-1": 1}
        await passes()
        await on.move(COMPLETED, is_told=False)
        on.remote_tasks.look_at(["t-1", "t-9"])
        assert await numbers(follower) == [2]
        await follower.aclose()
        assert on.remote_tasks.known() == {}


async def test_a_store_that_is_gone_ends_no_stream() -> None:
    async with stage() as on:
        follower = await on.follow()
        await passes()
        on.store.is_down = True
        await on.move(WORKING)
        await passes()
        on.store.is_down = False
        await on.move(COMPLETED)
        assert await numbers(follower) == [2, 3]


async def test_a_claimed_channel_is_left_alone() -> None:
    async with stage() as on:
        follower = await on.follow()
        channel = on.remote_tasks.claim("t-1")
        assert channel is not None
        await on.move(WORKING)
        await passes()
        assert (channel.seq, on.remote_tasks.known(), channel.is_followed) == (1, {}, True)
        assert on.remote_tasks.claim("t-1") is None
        await follower.aclose()


async def test_the_followers_of_a_lost_task_go_on() -> None:
    async with stage() as on:
        channel = Channel(
            on.hub,
            lambda after, limit: on.store.read_events("t-1", after=after, limit=limit),
            seq=1,
        )
        on.remote_tasks.keep("t-1", channel)
        assert on.remote_tasks.known() == {}
        follower = Follower(channel, first=None, cursor=1)
        on.remote_tasks.keep("t-1", channel)
        await on.move(COMPLETED)
        assert await numbers(follower) == [2]


# --- leaving word -------------------------------------------------------------------------------


async def test_a_post_is_hinted_to_the_holder() -> None:
    async with stage() as on:
        placed = await on.remote_tasks.post(await on.stored(), b"{}", None)
        await passes()
        assert (placed.n, on.heard) == (1, [InboxFilled("t-1", "holder")])
        assert not on.alarm.is_set()


async def test_a_post_for_a_task_that_nobody_holds_alarms_the_sweep() -> None:
    async with stage() as on:
        await on.holder.leave()
        await on.remote_tasks.post(await on.stored(), b"{}", None)
        assert on.alarm.is_set()


async def test_what_is_wrong_with_a_post_is_told() -> None:
    async with stage() as on:
        stored = await on.stored()
        record = SendRecord(key=SendKey(SCOPE, "m"), digest=b"d", at_ms=1000, since_ms=1)
        await on.remote_tasks.post(stored, b"{}", record)
        with pytest.raises(SentBeforeError):
            await on.remote_tasks.post(stored, b"{}", record)
        on.store.is_down = True
        with pytest.raises(UnavailableError):
            await on.remote_tasks.post(stored, b"{}", None)
        on.store.is_down = False
        await on.move(COMPLETED)
        await on.holder.delete_ended(before_ms=10**15)
        with pytest.raises(TaskNotFoundError):
            await on.remote_tasks.post(stored, b"{}", None)


@pytest.mark.parametrize("state", [COMPLETED, INPUT_REQUIRED, AUTH_REQUIRED])
async def test_a_wait_ends_when_the_task_stops(state: TaskState) -> None:
    async with stage() as on:
        settled = on.remote_tasks.settled(await on.stored(), 1)
        await on.move(WORKING)
        await passes()
        assert not settled.done()
        await on.move(state)
        await settled


async def test_a_stop_before_the_wait_does_not_end_it() -> None:
    async with stage() as on:
        await on.move(INPUT_REQUIRED)
        settled = on.remote_tasks.settled(await on.stored(), 2)
        await passes()
        assert not settled.done()
        await on.move(WORKING)
        await on.move(COMPLETED)
        await settled


async def test_who_stops_waiting_stops_following() -> None:
    async with stage() as on:
        settled = on.remote_tasks.settled(await on.stored(), 1)
        await passes()
        assert on.remote_tasks.known() == {"t-1": 1}
        settled.cancel()
        await passes()
        assert on.remote_tasks.known() == {}


async def test_a_server_that_stops_tells_those_who_wait() -> None:
    async with stage() as on:
        settled = on.remote_tasks.settled(await on.stored(), 1)
        await passes()
        on.hub.close()
        with pytest.raises(UnavailableError):
            await settled


async def test_word_to_cancel_is_left_and_waited_for() -> None:
    async with stage() as on:
        canceling = asyncio.ensure_future(on.remote_tasks.cancel(await on.stored()))
        await passes()
        (item,) = await on.holder.read_inbox("t-1")
        assert (item.body, canceling.done()) == (CANCEL_ITEM, False)
        await on.move(CANCELED)
        await canceling


async def test_a_task_that_ends_otherwise_was_not_canceled() -> None:
    async with stage() as on:
        canceling = asyncio.ensure_future(on.remote_tasks.cancel(await on.stored()))
        await passes()
        await on.move(COMPLETED)
        with pytest.raises(TaskNotCancelableError):
            await canceling


async def test_a_task_that_has_ended_is_not_cancelable() -> None:
    async with stage() as on:
        stored = await on.stored()
        await on.move(COMPLETED)
        with pytest.raises(TaskNotCancelableError):
            await on.remote_tasks.cancel(stored)
