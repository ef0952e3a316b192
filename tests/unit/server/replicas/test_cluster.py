import asyncio

from dragoman.bus.base import ReplicaHint, Spent, WorkReleased
from dragoman.bus.local import LocalBus, LocalExchange
from dragoman.errors import StoreUnavailableError
from dragoman.model.operations import Operation
from dragoman.server.admission.rate_limits import RateLimits
from dragoman.server.assembly import build_runtime
from dragoman.server.settings import RateSettings, Settings
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import ScriptedWorker


class Store(SharedMemoryTaskStore):
    """Cannot be left when it is told so."""

    is_down = False

    async def leave(self) -> None:
        if self.is_down:
            raise StoreUnavailableError("gone")
        await super().leave()


async def left(*, is_down: bool) -> list[ReplicaHint]:
    """Start and stop a replica; return what others hear of it."""
    clock, exchange = FakeClock(), LocalExchange()
    store, heard = Store(clock=clock), list[ReplicaHint]()
    beside = LocalBus(exchange)
    await beside.open("beside", on_hint=heard.append, on_reconnect=lambda: None)
    runtime = build_runtime(
        ScriptedWorker(), Settings(), clock=clock, store=store, bus=LocalBus(exchange)
    )
    await runtime.start()
    store.is_down = is_down
    await runtime.drain()
    await asyncio.sleep(0)
    await runtime.stop()
    return heard


async def test_who_leaves_tells_the_others_that_there_is_work() -> None:
    assert await left(is_down=False) == [WorkReleased()]


async def test_who_cannot_leave_is_dead_in_time() -> None:
    assert await left(is_down=True) == []


async def test_a_server_on_a_shared_store_is_a_replica_and_another_is_none() -> None:
    clock = FakeClock()
    shared = build_runtime(
        ScriptedWorker(), Settings(), clock=clock, store=SharedMemoryTaskStore(clock=clock)
    )
    alone = build_runtime(ScriptedWorker(), Settings(), clock=clock, store=MemoryTaskStore())
    for runtime in (shared, alone):
        await runtime.start()
    assert shared.replica_id
    assert alone.replica_id == ""
    assert shared.is_ready
    for runtime in (shared, alone):
        await runtime.stop()


async def test_what_is_used_up_here_is_told_and_what_is_told_is_used_up() -> None:
    clock, exchange = FakeClock(), LocalExchange()
    heard = list[ReplicaHint]()
    beside = LocalBus(exchange)
    rates = RateLimits(RateSettings(rate_limit_per_operation={"GetTask": "3/h"}), clock)
    await beside.open("beside", on_hint=heard.append, on_reconnect=lambda: None)
    runtime = build_runtime(
        ScriptedWorker(),
        Settings(),
        clock=clock,
        store=Store(clock=clock),
        bus=LocalBus(exchange),
        rates=rates,
    )
    await runtime.start()
    rates.admit(Operation.GET_TASK, "a", "")
    await asyncio.sleep(0)
    (spent,) = heard
    assert isinstance(spent, Spent)
    assert spent.units == 1
    beside.publish(spent)
    await asyncio.sleep(0)
    verdict = rates.admit(Operation.GET_TASK, "a", "")
    assert verdict is not None
    assert verdict.remaining == 0
    await runtime.stop()


async def test_a_replica_has_its_name_from_its_start_on() -> None:
    # An application may be built before its process forks.
    clock = FakeClock()
    store = SharedMemoryTaskStore(clock=clock)
    runtime = build_runtime(ScriptedWorker(), Settings(), clock=clock, store=store)
    assert runtime.replica_id == ""
    await runtime.start()
    assert runtime.replica_id
    await runtime.stop()
