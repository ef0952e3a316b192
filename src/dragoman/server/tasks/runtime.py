"""Runtime: one agent at work in this process, from start to stop."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from dragoman.clock import Clock
from dragoman.errors import StoreError, StoreUnavailableError, UnavailableError
from dragoman.push.notification import PushCounters
from dragoman.server.service import LocalService
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.idempotency import Sends
from dragoman.server.tasks.resuming import Resumption
from dragoman.server.tasks.retention import Retention
from dragoman.server.tasks.streams import Hub
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.server.webhooks.setup import PushNotifications
from dragoman.service.service import Call
from dragoman.service.worker import Worker
from dragoman.stores.base import TaskStore
from dragoman.stores.webhooks import PendingOverview

if TYPE_CHECKING:
    from dragoman.server.replicas.cluster import Cluster
    from dragoman.server.replicas.lease import ReplicaNumbers

__all__ = (
    "CALM_SECONDS",
    "Outage",
    "Runtime",
)


_logger = logging.getLogger(__name__)


_HOUSEKEEPING_SECONDS: Final = 60.0

_ROUND_SECONDS: Final = 1.0
"""How often tasks are looked for that are to be woken or put aside."""


class Runtime:
    """The lifecycle of what ``dragoman.server.assembly`` has wired. Start it once, stop it once.

    Attributes:
        started: the service, from start to stop.
        push_counters: what has become of notifications so far.
        outage: whether the store is away, and how many requests were refused for that.

    Args:
        cluster: the other replicas; None if this process has its store to itself.
        push: calls webhooks; None if nobody can register any.
        on_start: called first, on the loop that everything runs on.
        on_stop: called when nothing works any more, before the store is closed.
    """

    def __init__(
        self,
        *,
        worker: Worker,
        store: TaskStore,
        service: LocalService,
        supervisor: TaskSupervisor,
        resumption: Resumption,
        retention: Retention,
        sends: Sends,
        hub: Hub,
        background: BackgroundTasks,
        clock: Clock,
        heartbeat_seconds: float,
        grace_seconds: float,
        cluster: Cluster | None,
        push: PushNotifications | None,
        push_counters: PushCounters,
        on_start: Callable[[Runtime], None],
        on_stop: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self.clock: Final = clock
        self.hub: Final = hub
        self.background: Final = background
        self.push_counters: Final = push_counters
        self.outage: Final = Outage(clock, is_down=self._is_store_down)
        self.started: LocalService | None = None
        self._worker = worker
        self._store = store
        self._service = service
        self._supervisor = supervisor
        self._resumption = resumption
        self._retention = retention
        self._sends = sends
        self._heartbeat_seconds = heartbeat_seconds
        self._grace_seconds = grace_seconds
        self._cluster = cluster
        self._push = push
        self._on_start = on_start
        self._on_stop = on_stop
        self._starting = asyncio.Lock()

    @property
    def is_ready(self) -> bool:
        """Whether requests can be answered, durably."""
        if self.started is None or self.hub.is_closing:
            return False
        is_in_touch = self._cluster is None or self._cluster.lease.is_in_touch
        return self._store.is_available and is_in_touch and not self._supervisor.is_draining

    @property
    def replica_id(self) -> str:
        """Which of several servers this is; "" if the store is for one alone."""
        return "" if self._cluster is None else self._cluster.lease.id

    @property
    def replica(self) -> ReplicaNumbers | None:
        """How this one of several servers stands with the others; None if it is the only one."""
        return None if self._cluster is None else self._cluster.numbers

    @property
    def live_tasks(self) -> int:
        """How many tasks are in memory."""
        return len(self._supervisor.tasks())

    @property
    def open_streams(self) -> int:
        """How many streams are open."""
        return len(self.hub)

    @property
    def running_turns(self) -> int:
        """How many turns are at work."""
        return self._supervisor.slots.running

    @property
    def waiting_turns(self) -> int:
        """How many turns wait for room among those at work."""
        return self._supervisor.slots.waiting

    async def push_overview(self) -> PendingOverview | None:
        """Count webhooks and what they wait for; None unless started."""
        return None if self.started is None else await self._store.webhooks.overview()

    async def service(self) -> LocalService:
        """Return the service, starting it if the ASGI server has not asked for that."""
        if self.started is None:
            # The first request starts it for all. Nothing of it belongs to that request, nor does
            # what it leaves running belong to the trace of it.
            await asyncio.create_task(self.start(), context=contextvars.Context())  # noqa: TID251 - awaited
        return self._service

    async def origin_of(self, task_id: str, call: Call) -> str:
        """Return the name of the dialect in which a task was begun; "" if there is no such task."""
        return await (self.started or await self.service()).origin_of(task_id, call)

    async def has_ended(self, task_id: str, call: Call) -> bool:
        """Tell whether a task of the caller's, named by its own id, has ended."""
        return await (self.started or await self.service()).has_ended(task_id, call)

    def refuse(self, problem: StoreUnavailableError | UnavailableError) -> None:
        """Note that a request is refused, perhaps because the store is away."""
        self.outage.refuse(problem)

    async def start(self) -> None:
        """Open the store, get the agent ready, resume what was cut off."""
        async with self._starting:
            if self.started is not None:
                return
            self._on_start(self)
            self.background.open()
            await self._store.open()
            try:
                await self._begin()
            except BaseException:
                # The store is left as another start, of this process or the next, wants it.
                await self._close()
                raise
            self.started = self._service

    async def _begin(self) -> None:
        if self._cluster is not None:
            await self._cluster.join()
        await self._worker.startup()
        if self._cluster is None:
            await self._resumption.resume_all()
        else:
            self._cluster.begin()
        self.background.spawn(self._beat(), name="heartbeats")
        self.background.spawn(self._keep_house(), name="housekeeping")
        self.background.spawn(self._make_rounds(), name="rounds")
        if self._push is not None:
            self.background.spawn(self._push.run(), name="notifications")

    async def stop(self) -> None:
        """Let turns finish within the grace period, end the streams, close the store."""
        if self.started is None:
            return
        await self.drain()
        if self._push is not None:
            await self._push.stop()
        await self.background.close()
        if self._push is not None:
            await self._push.aclose()
        await self._worker.shutdown()
        if self._on_stop is not None:
            await self._on_stop()
        await self._close()
        self.started = None

    async def _close(self) -> None:
        await self.background.close()
        if self._cluster is not None:
            await self._cluster.close()
        await self._store.close()

    def hasten(self) -> None:
        """Let a stop that is under way wait for no turn any longer."""
        if self.started is not None:
            self._supervisor.hasten()

    async def drain(self) -> None:
        """Take no new work, wait for running turns, then end the streams: clients come back."""
        if self.started is None or self._supervisor.is_draining:
            return
        await self._supervisor.drain(self._grace_seconds)
        if self._cluster is not None:
            await self._cluster.leave()
        self.hub.close()

    def _is_store_down(self) -> bool:
        """Tell whether the store knows that it cannot write; one that is closed is no news."""
        is_at_work = self.started is not None and not self._supervisor.is_draining
        return is_at_work and not self._store.is_available

    async def _beat(self) -> None:
        """One timer for all streams: each idle one sends a comment."""
        while True:
            await self.clock.sleep(self._heartbeat_seconds)
            self.hub.heartbeat()

    async def _make_rounds(self) -> None:
        while True:
            await self.clock.sleep(_ROUND_SECONDS)
            try:
                self._resumption.park_idle()
                await self._resumption.wake_due()
            except StoreUnavailableError as error:
                # A server that has nothing to write, and no requests, finds out by this.
                self.outage.meet(error)
            except StoreError as error:
                _logger.debug("no rounds while the store is gone: %s", error)
            except Exception:
                _logger.exception("the rounds failed")
            else:
                if self.is_ready:
                    self.outage.pass_by()

    async def _keep_house(self) -> None:
        while True:
            await self.clock.sleep(_HOUSEKEEPING_SECONDS)
            try:
                await self._sends.forget_old()
                await self._retention.enforce()
            except StoreError as error:
                _logger.warning("housekeeping has to wait for its store: %s", error)
            except Exception:
                _logger.exception("housekeeping failed")


