import asyncio
from collections.abc import Iterator, Sequence

import pytest

from dragoman.model.documents import EventDocument
from dragoman.server.tasks.streams import (
    BATCH_EVENTS,
    RING_BYTES,
    RING_EVENTS,
    Channel,
    Follower,
    Hub,
)


class Log:
    """The events of one task; counts how often it is read."""

    def __init__(self) -> None:
        self.events: list[EventDocument] = []
        self.reads = 0

    def grow(self, count: int, *, size: int = 2) -> list[EventDocument]:
        """Append events of so many bytes each and return them."""
        first = len(self.events) + 1
        new = [EventDocument(seq, b"x" * size) for seq in range(first, first + count)]
        self.events += new
        return new

    async def read(self, after: int, limit: int) -> tuple[EventDocument, ...]:
        self.reads += 1
        return tuple(self.events[after : after + limit])


class Task:
    """A task that is followed: what it logs is published."""

    def __init__(self, *, hub: Hub | None = None) -> None:
        self.hub = Hub() if hub is None else hub
        self.log = Log()
        self.channel = Channel(self.hub, self.log.read)

    def publish(
        self, count: int = 1, *, size: int = 2, is_pause: bool = False, is_end: bool = False
    ) -> None:
        events = self.log.grow(count, size=size)
        seq = events[-1].seq
        self.channel.publish(
            seq, events, paused_at=seq if is_pause else 0, ended_at=seq if is_end else 0
        )

    def follow(
        self, *, after: int = 0, first: EventDocument | None = None, until_pause: bool = False
    ) -> Follower:
        return Follower(self.channel, first=first, cursor=after, until_pause=until_pause)


def numbers(batch: Sequence[EventDocument]) -> list[int]:
    return [event.seq for event in batch]


async def all_numbers(follower: Follower) -> list[int]:
    """Follow to the end."""
    return [event.seq async for batch in follower for event in batch]


async def after_a_pass(follower: Follower, group: asyncio.TaskGroup) -> "asyncio.Task[list[int]]":
    """Let a follower wait for its next batch."""

    async def next_batch() -> list[int]:
        return numbers(await anext(follower))

    task = group.create_task(next_batch())
    await asyncio.sleep(0)
    return task


# --- what a follower sees ---------------------------------------------------------------------


async def test_a_follower_gets_what_is_published() -> None:
    task = Task()
    follower = task.follow()
    task.publish(2)
    assert numbers(await anext(follower)) == [1, 2]


async def test_events_that_nobody_follows_are_not_made() -> None:
    task = Task()
    made: list[EventDocument] = []

    def events() -> Iterator[EventDocument]:
        made.append(EventDocument(1, b"{}"))
        yield made[0]

    task.channel.publish(1, events(), paused_at=0, ended_at=0)
    assert (task.channel.seq, made) == (1, [])
    follower = task.follow(after=1)
    task.channel.publish(2, events(), paused_at=0, ended_at=0)
    assert len(made) == 1
    await follower.aclose()


async def test_live_events_come_from_memory() -> None:
    task = Task()
    follower = task.follow()
    task.publish(2)
    await anext(follower)
    assert task.log.reads == 0


async def test_a_waiting_follower_is_woken() -> None:
    task = Task()
    follower = task.follow()
    async with asyncio.TaskGroup() as group:
        batch = await after_a_pass(follower, group)
        assert not batch.done()
        task.publish()
    assert batch.result() == [1]


async def test_the_first_frame_comes_at_once() -> None:
    task = Task()
    frame = EventDocument(0, b"{}")
    assert await anext(task.follow(first=frame)) == (frame,)


async def test_the_first_frame_takes_along_what_is_at_hand() -> None:
    task = Task()
    follower = task.follow(first=EventDocument(0, b"{}"))
    task.publish(2)
    assert numbers(await anext(follower)) == [0, 1, 2]
    task.publish()
    assert numbers(await anext(follower)) == [3]


async def test_the_first_frame_does_not_wait_for_the_log() -> None:
    task = Task()
    task.publish(2)
    follower = task.follow(first=EventDocument(0, b"{}"))
    assert numbers(await anext(follower)) == [0]
    assert numbers(await anext(follower)) == [1, 2]


async def test_a_follower_begins_after_its_cursor() -> None:
    task = Task()
    follower = task.follow(after=2)
    task.publish(3)
    assert numbers(await anext(follower)) == [3]


@pytest.mark.requirement("R-3.5.2-4", "R-3.5.2-1")
async def test_every_follower_gets_every_event_in_order() -> None:
    task = Task()
    followers = [task.follow() for _ in range(3)]
    task.publish(5)
    task.publish(5, is_end=True)
    for follower in followers:
        assert await all_numbers(follower) == list(range(1, 11))


async def test_a_batch_is_never_huge() -> None:
    task = Task()
    follower = task.follow()
    task.publish(BATCH_EVENTS + 1)
    assert len(await anext(follower)) == BATCH_EVENTS
    assert numbers(await anext(follower)) == [BATCH_EVENTS + 1]


