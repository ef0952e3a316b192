"""What one sweep does, without hints. Whole stories are in ``scenarios/replicas``."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

import pytest

from dragoman.bus.base import InboxFilled, ReplicaHint, Spent, WorkReleased
from dragoman.bus.local import LocalBus, LocalExchange
from dragoman.errors import StoreUnavailableError, UnavailableError
from dragoman.model.tasks import TaskState
from dragoman.server.replicas.lease import ReplicaLease
from dragoman.server.replicas.remote_tasks import RemoteTasks
from dragoman.server.replicas.sweep import Sweep
from dragoman.server.settings import TaskSettings, TurnSettings
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.delivery import Delivery, encode
from dragoman.server.tasks.restoring import document_of
from dragoman.server.tasks.resuming import Resumption
from dragoman.server.tasks.streams import Follower, Hub
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.service.worker import Outcome, Turn
from dragoman.stores.base import CANCEL_ITEM, InboxItem, Scope, StoredTask
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.stores.memory.store import MemoryRecords
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import (
    NEW_TASK,
    SCOPE,
    RequestValidator,
    ScriptedWorker,
    chunk,
    user_message,
)
from tests.support.server.living import pass_over
from tests.support.server.running import Run, ask

SECONDS = 5.0


class Store(SharedMemoryTaskStore):
    """Counts the sweeps and looks into inboxes; fails, or takes its time, when it is told to."""

    sweeps = 0
    reads = 0
    is_down = False
    is_slow = False

    async def read_inbox(self, task_id: str) -> tuple[InboxItem, ...]:
        self.reads += 1
        for _ in range(20 if self.is_slow else 0):
            await pass_over()
        return await super().read_inbox(task_id)

    async def at_work(self, *, after_id: str, limit: int) -> tuple[StoredTask, ...]:
        found = await super().at_work(after_id=after_id, limit=limit)
        for _ in range(20 if self.is_slow else 0):
            await pass_over()
        return found

    async def lost(self, epochs: Mapping[str, int]) -> tuple[str, ...]:
        found = await super().lost(epochs)
        await pass_over()
        return found

    async def filled(self) -> tuple[tuple[Scope, str], ...]:
        self.sweeps += 1
        if self.is_down:
            raise StoreUnavailableError("gone")
        return await super().filled()


class Member:
    """One replica, down to its sweep."""

    def __init__(
        self, records: MemoryRecords, clock: FakeClock, exchange: LocalExchange, run: Run | None
    ) -> None:
        self.store = Store(records, clock=clock)
        self.alarm = asyncio.Event()
        self.background = BackgroundTasks()
        self.replica = ReplicaLease(self.store, clock, lease_seconds=10)
        self.bus = LocalBus(exchange)
        worker = ScriptedWorker(run)
        hub = Hub()
        self.remote_tasks = remote_tasks = RemoteTasks(
            store=self.store,
            replica=self.replica,
            bus=self.bus,
            hub=hub,
            background=self.background,
            alarm=self.alarm,
        )
        self.supervisor = TaskSupervisor(
            worker=worker,
            store=self.store,
            clock=clock,
            hub=hub,
            settings=TurnSettings(cancel_grace_seconds=0),
            remote_tasks=remote_tasks,
        )
        self.sweep = Sweep(
            supervisor=self.supervisor,
            resumption=Resumption(
                worker=worker,
                store=self.store,
                supervisor=self.supervisor,
                clock=clock,
                background=self.background,
                settings=TaskSettings(),
                may_take=self.replica.may_take,
            ),
            remote_tasks=remote_tasks,
            clock=clock,
            background=self.background,
            alarm=self.alarm,
            seconds=SECONDS,
        )

    async def open(self) -> None:
        await self.store.open()
        await self.replica.join()
        await self.bus.open(self.replica.id, on_hint=self._hear, on_reconnect=self.alarm.set)

    def _hear(self, hint: ReplicaHint) -> None:
        assert not isinstance(hint, Spent)
        self.sweep.hear(hint)

    async def close(self) -> None:
        await self.supervisor.drain(0)
        await self.background.close()

    async def outlive(self, clock: FakeClock) -> None:
        """Keep the lease for longer than the others, who do not renew theirs."""
        keeping = asyncio.ensure_future(self.replica.keep(self.sweep.check_held))
        for _ in range(4):
            await clock.until_asleep()
            clock.advance(10 / 3)
            for _ in range(5):
                await pass_over()
        keeping.cancel()

    async def begin(self, task_id: str = "t-1") -> None:
        live = self.supervisor.begin(task_id, NEW_TASK, Delivery(message=user_message()), None)
        await live.durable()

    async def stored(self, task_id: str = "t-1") -> StoredTask:
        stored = await self.store.load(SCOPE, task_id)
        assert stored is not None
        return stored


@asynccontextmanager
async def two(run: Run | None) -> AsyncGenerator[tuple[Member, Member, FakeClock]]:
    """Give two replicas of one agent, and their clock."""
    async with several(2, run) as ((a, b), clock):
        yield a, b, clock


@asynccontextmanager
async def several(
    count: int, run: Run | None
) -> AsyncGenerator[tuple[tuple[Member, ...], FakeClock]]:
    """Give some replicas of one agent, and their clock."""
    records, clock, exchange = MemoryRecords(), FakeClock(), LocalExchange()
    exchange.cut()
    members = tuple(Member(records, clock, exchange, run) for _ in range(count))
    for member in members:
        await member.open()
    yield members, clock
    for member in members:
        await member.close()


async def until(member: Member, state: TaskState, task_id: str = "t-1") -> None:
    async with asyncio.timeout(5):
        while (await member.stored(task_id)).state is not state:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0)


def message(text: str, *, is_answer: bool = False) -> bytes:
    return encode(Delivery(message=user_message(text, text), is_answer=is_answer))


async def test_a_task_that_was_taken_over_behind_its_holders_back_is_let_go_of() -> None:
    # Who had seen that the lease had run out took the task when it was just renewed.
    async with two(ask) as (a, b, _):
        await a.begin()
        await until(a, TaskState.INPUT_REQUIRED)
        live = a.supervisor.held("t-1")
        assert live is not None
        follower = Follower(live.channel, first=None, cursor=live.standing.seq)
        await a.store.leave()
        taken = await b.supervisor.adopt(await b.stored())
        await a.sweep.sweep()
        assert a.supervisor.held("t-1") is None
        delivery = b.supervisor.deliver(taken, Delivery(message=user_message("blue", "m-2")), None)
        await delivery.stored
        await a.sweep.sweep()
        (event, *_) = await anext(follower)
        assert b"TASK_STATE_WORKING" in event.json
        await follower.aclose()


async def test_the_inboxes_of_own_tasks_are_looked_into() -> None:
    async with two(ask) as (a, b, _):
        await a.begin()
        await until(a, TaskState.INPUT_REQUIRED)
        await b.store.post("t-1", message("blue", is_answer=True), None)
        await b.sweep.sweep()
        assert (await a.stored()).state is TaskState.INPUT_REQUIRED
        await a.sweep.sweep()
        await until(a, TaskState.COMPLETED)


async def test_a_task_that_waits_and_that_nobody_holds_gets_what_was_left_for_it() -> None:
    async with two(ask) as (a, b, clock):
        await a.begin()
        await until(a, TaskState.INPUT_REQUIRED)
        await b.store.post("t-1", message("blue", is_answer=True), None)
        await b.outlive(clock)
        await b.sweep.sweep()
        await until(b, TaskState.COMPLETED)


async def test_a_task_that_sleeps_is_left_asleep_unless_it_is_to_be_canceled() -> None:
    async with two(RequestValidator().run) as (a, b, clock):
        await a.begin()
        live = a.supervisor.held("t-1")
        assert live is not None
        live.note("sleep", "", b"1", wake_at_ms=clock.now_ms() + 10**9)
        await live.durable()
        await b.outlive(clock)
        await b.store.post("t-1", message("more"), None)
        await b.sweep.sweep()
        assert b.supervisor.tasks() == ()
        await b.store.post("t-1", CANCEL_ITEM, None)
        await b.sweep.sweep()
        await until(b, TaskState.CANCELED)


async def test_a_task_that_was_put_aside_is_taken_up_for_its_answer_alone() -> None:
    async with two(ask) as (a, b, _):
        await a.begin()
        await until(a, TaskState.INPUT_REQUIRED)
        live = a.supervisor.held("t-1")
        assert live is not None
        a.supervisor.put_aside(live)
        for _ in range(5):
            await pass_over()
        await b.store.post("t-1", message("for the turn after this one"), None)
        await b.sweep.sweep()
        assert b.supervisor.tasks() == ()
        assert (await b.stored()).epoch == live.epoch
        await b.store.post("t-1", message("blue", is_answer=True), None)
        await b.sweep.sweep()
        assert [live.task_id for live in b.supervisor.tasks()] == ["t-1"]


async def test_the_dead_are_not_judged_by_one_who_was_cut_off_itself() -> None:
    async with two(RequestValidator().run) as (a, b, clock):
        await a.begin()
        keeping = asyncio.ensure_future(b.replica.keep(b.sweep.check_held))
        await clock.until_asleep()
        clock.advance(20)
        await clock.until_asleep()
        await b.sweep.sweep()
        assert b.supervisor.tasks() == ()
        for _ in range(4):
            clock.advance(10 / 3)
            await clock.until_asleep()
        await b.sweep.sweep()
        assert [live.task_id for live in b.supervisor.tasks()] == ["t-1"]
        keeping.cancel()


async def test_what_others_have_taken_is_let_go() -> None:
    async with two(RequestValidator().run) as (a, b, _):
        await a.begin("t-1")
        await a.begin("t-2")
        await a.store.leave()
        await b.store.take_over("t-1", 1)
        await a.sweep.check_held()
        assert [live.task_id for live in a.supervisor.tasks()] == ["t-2"]


async def test_what_a_replica_that_stops_hands_over_is_told_calmly_by_whoever_takes_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with several(3, RequestValidator().run) as ((a, b, c), _):
        for number in range(3):
            await a.begin(f"t-{number}")
        caplog.set_level(logging.INFO)
        await a.supervisor.drain(0)
        await a.replica.leave()
        # Both find all three.
        b.store.is_slow = c.store.is_slow = True
        await asyncio.gather(b.sweep.sweep(), c.sweep.sweep())
        assert (len(b.supervisor.tasks()), len(c.supervisor.tasks())) == (3, 0)
        assert caplog.record_tuples[1:] == [
            (
                "dragoman.server.tasks.supervisor",
                logging.INFO,
                "unfinished, handed over to other replicas: 3",
            ),
            (
                "dragoman.server.tasks.resuming",
                logging.INFO,
                "tasks that another replica has handed over: 3 are continued",
            ),
        ]


async def test_what_a_dead_replica_has_left_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    async with two(RequestValidator().run) as (a, b, clock):
        await a.begin()
        await b.outlive(clock)
        await b.sweep.sweep()
        assert caplog.messages == ["tasks that a replica that is gone has left: 1 are continued"]


async def test_what_others_have_taken_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async with two(RequestValidator().run) as (a, b, _):
        for number in range(3):
            await a.begin(f"t-{number}")
        await a.store.leave()
        for number in range(3):
            await b.store.take_over(f"t-{number}", 1)
        # The renewal that was late, and a sweep that was due.
        await asyncio.gather(a.sweep.check_held(), a.sweep.sweep())
        assert caplog.messages == ["tasks that others have taken over: 3 of 3"]


async def test_hints_lead_to_the_inbox_of_a_live_task_and_else_to_a_sweep() -> None:
    async with two(ask) as (a, b, _):
        await a.begin()
        await until(a, TaskState.INPUT_REQUIRED)
        await b.store.post("t-1", message("blue", is_answer=True), None)
        a.sweep.hear(InboxFilled("t-1"))
        await until(a, TaskState.COMPLETED)
        assert not a.alarm.is_set()
        a.sweep.hear(InboxFilled("t-9"))
        assert a.alarm.is_set()
        b.sweep.hear(WorkReleased())
        assert b.alarm.is_set()


async def test_it_comes_now_and_then_and_when_it_is_called_and_bears_a_store_that_is_gone() -> None:
    async with two(None) as (a, _, clock):
        running = asyncio.ensure_future(a.sweep.run())

        async def swept(count: int) -> None:
            async with asyncio.timeout(5):
                while a.store.sweeps < count:  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0)

        await clock.until_asleep()
        clock.advance(SECONDS)
        await swept(1)
        a.store.is_down = True
        a.alarm.set()
        await swept(2)
        a.store.is_down = False
        a.alarm.set()
        await swept(3)
        assert not a.alarm.is_set()
        running.cancel()


async def test_it_comes_as_soon_as_a_lease_has_run_out() -> None:
    async with two(RequestValidator().run) as (a, b, clock):
        began_ms = clock.now_ms()
        await a.begin()
        working = [b.sweep.run(), b.replica.keep(b.sweep.check_held)]
        running = asyncio.gather(*working)
        while not b.supervisor.tasks():
            seconds = (clock.now_ms() - began_ms) / 1000
            # By its timer alone it would come after 20 seconds, and after 25.
            assert seconds < 23, "nothing was taken over"
            if seconds <= 11.5:
                await a.store.beat()
            clock.advance(0.5)
            for _ in range(25):
                await pass_over()
        assert clock.now_ms() - began_ms > 21_500
        running.cancel()


async def test_who_followed_a_task_that_is_taken_over_misses_nothing() -> None:
    async with two(RequestValidator().run) as (a, b, _):
        await a.begin()
        stored = await b.stored()
        follower = Follower(b.remote_tasks.channel(stored), first=None, cursor=stored.seq)
        await pass_over()
        live = a.supervisor.held("t-1")
        assert live is not None
        live.execute(chunk("x"))
        await live.durable()
        await b.sweep.sweep()
        for _ in range(10):
            await pass_over()
        # Of this nobody has told before the task is taken over.
        live.execute(chunk("y", append=True))
        await live.durable()
        await a.store.leave()
        taken = await b.supervisor.adopt(await b.stored())
        await b.supervisor.cancel(taken)
        seen = [event.seq async for batch in follower for event in batch]
        assert seen == [stored.seq + 1, stored.seq + 2, stored.seq + 3]


async def test_a_task_that_is_lost_twice_keeps_its_followers() -> None:
    async with two(RequestValidator().run) as (a, b, _):
        await a.begin()
        live = a.supervisor.held("t-1")
        assert live is not None
        follower = Follower(live.channel, first=None, cursor=live.standing.seq)
        await a.store.leave()
        taken = await b.supervisor.adopt(await b.stored())
        # A write is on its way, to be refused, when the task is let go of.
        live.execute(chunk("x"))
        await pass_over()
        a.supervisor.let_go(live)
        for _ in range(5):
            await pass_over()
        await b.supervisor.cancel(taken)
        await a.sweep.sweep()
        seen = [event.seq async for batch in follower for event in batch]
        assert seen == [taken.standing.seq]


async def test_words_to_cancel_are_all_taken_up_with_the_task() -> None:
    async with two(RequestValidator().run) as (a, b, clock):
        await a.begin()
        for _ in range(2):
            await b.store.post("t-1", CANCEL_ITEM, None)
        await b.outlive(clock)
        await b.sweep.sweep()
        await until(b, TaskState.CANCELED)
        assert await b.store.read_inbox("t-1") == ()


async def test_a_server_that_stops_takes_nothing_up_again() -> None:
    async with two(RequestValidator().run) as (a, b, clock):
        await a.begin("t-1")
        await b.begin("t-2")
        await a.supervisor.drain(0)
        await a.replica.leave()
        clock.advance(60)
        await a.sweep.sweep()
        assert [(await a.stored(task_id)).epoch for task_id in ("t-1", "t-2")] == [2, 1]
        with pytest.raises(UnavailableError, match="shutting down"):
            await a.supervisor.adopt(await a.stored("t-2"))


async def test_an_inbox_that_cannot_be_read_keeps_no_other_task_from_being_taken_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with two(RequestValidator().run) as (a, b, clock):
        await a.begin("t-1")
        await b.begin("t-2")
        await b.store.post("t-1", b"no errand", None)
        await a.outlive(clock)
        await a.sweep.sweep()
        assert [live.task_id for live in a.supervisor.tasks()] == ["t-1", "t-2"]
        assert "inbox of task t-1" in caplog.text


async def test_a_cancellation_that_is_refused_for_a_message_is_made_good() -> None:
    """Meanwhile the turn goes on, and what it says has the number of the end that was refused."""
    may_speak = asyncio.Event()

    async def speak(turn: Turn) -> Outcome:
        await may_speak.wait()
        await turn.artifact(chunk().artifact)
        await asyncio.Event().wait()
        raise AssertionError

    async with two(speak) as (a, b, _):
        await a.begin()
        live = a.supervisor.held("t-1")
        assert live is not None
        await pass_over()
        await b.store.post("t-1", message("wait"), None)
        a.store.is_slow = True
        canceling = asyncio.ensure_future(a.supervisor.cancel(live))
        async with asyncio.timeout(5):
            while not a.store.reads:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0)
            may_speak.set()
            await canceling
        assert live.standing.state is TaskState.CANCELED
        assert a.store.reads == 1
        ended = document_of(await a.stored()).task()
        assert (ended.status.state, len(ended.artifacts)) == (TaskState.CANCELED, 1)
        assert "wait" in [each.message_id for each in ended.history]
