import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from dragoman.errors import StoreUnavailableError
from dragoman.model.tasks import TaskState
from dragoman.server.replicas.lease import ReplicaLease
from dragoman.stores.base import StoredTask
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import SCOPE, SetBackClock
from tests.support.server.living import pass_over

LEASE = 9.0


class Store(SharedMemoryTaskStore):
    """Counts the beats, and fails when it is told to."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__(clock=clock)
        self.beats = 0
        self.is_down = False
        self.is_broken = False
        self.is_forgiving = False
        # So many of the next renewals fail, each after so many seconds.
        self.failures = 0
        self.failing_seconds = 0.0
        self.slowly: asyncio.Event | None = None

    def is_alive(self, replica_id: str) -> bool:
        return self._is_alive(replica_id)

    async def join(self, replica_id: str, *, lease_seconds: float) -> None:
        if self.is_down:
            raise StoreUnavailableError("gone")
        await super().join(replica_id, lease_seconds=lease_seconds)

    async def beat(self) -> bool:
        self.beats += 1
        if self.failures:
            self.failures -= 1
            await self._clock.sleep(self.failing_seconds)
            raise StoreUnavailableError("too slow")
        if self.is_down:
            raise StoreUnavailableError("gone")
        if self.is_broken:
            raise ValueError("unexpected")
        if self.slowly is not None:
            await self.slowly.wait()
        return await super().beat() or self.is_forgiving


class Stage:
    """A replica that keeps its lease."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = Store(self.clock)
        self.replica = ReplicaLease(self.store, self.clock, lease_seconds=LEASE)
        self.late = 0
        self.is_untold = False

    async def note_late(self) -> None:
        if self.is_untold:
            raise StoreUnavailableError("gone again")
        self.late += 1

    async def pass_time(self, seconds: float) -> None:
        """Let the clock jump."""
        await self.clock.until_asleep()
        self.clock.advance(seconds)
        for _ in range(5):
            await pass_over()

    async def pass_leases(self, count: int) -> None:
        """Let the clock run, in steps that are shorter than anything that is waited for."""
        for _ in range(count * 100):
            self.clock.advance(LEASE / 100)
            for _ in range(5):
                await pass_over()


@asynccontextmanager
async def keeping() -> AsyncGenerator[Stage]:
    on = Stage()
    await on.store.open()
    await on.replica.join()
    keeper = asyncio.ensure_future(on.replica.keep(on.note_late))
    yield on
    keeper.cancel()
    await asyncio.wait([keeper])
    await on.store.close()


def held_by(holder: str) -> StoredTask:
    return StoredTask(
        id="t-1",
        scope=SCOPE,
        context_id="c-1",
        skill_id="echo",
        origin_dialect="1.0",
        created_ms=1,
        state=TaskState.WORKING,
        status_at_ms=1,
        epoch=1,
        seq=2,
        snapshot=None,
        snapshot_seq=0,
        holder=holder,
    )


async def test_every_start_is_another_replica() -> None:
    clock = FakeClock()
    store = SharedMemoryTaskStore(clock=clock)
    await store.open()
    lease = ReplicaLease(store, clock, lease_seconds=LEASE)
    await lease.join()
    first = lease.id
    await lease.join()
    assert first
    assert lease.id != first


async def test_a_lease_is_renewed_three_times_in_its_length() -> None:
    async with keeping() as on:
        before = on.store.beats
        for _ in range(6):
            await on.pass_time(LEASE / 3)
        assert on.store.beats - before == 6
        assert (on.replica.is_sure, on.replica.may_judge, on.late) == (True, True, 0)
        assert on.replica.lapses == 0


async def test_a_replica_that_stood_still_is_not_sure_until_it_has_renewed_its_lease() -> None:
    async with keeping() as on:
        await on.clock.until_asleep()
        on.clock.advance(LEASE)
        assert not on.replica.is_sure
        for _ in range(5):
            await pass_over()
        assert (on.replica.is_sure, on.late, on.replica.lapses) == (True, 1, 1)


async def test_a_lease_runs_out_although_the_clock_was_set_back() -> None:
    on = Stage()
    await on.store.open()
    replica = ReplicaLease(on.store, SetBackClock(on.clock), lease_seconds=LEASE)
    await replica.join()
    assert (replica.is_sure, replica.may_judge) == (True, False)
    on.clock.advance(LEASE)
    assert not replica.is_sure
    await on.store.close()


async def test_who_has_just_started_judges_after_a_lease_although_the_clock_was_set_back() -> None:
    on = Stage()
    await on.store.open()
    replica = ReplicaLease(on.store, SetBackClock(on.clock), lease_seconds=LEASE)
    await replica.join()
    keeper = asyncio.ensure_future(replica.keep(on.note_late))
    await on.pass_leases(2)
    assert (replica.is_sure, replica.may_judge) == (True, True)
    keeper.cancel()
    await asyncio.wait([keeper])
    await on.store.close()


async def test_nobody_is_sure_until_it_is_known_what_was_lost() -> None:
    async with keeping() as on:
        on.is_untold = True
        await on.pass_time(LEASE)
        assert not on.replica.is_sure
        on.is_untold = False
        await on.pass_time(LEASE / 3)
        assert (on.replica.is_sure, on.late) == (True, 1)