CALM_SECONDS: Final = 2.0
"""How long nothing may have failed before it is over: a store that fails now and then should not
have two lines for each time."""


class Outage:
    """Whether the store is away, as far as anybody has noticed.

    Args:
        is_down: tells whether the store knows by itself that it cannot write. Then it has told so,
            with the reason, and that is not repeated.
    """

    def __init__(self, clock: Clock, *, is_down: Callable[[], bool]) -> None:
        self._clock = clock
        self._is_down = is_down
        # When it was first and last met; None while there is none.
        self._began_ms: int | None = None
        self._met_ms = 0
        self._is_told = False
        self._refused = 0

    def refuse(self, problem: StoreUnavailableError | UnavailableError) -> None:
        """Count a request that is refused, if it is for want of the store."""
        if isinstance(problem, StoreUnavailableError) or self._is_down():
            self.meet(problem)
        if self._began_ms is not None:
            self._refused += 1
            _logger.debug("a request is refused: %s", problem)

    def meet(self, problem: Exception) -> None:
        """Note that the store did not answer."""
        self._met_ms = self._clock.uptime_ms()
        if self._began_ms is None:
            self._began_ms = self._met_ms
            self._is_told = not self._is_down()
            self._refused = 0
            if self._is_told:
                _logger.warning("the store is away: %s; requests that need it are refused", problem)

    def pass_by(self) -> None:
        """Note that the store answers; it is over if that has lasted for a moment."""
        now_ms = self._clock.uptime_ms()
        if self._began_ms is None or now_ms - self._met_ms < CALM_SECONDS * 1000:
            return
        if self._is_told or self._refused:
            _logger.warning(
                "the store answers again, after %.0f s; requests refused meanwhile: %d",
                (now_ms - self._began_ms) / 1000,
                self._refused,
            )
        self._began_ms = None