async def test_a_follower_ahead_of_what_is_committed_waits() -> None:
    task = Task()
    follower = task.follow(after=3)
    task.publish(3)
    async with asyncio.TaskGroup() as group:
        batch = await after_a_pass(follower, group)
        assert not batch.done()
        task.publish()
    assert batch.result() == [4]


# --- bounds -----------------------------------------------------------------------------------


async def test_without_followers_nothing_is_kept() -> None:
    task = Task()
    task.publish(3)
    assert task.channel.after(0) is None
    assert task.channel.seq == 3


async def test_old_events_come_from_the_log() -> None:
    task = Task()
    task.publish(3)
    follower = task.follow()
    assert numbers(await anext(follower)) == [1, 2, 3]
    assert task.log.reads == 1


async def test_the_ring_holds_a_number_of_events() -> None:
    task = Task()
    task.follow()
    task.publish(2 * RING_EVENTS)
    assert task.channel.after(0) is not None  # Room is made for many at once, not for each.
    task.publish()
    oldest = 2 * RING_EVENTS + 1 - RING_EVENTS
    assert task.channel.after(oldest - 1) is None
    assert numbers(task.channel.after(oldest) or ())[0] == oldest + 1


async def test_the_ring_holds_a_number_of_bytes() -> None:
    task = Task()
    task.follow()
    task.publish(3, size=RING_BYTES // 2)
    assert task.channel.after(0) is None
    assert numbers(task.channel.after(1) or ()) == [2, 3]


async def test_an_event_larger_than_the_ring_is_left_to_the_log() -> None:
    task = Task()
    follower = task.follow()
    task.publish(size=RING_BYTES + 1)
    assert task.channel.after(0) is None
    assert numbers(await anext(follower)) == [1]


async def test_a_follower_that_falls_behind_reads_the_log_until_it_has_caught_up() -> None:
    task = Task()
    follower = task.follow()
    total = 3 * RING_EVENTS
    task.publish(RING_EVENTS)
    task.publish(RING_EVENTS)
    task.publish(RING_EVENTS, is_end=True)
    assert await all_numbers(follower) == list(range(1, total + 1))
    assert task.log.reads == (total - RING_EVENTS) // BATCH_EVENTS


async def test_when_the_last_follower_leaves_the_ring_is_freed() -> None:
    task = Task()
    one, two = task.follow(), task.follow()
    task.publish()
    await one.aclose()
    assert task.channel.after(0) is not None
    await two.aclose()
    assert task.channel.after(0) is None


async def test_the_bytes_of_a_freed_ring_are_forgotten() -> None:
    task = Task()
    first = task.follow()
    task.publish(size=RING_BYTES)
    await first.aclose()
    task.follow()
    task.publish(2, size=RING_BYTES // 2)
    assert numbers(task.channel.after(1) or ()) == [2, 3]


# --- the end ----------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.6-5", "R-3.1.2-11")
async def test_a_stream_ends_with_its_task() -> None:
    task = Task()
    follower = task.follow()
    task.publish(2, is_end=True)
    assert await all_numbers(follower) == [1, 2]


async def test_a_waiting_follower_hears_of_the_end() -> None:
    task = Task()
    async with asyncio.TaskGroup() as group:
        seen = group.create_task(all_numbers(task.follow()))
        await asyncio.sleep(0)
        task.publish(is_end=True)
    assert seen.result() == [1]


async def test_a_follower_of_an_ended_task_gets_the_rest() -> None:
    log = Log()
    log.grow(3)
    channel = Channel(Hub(), log.read, seq=3, ended_at=3)
    assert await all_numbers(Follower(channel, first=None, cursor=1)) == [2, 3]


async def test_the_end_is_not_forgotten_by_what_is_published_later() -> None:
    task = Task()
    task.publish(is_pause=True)
    task.publish()
    task.publish(is_end=True)
    assert (task.channel.paused_at, task.channel.ended_at) == (1, 3)


async def test_a_stream_of_a_message_ends_when_the_task_pauses() -> None:
    task = Task()
    follower = task.follow(until_pause=True)
    task.publish(2, is_pause=True)
    assert await all_numbers(follower) == [1, 2]


@pytest.mark.requirement("R-3.1.6-4")
async def test_a_subscription_goes_on_when_the_task_pauses() -> None:
    task = Task()
    follower = task.follow()
    task.publish(is_pause=True)
    assert numbers(await anext(follower)) == [1]
    task.publish(is_end=True)
    assert await all_numbers(follower) == [2]


async def test_an_earlier_pause_does_not_end_a_stream() -> None:
    task = Task()
    task.publish(is_pause=True)
    follower = task.follow(after=1, until_pause=True)
    task.publish()
    assert numbers(await anext(follower)) == [2]
    task.publish(is_pause=True)
    assert await all_numbers(follower) == [3]


@pytest.mark.requirement("R-3.5.2-6")
async def test_closing_one_stream_leaves_the_others_open() -> None:
    task = Task()
    one, two = task.follow(), task.follow()
    await one.aclose()
    task.publish(is_end=True)
    assert await all_numbers(one) == []
    assert await all_numbers(two) == [1]


async def test_closing_wakes_whoever_iterates() -> None:
    task = Task()
    follower = task.follow()
    async with asyncio.TaskGroup() as group:
        seen = group.create_task(all_numbers(follower))
        await asyncio.sleep(0)
        await follower.aclose()
    assert seen.result() == []


async def test_closing_twice_is_closing() -> None:
    task = Task()
    one, two = task.follow(), task.follow()
    await one.aclose()
    await one.aclose()
    assert len(task.hub) == 1
    await two.aclose()


# --- the hub ----------------------------------------------------------------------------------


async def test_the_hub_counts_the_open_streams() -> None:
    hub = Hub()
    one = Task(hub=hub).follow()
    two = Task(hub=hub).follow()
    assert len(hub) == 2
    await one.aclose()
    await two.aclose()
    assert len(hub) == 0


async def test_a_heartbeat_is_an_empty_batch() -> None:
    task = Task()
    async with asyncio.TaskGroup() as group:
        batch = await after_a_pass(task.follow(), group)
        task.hub.heartbeat()
    assert batch.result() == []


async def test_a_heartbeat_does_not_disturb_who_is_not_waiting() -> None:
    task = Task()
    follower = task.follow()
    task.hub.heartbeat()
    task.publish()
    task.hub.heartbeat()
    assert numbers(await anext(follower)) == [1]


async def test_news_and_a_heartbeat_at_once_lose_nothing() -> None:
    task = Task()
    follower = task.follow()
    async with asyncio.TaskGroup() as group:
        batch = await after_a_pass(follower, group)
        task.hub.heartbeat()
        task.publish()
    assert batch.result() == []
    assert numbers(await anext(follower)) == [1]


async def test_a_task_that_goes_on_elsewhere_ends_its_streams_after_what_is_ready() -> None:
    task = Task()
    waiting, behind = task.follow(), task.follow()
    task.publish(2)
    await anext(waiting)
    async with asyncio.TaskGroup() as group:
        rest = group.create_task(all_numbers(waiting))
        await asyncio.sleep(0)
        task.channel.cut()
    assert task.channel.is_closing
    assert rest.result() == []
    assert await all_numbers(behind) == [1, 2]


async def test_the_streams_of_other_tasks_go_on() -> None:
    hub = Hub()
    gone, here = Task(hub=hub), Task(hub=hub)
    follower = here.follow()
    gone.channel.cut()
    here.publish(is_end=True)
    assert not here.channel.is_closing
    assert await all_numbers(follower) == [1]


async def test_closing_the_hub_ends_all_streams_after_what_is_ready() -> None:
    task = Task()
    waiting, behind = task.follow(), task.follow()
    task.publish(2)
    await anext(waiting)
    async with asyncio.TaskGroup() as group:
        rest = group.create_task(all_numbers(waiting))
        await asyncio.sleep(0)
        task.hub.close()
    assert task.hub.is_closing
    assert rest.result() == []
    assert await all_numbers(behind) == [1, 2]


# --- a task that moves from one replica to another ----------------------------------------------


async def test_what_is_skipped_is_read_from_the_log() -> None:
    task = Task()
    follower = task.follow()
    task.publish(2)
    task.log.grow(3)
    task.channel.skip_to(5, is_paused=False)
    task.publish(is_end=True)
    assert await all_numbers(follower) == [1, 2, 3, 4, 5, 6]
    assert task.log.reads > 0


async def test_a_task_may_be_paused_where_it_is_skipped_to() -> None:
    task = Task()
    follower = task.follow(until_pause=True)
    task.log.grow(2)
    task.channel.skip_to(2, is_paused=True)
    assert await all_numbers(follower) == [1, 2]


async def test_when_the_last_follower_has_left_that_is_told() -> None:
    task = Task()
    told: list[str] = []
    task.channel.on_idle = lambda: told.append("idle")
    one, two = task.follow(), task.follow()
    await one.aclose()
    assert told == []
    await two.aclose()
    assert told == ["idle"]


async def test_a_stop_before_the_start_does_not_count() -> None:
    task = Task()
    task.publish(is_pause=True)
    follower = Follower(task.channel, first=None, cursor=1, until_pause=True, start=2)
    task.publish(2)
    task.publish(is_pause=True)
    assert await all_numbers(follower) == [2, 3, 4]


async def test_a_stream_ends_whose_log_is_gone() -> None:
    task = Task()
    task.publish(3)
    task.publish(is_end=True)
    follower = task.follow(after=1)
    task.log.events.clear()
    assert await all_numbers(follower) == []