async def test_who_was_cut_off_itself_does_not_judge_others_for_a_while() -> None:
    async with keeping() as on:
        await on.pass_time(LEASE)
        assert not on.replica.may_judge
        for _ in range(3):
            await on.pass_time(LEASE / 3)
        assert on.replica.may_judge


async def test_who_has_just_begun_does_not_judge_others() -> None:
    async with keeping() as on:
        assert (on.replica.is_sure, on.replica.may_judge) == (True, False)
        for _ in range(3):
            assert not on.replica.may_judge
            await on.pass_time(LEASE / 3)
        assert on.replica.may_judge


async def test_who_may_have_lost_its_own_lease_does_not_judge_others() -> None:
    async with keeping() as on:
        await on.pass_leases(2)
        assert on.replica.may_judge
        on.store.is_down = True
        await on.pass_leases(1)
        assert (on.replica.is_sure, on.replica.may_judge) == (False, False)


async def test_who_has_left_does_not_judge_others() -> None:
    async with keeping() as on:
        await on.pass_leases(2)
        await on.replica.leave()
        assert (on.replica.is_sure, on.replica.may_judge) == (False, False)


async def test_only_who_may_judge_takes_what_another_has() -> None:
    async with keeping() as on:
        nobodys, own, anothers = (held_by(holder) for holder in ("", on.replica.id, "another"))
        taken = [on.replica.may_take(stored) for stored in (nobodys, own, anothers)]
        assert taken == [True, True, False]
        await on.pass_leases(2)
        assert on.replica.may_take(anothers)


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [
        # A connection hangs for as long as a renewal may take.
        (1, LEASE / 3),
        # Two are refused, each after the attempts of a pool of connections.
        (2, LEASE / 20),
        # Two hang for as long as the store lets a renewal hang.
        (2, LEASE / 5),
    ],
)
async def test_a_lease_outlives_renewals_that_hang(failures: int, seconds: float) -> None:
    async with keeping() as on:
        on.store.failures, on.store.failing_seconds = failures, seconds
        await on.pass_leases(3)
        assert (on.replica.lapses, on.late, on.replica.is_sure) == (0, 0, True)


async def test_a_renewal_that_took_its_time_does_not_put_off_the_next_one() -> None:
    async with keeping() as on:
        on.store.slowly = asyncio.Event()
        await on.pass_time(LEASE / 3)
        on.clock.advance(LEASE / 4)
        on.store.slowly.set()
        await on.pass_time(LEASE / 12)
        assert on.store.beats == 3


async def test_a_store_that_is_gone_is_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async with keeping() as on:
        on.store.is_down = True
        await on.pass_time(LEASE / 3)
        await on.pass_time(LEASE / 20)
        assert not on.replica.is_in_touch
        on.store.is_down = False
        await on.pass_time(LEASE / 20)
        # Each is said once, however often it was tried.
        assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
            "the lease is not renewed",
            "the lease is renewed again",
        ]
        assert (on.replica.is_in_touch, on.replica.is_sure, on.late) == (True, True, 0)


async def test_who_could_not_renew_its_lease_in_time_does_not_judge_others_for_a_while() -> None:
    """Its own has not run out; that of another, which was renewed earlier, may have."""
    async with keeping() as on:
        for _ in range(3):
            await on.pass_time(LEASE / 3)
        assert on.replica.may_judge
        on.store.is_down = True
        await on.pass_time(LEASE / 3)
        assert not on.replica.may_judge
        on.store.is_down = False
        await on.pass_time(LEASE / 20)
        assert (on.late, on.replica.is_sure, on.replica.may_judge) == (0, True, False)
        for _ in range(3):
            await on.pass_time(LEASE / 3)
        assert on.replica.may_judge


async def test_a_lease_that_was_given_up_is_not_renewed() -> None:
    async with keeping() as on:
        await on.replica.leave()
        beats = on.store.beats
        await on.pass_time(LEASE)
        assert on.store.beats == beats


async def test_a_renewal_on_its_way_does_not_undo_the_end_of_a_lease() -> None:
    async with keeping() as on:
        on.store.slowly = asyncio.Event()
        await on.pass_time(LEASE / 3)
        leaving = asyncio.ensure_future(on.replica.leave())
        await pass_over()
        assert not leaving.done()
        on.store.slowly.set()
        await leaving
        assert not on.store.is_alive(on.replica.id)


async def test_who_was_not_sure_asks_what_was_lost_whatever_the_renewal_says() -> None:
    """The answer that it was too late may have been lost with the connection."""
    async with keeping() as on:
        on.store.is_forgiving = True
        await on.pass_time(LEASE)
        assert (on.late, on.replica.may_judge) == (1, False)


async def test_a_defect_does_not_end_the_lease(caplog: pytest.LogCaptureFixture) -> None:
    async with keeping() as on:
        on.store.is_broken = True
        await on.pass_time(LEASE / 3)
        assert "unexpected" in caplog.text
        on.store.is_broken = False
        await on.pass_time(LEASE / 3)
        assert on.replica.is_sure


async def test_a_lease_begins_when_the_store_is_there() -> None:
    on = Stage()
    await on.store.open()
    on.store.is_down = True
    joining = asyncio.ensure_future(on.replica.join())
    await on.clock.until_asleep()
    on.store.is_down = False
    on.clock.advance(LEASE)
    await joining
    assert on.replica.is_sure
