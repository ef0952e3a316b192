"""Runtime: one agent at work in this process, from start to stop."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from dragoman import telemetry
from dragoman.bus.base import Bus
from dragoman.bus.local import LocalBus, LocalExchange
from dragoman.bus.opening import open_bus
from dragoman.clock import Clock, SystemClock
from dragoman.errors import StoreError, StoreUnavailableError, UnavailableError
from dragoman.push.notification import PushCounters
from dragoman.server.admission.authorization import Access
from dragoman.server.admission.rate_limits import RateLimits
from dragoman.server.http import gauges
from dragoman.server.replicas.cluster import Cluster
from dragoman.server.replicas.lease import ReplicaNumbers
from dragoman.server.service import ExtendedCard, LocalService
from dragoman.server.settings import Settings
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.idempotency import Sends
from dragoman.server.tasks.resuming import Resumption, ResumptionLimits
from dragoman.server.tasks.retention import Ages, Retention
from dragoman.server.tasks.secrets import TaskSecrets
from dragoman.server.tasks.slots import Limits
from dragoman.server.tasks.starting import MessageIntake
from dragoman.server.tasks.streams import Hub
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.server.webhooks.keys import PushKeys
from dragoman.server.webhooks.setup import PushNotifications
from dragoman.service.service import Call
from dragoman.service.worker import Worker
from dragoman.stores.base import SharedTaskStore, StoredTask, TaskStore
from dragoman.stores.opening import is_shared, key_file, open_store
from dragoman.stores.webhooks import PendingOverview

__all__ = (
    "CALM_SECONDS",
    "Outage",
    "Runtime",
)


_logger = logging.getLogger(__name__)


_HOUSEKEEPING_SECONDS: Final = 60.0

_ROUND_SECONDS: Final = 1.0
"""How often tasks are looked for that are to be woken or put aside."""

_NO_COMMON_KEY: Final = (
    "replicas keep secret answers under a key that all of them have: name its file by secrets_key"
)


class Runtime:
    """What an application needs while it serves. Start it once, stop it once.

    Attributes:
        tally: what has come of notifications so far.
        outage: whether the store is away, and how many requests were refused for that.
    """

    def __init__(
        self,
        worker: Worker,
        settings: Settings,
        *,
        clock: Clock | None = None,
        store: TaskStore | None = None,
        bus: Bus | None = None,
        access: Access | None = None,
        extended_card: ExtendedCard | None = None,
        on_stop: Callable[[], Awaitable[None]] | None = None,
        push_keys: PushKeys | None = None,
        rates: RateLimits | None = None,
        marks_traces: bool = False,
    ) -> None:
        self.clock: Final = clock or SystemClock()
        self.hub: Final = Hub()
        self.background: Final = BackgroundTasks()
        self.outage: Final = Outage(self.clock, is_down=self._is_store_down)
        self._worker = worker
        self._settings = settings
        self._given_store = store
        self._given_bus = bus
        self._cluster: Cluster | None = None
        self._access = access
        self._extended_card = extended_card
        self._on_stop = on_stop
        self._push_keys = push_keys or PushKeys(settings, self.clock)
        self._rates = rates
        self._marks_traces = marks_traces
        self._pushing: PushNotifications | None = None
        self.tally: Final = PushCounters()
        self._parts: tuple[TaskStore, TaskSupervisor, LocalService] | None = None
        self._starting: asyncio.Lock | None = None

    @property
    def is_ready(self) -> bool:
        """Tell whether requests can be answered, durably."""
        if self._parts is None or self.hub.is_closing:
            return False
        store, supervisor, _ = self._parts
        is_in_touch = self._cluster is None or self._cluster.replica.is_in_touch
        return store.is_available and is_in_touch and not supervisor.is_draining

    @property
    def replica_id(self) -> str:
        """Which of several servers this is; "" if the store is for one alone."""
        return "" if self._cluster is None else self._cluster.replica.id

    @property
    def replica(self) -> ReplicaNumbers | None:
        """How this one of several servers stands with the others; None if it is the only one."""
        return None if self._cluster is None else self._cluster.numbers

    @property
    def live_tasks(self) -> int:
        """How many tasks are in memory."""
        return 0 if self._parts is None else len(self._parts[1].tasks())

    @property
    def open_streams(self) -> int:
        """How many streams are open."""
        return len(self.hub)

    @property
    def running_turns(self) -> int:
        """How many turns are at work."""
        return 0 if self._parts is None else self._parts[1].slots.running

    @property
    def waiting_turns(self) -> int:
        """How many turns wait for room among those at work."""
        return 0 if self._parts is None else self._parts[1].slots.waiting

    async def push_overview(self) -> PendingOverview | None:
        """Count webhooks and what they wait for, None before the start."""
        return None if self._parts is None else await self._parts[0].webhooks.overview()

    @property
    def started(self) -> LocalService | None:
        """The service, once it has been started."""
        return None if self._parts is None else self._parts[2]

    async def service(self) -> LocalService:
        """Return the service, starting it if the ASGI server has not asked for that."""
        if self._parts is None:
            # Whoever comes first starts it for all: none of it belongs to that request, nor does
            # what it leaves running belong to the trace of it.
            await asyncio.create_task(self.start(), context=contextvars.Context())  # noqa: TID251 - awaited
        assert self._parts is not None  # noqa: S101 - start() has set it or raised
        return self._parts[2]

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
        """Open the store, get the agent ready, take up what was cut off."""
        self._starting = self._starting or asyncio.Lock()
        async with self._starting:
            if self._parts is not None:
                return
            if (tracing := telemetry.look()) is not None:
                gauges.observe(tracing, self)
            self.background.open()
            settings = self._settings
            store = self._given_store or open_store(settings.store)
            bus = self._given_bus or open_bus(settings.bus, store=settings.store)
            await store.open()
            self._cluster = cluster = await self._join(store, bus)
            remote_tasks = None if cluster is None else cluster.remote_tasks
            task_secrets = _vault_of(settings)
            supervisor = TaskSupervisor(
                worker=self._worker,
                store=store,
                clock=self.clock,
                hub=self.hub,
                limits=Limits(
                    running_turns=settings.max_running_turns,
                    waiting_turns=settings.max_waiting_turns,
                    turns_per_owner=settings.max_turns_per_owner,
                    cancel_grace_seconds=settings.cancel_grace_seconds,
                    turn_seconds=settings.turn_timeout_seconds,
                ),
                remote_tasks=remote_tasks,
                marks_traces=self._marks_traces,
                task_secrets=task_secrets,
            )
            sends = Sends(store, self.clock, settings.idempotency_seconds)
            sender = MessageIntake(
                worker=self._worker,
                store=store,
                supervisor=supervisor,
                sends=sends,
                clock=self.clock,
                remote_tasks=remote_tasks,
                task_secrets=task_secrets,
            )
            if settings.push:
                self._pushing = PushNotifications(
                    settings, store=store, clock=self.clock, keys=self._push_keys, tally=self.tally
                )
            service = LocalService(
                store=store,
                supervisor=supervisor,
                sender=sender,
                hub=self.hub,
                wait_seconds=settings.max_wait_seconds,
                default_wait_seconds=settings.default_wait_seconds,
                access=self._access,
                extended_card=self._extended_card,
                remote_tasks=remote_tasks,
                webhooks=self._pushing and self._pushing.webhooks,
            )
            may_take = _take_all if cluster is None else cluster.replica.may_take
            resumption = Resumption(
                worker=self._worker,
                store=store,
                supervisor=supervisor,
                clock=self.clock,
                background=self.background,
                limits=ResumptionLimits(
                    attempts=settings.max_attempts,
                    park_after_seconds=settings.park_after_seconds,
                ),
                may_take=may_take,
            )
            retention = Retention(
                store=store,
                supervisor=supervisor,
                clock=self.clock,
                ages=Ages(
                    ended_days=settings.retention_days, waiting_days=settings.input_expiry_days
                ),
                may_take=may_take,
            )
            await self._worker.startup()
            if cluster is None:
                await resumption.resume_all()
            else:
                cluster.begin(supervisor, resumption)
            self.background.spawn(self._beat(), name="heartbeats")
            self.background.spawn(self._keep_house(sends, retention), name="housekeeping")
            self.background.spawn(self._make_rounds(resumption), name="rounds")
            if self._pushing is not None:
                self.background.spawn(self._pushing.run(), name="notifications")
            self._parts = (store, supervisor, service)

    async def stop(self) -> None:
        """Let turns finish within the grace period, end the streams, close the store."""
        if self._parts is None:
            return
        store, supervisor, _ = self._parts
        await self.drain()
        if self._pushing is not None:
            await self._pushing.stop()
        await self.background.close()
        if self._pushing is not None:
            await self._pushing.aclose()
        await self._worker.shutdown()
        if self._on_stop is not None:
            await self._on_stop()
        if self._cluster is not None:
            await self._cluster.close()
        await store.close()
        self._parts = None
        del supervisor

    def hasten(self) -> None:
        """Let a stop that is under way wait for no turn any longer."""
        if self._parts is not None:
            self._parts[1].hasten()

    async def drain(self) -> None:
        """Take no new work, wait for running turns, then end the streams: clients come back."""
        if self._parts is None or self._parts[1].is_draining:
            return
        await self._parts[1].drain(self._settings.shutdown_grace_seconds)
        if self._cluster is not None:
            await self._cluster.leave()
        self.hub.close()

    def _is_store_down(self) -> bool:
        """Tell whether the store knows that it cannot write; one that is closed is no news."""
        if self._parts is None:
            return False
        store, supervisor, _ = self._parts
        return not store.is_available and not supervisor.is_draining

    async def _join(self, store: TaskStore, bus: Bus | None) -> Cluster | None:
        """Become one of several, if the store is for that."""
        if not isinstance(store, SharedTaskStore):
            return None
        cluster = Cluster(
            store,
            bus or LocalBus(LocalExchange()),
            clock=self.clock,
            hub=self.hub,
            background=self.background,
            settings=self._settings,
            rates=self._rates,
        )
        await cluster.join()
        return cluster

    async def _beat(self) -> None:
        """One timer for all streams: each idle one sends a comment."""
        while True:
            await self.clock.sleep(self._settings.heartbeat_seconds)
            self.hub.heartbeat()

    async def _make_rounds(self, resumption: Resumption) -> None:
        while True:
            await self.clock.sleep(_ROUND_SECONDS)
            try:
                resumption.park_idle()
                await resumption.wake_due()
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

    async def _keep_house(self, sends: Sends, retention: Retention) -> None:
        while True:
            await self.clock.sleep(_HOUSEKEEPING_SECONDS)
            try:
                await sends.forget_old()
                await retention.enforce()
            except StoreError as error:
                _logger.warning("housekeeping has to wait for its store: %s", error)
            except Exception:
                _logger.exception("housekeeping failed")


def _take_all(stored: StoredTask) -> bool:
    """Tell that any task may be taken up: nobody else has the store."""
    del stored
    return True


def _vault_of(settings: Settings) -> TaskSecrets:
    if settings.secrets_key is not None:
        return TaskSecrets(Path(settings.secrets_key))
    if is_shared(settings.store):
        return TaskSecrets(why_none=_NO_COMMON_KEY)
    return TaskSecrets(key_file(settings.store))


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
