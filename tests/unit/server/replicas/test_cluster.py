import asyncio

from dragoman.bus.base import ReplicaHint, Spent, WorkReleased
from dragoman.bus.local import LocalBus, LocalExchange
from dragoman.errors import StoreUnavailableError
from dragoman.model.operations import Operation
from dragoman.server.admission.rate_limits import RateLimits
from dragoman.server.replicas.cluster import Cluster
from dragoman.server.settings import RateSettings, Settings
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.runtime import Runtime
from dragoman.server.tasks.streams import Hub
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
    """Join and leave; return what others hear of it."""
    clock, exchange, background = FakeClock(), LocalExchange(), BackgroundTasks()
    store, heard = Store(clock=clock), list[ReplicaHint]()
    beside = LocalBus(exchange)
    await beside.open("beside", on_hint=heard.append, on_reconnect=lambda: None)
    await store.open()
    cluster = Cluster(
        store,
        LocalBus(exchange),
        clock=clock,
        hub=Hub(),
        background=background,
        settings=Settings(),
    )
    await cluster.join()
    store.is_down = is_down
    await cluster.leave()
    await asyncio.sleep(0)
    await cluster.close()
    await background.close()
    return heard


async def test_who_leaves_tells_the_others_that_there_is_work() -> None:
    assert await left(is_down=False) == [WorkReleased()]


async def test_who_cannot_leave_is_dead_in_time() -> None:
    assert await left(is_down=True) == []


async def test_a_server_on_a_shared_store_is_a_replica_and_another_is_none() -> None:
    clock = FakeClock()
    shared = Runtime(
        ScriptedWorker(), Settings(), clock=clock, store=SharedMemoryTaskStore(clock=clock)
    )
    alone = Runtime(ScriptedWorker(), Settings(), clock=clock, store=MemoryTaskStore())
    for runtime in (shared, alone):
        await runtime.start()
    assert shared.replica_id
    assert alone.replica_id == ""
    assert shared.is_ready
    for runtime in (shared, alone):
        await runtime.stop()


async def test_what_is_used_up_here_is_told_and_what_is_told_is_used_up() -> None:
    clock, exchange, background = FakeClock(), LocalExchange(), BackgroundTasks()
    heard = list[ReplicaHint]()
    beside = LocalBus(exchange)
    rates = RateLimits(RateSettings(rate_limit_per_operation={"GetTask": "3/h"}), clock)
    await beside.open("beside", on_hint=heard.append, on_reconnect=lambda: None)
    store = Store(clock=clock)
    await store.open()
    cluster = Cluster(
        store,
        LocalBus(exchange),
        clock=clock,
        hub=Hub(),
        background=background,
        settings=Settings(),
        rates=rates,
    )
    await cluster.join()
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
    await cluster.close()
    await background.close()
