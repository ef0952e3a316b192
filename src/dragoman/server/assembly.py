"""The composition root: from an agent and settings to an application.

``build_app`` serves an agent that works in this process; ``build_service_app`` serves any other
``A2AService``, such as a remote agent. Everything is made here, the store, the bus and what runs
tasks included (``build_runtime``); what has to be opened is opened when the application starts.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from dragoman import telemetry
from dragoman.auth.incoming.api_key import ApiKeys
from dragoman.auth.incoming.combining import Combination
from dragoman.bus.base import Bus
from dragoman.bus.local import LocalBus, LocalExchange
from dragoman.bus.opening import open_bus
from dragoman.clock import Clock, SystemClock
from dragoman.dialects.profiles.base import Serving
from dragoman.dialects.registry import Profiles
from dragoman.errors import StoreUnavailableError, UnavailableError, UsageError
from dragoman.push.notification import PushCounters
from dragoman.server.admission.authentication import Guard
from dragoman.server.admission.authorization import Access
from dragoman.server.admission.client_address import Addressing
from dragoman.server.admission.concurrency import CallerLimits
from dragoman.server.admission.content import RequestValidator
from dragoman.server.admission.rate_limits import RateLimits
from dragoman.server.app import App, Lifecycle
from dragoman.server.cards.card import Describes, PublishedCards, capabilities_of
from dragoman.server.cards.extended import ExtendedCards
from dragoman.server.cards.published_keys import PublishedKeys
from dragoman.server.dispatch import Dispatcher
from dragoman.server.grpc.server import GrpcServer, Services
from dragoman.server.http.calls import HttpCalls
from dragoman.server.http.cards import HttpCard
from dragoman.server.http.cors import Cors
from dragoman.server.http.observability import Metrics, observe
from dragoman.server.service import ExtendedCard, LocalService
from dragoman.server.settings import CardSettings, Settings, StoreSettings, load_settings
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.idempotency import Sends
from dragoman.server.tasks.resuming import Resumption
from dragoman.server.tasks.retention import Retention
from dragoman.server.tasks.runtime import Runtime
from dragoman.server.tasks.secrets import TaskSecrets
from dragoman.server.tasks.starting import MessageIntake
from dragoman.server.tasks.streams import Hub
from dragoman.server.tasks.supervisor import TaskSupervisor
from dragoman.server.webhooks.keys import PushKeys, check_push, tell_unsigned
from dragoman.server.webhooks.setup import PushNotifications
from dragoman.service.service import A2AService, Call, TaskOrigins
from dragoman.service.worker import Worker
from dragoman.stores.base import SharedTaskStore, StoredTask, TaskStore
from dragoman.stores.opening import bus_of, is_shared, key_file, open_store

if TYPE_CHECKING:
    from dragoman.extensions.base import Presence
    from dragoman.server.cards.signing import CardSigning
    from dragoman.server.replicas.cluster import Cluster

__all__ = ("PublishedAgent", "build_app", "build_runtime", "build_service_app")

_logger = logging.getLogger(__name__)

_NO_COMMON_KEY: Final = (
    "replicas keep secret answers under a key that all of them have: name its file by secrets_key"
)


class PublishedAgent(Describes, Protocol):
    """An agent: it says what it is, and has a worker that does the work."""

    @property
    def worker(self) -> Worker:
        """What does the work."""
        ...


def build_app(
    agent: PublishedAgent,
    settings: Mapping[str, object] | Settings | None = None,
    *,
    store: TaskStore | None = None,
    clock: Clock | None = None,
) -> App:
    """Make the application of an agent; settings not given come from the environment.

    Args:
        store: where tasks are kept, instead of where the settings say.
        clock: the time it goes by; else the machine's.

    Raises:
        UsageError: a setting or the agent itself is wrong.
    """
    settings = _settings_of(settings)
    parts = _Parts(agent, settings, clock or SystemClock())
    check_push(settings)
    tell_unsigned(settings)
    push_keys = PushKeys(settings, parts.clock, is_passing=store is not None)
    cards, authentication = parts.cards, parts.authentication
    runtime = build_runtime(
        agent.worker,
        settings,
        clock=parts.clock,
        store=store,
        access=parts.access,
        # R-13.3-1: it is for callers who are known.
        extended_card=ExtendedCards(agent, cards, parts.access, parts.signing).make
        if authentication
        else None,
        on_stop=partial(_let_go, authentication, agent.presence),
        push_keys=push_keys,
        rates=parts.caller_limits.rates,
        marks_traces=settings.trace_metadata or parts.profiles.marks_traces,
    )
    metrics = Metrics(
        runtime,
        local=parts.local_guard,
        guard=parts.guard if authentication is not None else None,
    )
    keys = PublishedKeys(parts.signing, push_keys)
    return parts.app(runtime, runtime, metrics=metrics, keys=keys)


def build_service_app(
    service: A2AService,
    agent: Describes,
    settings: Mapping[str, object] | Settings | None = None,
    *,
    origins: TaskOrigins | None = None,
    clock: Clock | None = None,
) -> App:
    """Make the application of a service: whoever implements ``A2AService`` is served.

    Tasks, webhooks and their store are the service's own; settings about them have no effect.

    Args:
        agent: what the card says, and whom it admits.
        origins: tells in which dialect a task was begun. Without it, the methods that 0.1 and 0.3
            share are answered as 0.3 has them.

    Raises:
        UsageError: a setting or the description of the agent is wrong.
    """
    settings = _settings_of(settings)
    parts = _Parts(agent, settings, clock or SystemClock())
    host = _ServiceHost(
        service, parts.clock, partial(_let_go, parts.authentication, agent.presence)
    )
    return parts.app(host, origins or _UnknownOrigins())


def build_runtime(
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
) -> Runtime:
    """Make what runs the tasks of an agent.

    Raises:
        UsageError: the address of the store or of the bus is wrong, or a driver is not installed.
    """
    clock = clock or SystemClock()
    store = store or open_store(settings.store)
    bus = bus or _bus_of(settings)
    hub, background, counters = Hub(), BackgroundTasks(), PushCounters()
    replica = (
        _Replica(store, bus, settings, clock=clock, hub=hub, background=background, rates=rates)
        if isinstance(store, SharedTaskStore)
        else None
    )
    remote_tasks = None if replica is None else replica.remote_tasks
    task_secrets = _secrets_of(settings)
    supervisor = TaskSupervisor(
        worker=worker,
        store=store,
        clock=clock,
        hub=hub,
        settings=settings,
        remote_tasks=remote_tasks,
        marks_traces=marks_traces,
        task_secrets=task_secrets,
    )
    sends = Sends(store, clock, settings.idempotency_seconds)
    push = (
        PushNotifications(
            settings,
            store=store,
            clock=clock,
            keys=push_keys or PushKeys(settings, clock),
            counters=counters,
        )
        if settings.push
        else None
    )
    service = LocalService(
        store=store,
        supervisor=supervisor,
        sender=MessageIntake(
            worker=worker,
            store=store,
            supervisor=supervisor,
            sends=sends,
            clock=clock,
            remote_tasks=remote_tasks,
            task_secrets=task_secrets,
        ),
        hub=hub,
        wait_seconds=settings.max_wait_seconds,
        default_wait_seconds=settings.default_wait_seconds,
        access=access,
        extended_card=extended_card,
        remote_tasks=remote_tasks,
        webhooks=None if push is None else push.webhooks,
    )
    may_take = _take_any if replica is None else replica.lease.may_take
    resumption = Resumption(
        worker=worker,
        store=store,
        supervisor=supervisor,
        clock=clock,
        background=background,
        settings=settings,
        may_take=may_take,
    )
    retention = Retention(
        store=store,
        supervisor=supervisor,
        clock=clock,
        settings=settings,
        may_take=may_take,
    )
    return Runtime(
        worker=worker,
        store=store,
        service=service,
        supervisor=supervisor,
        resumption=resumption,
        retention=retention,
        sends=sends,
        hub=hub,
        background=background,
        clock=clock,
        heartbeat_seconds=settings.heartbeat_seconds,
        grace_seconds=settings.shutdown_grace_seconds,
        cluster=None if replica is None else replica.cluster(supervisor, resumption),
        push=push,
        push_counters=counters,
        on_start=_observe,
        on_stop=on_stop,
    )


class _Replica:
    """What a server on a shared store has besides. No other server imports these modules."""

    def __init__(
        self,
        store: SharedTaskStore,
        bus: Bus,
        settings: Settings,
        *,
        clock: Clock,
        hub: Hub,
        background: BackgroundTasks,
        rates: RateLimits | None,
    ) -> None:
        from dragoman.server.replicas.lease import ReplicaLease  # noqa: PLC0415 - see above
        from dragoman.server.replicas.remote_tasks import RemoteTasks  # noqa: PLC0415 - see above

        self._bus = bus
        self._settings = settings
        self._clock = clock
        self._background = background
        self._rates = rates
        self._alarm = asyncio.Event()
        self.lease: Final = ReplicaLease(store, clock, lease_seconds=settings.lease_seconds)
        self.remote_tasks: Final = RemoteTasks(
            store=store,
            replica=self.lease,
            bus=bus,
            hub=hub,
            background=background,
            alarm=self._alarm,
        )

    def cluster(self, supervisor: TaskSupervisor, resumption: Resumption) -> Cluster:
        from dragoman.server.replicas.cluster import Cluster  # noqa: PLC0415 - see above
        from dragoman.server.replicas.sweep import Sweep  # noqa: PLC0415 - see above

        sweep = Sweep(
            supervisor=supervisor,
            resumption=resumption,
            remote_tasks=self.remote_tasks,
            clock=self._clock,
            background=self._background,
            alarm=self._alarm,
            seconds=self._settings.sweep_seconds,
        )
        return Cluster(
            lease=self.lease,
            remote_tasks=self.remote_tasks,
            sweep=sweep,
            bus=self._bus,
            background=self._background,
            alarm=self._alarm,
            rates=self._rates,
        )


def _take_any(stored: StoredTask) -> bool:
    """Say that any task may be resumed: nobody else has the store."""
    del stored
    return True


def _observe(runtime: Runtime) -> None:
    if (tracing := telemetry.look()) is not None:
        observe(tracing, runtime)


def _bus_of(settings: StoreSettings) -> Bus:
    if settings.bus and not is_shared(settings.store):
        message = "bus: only replicas on one PostgreSQL have something to tell each other"
        raise UsageError(f"{message}; this store belongs to one process")
    address = settings.bus or bus_of(settings.store)
    return open_bus(address) if address else LocalBus(LocalExchange())


def _secrets_of(settings: StoreSettings) -> TaskSecrets:
    if settings.secrets_key is not None:
        return TaskSecrets(Path(settings.secrets_key))
    if is_shared(settings.store):
        return TaskSecrets(why_none=_NO_COMMON_KEY)
    return TaskSecrets(key_file(settings.store))


class _Parts:
    """What applications of both kinds have: all but what performs the operations."""

    def __init__(self, agent: Describes, settings: Settings, clock: Clock) -> None:
        self._agent = agent
        self._settings = settings
        self.clock: Final = clock
        self.authentication: Final = authentication_of(agent, settings.api_keys)
        self.access: Final = Access(agent.authorize, agent.share)
        self._cors = self._cors_of()
        self.caller_limits: Final = CallerLimits(
            settings, clock, trusted_proxies=settings.trusted_proxies
        )
        self.profiles: Final = Profiles(
            Serving(
                names=settings.profiles,
                account_prefixes=self.authentication.account_prefixes
                if self.authentication
                else (),
                is_strict=settings.strict_versions,
            )
        )
        self.signing: Final = signing_of(settings)
        self.cards: Final = PublishedCards(
            agent,
            clock.now_ms(),
            self.authentication,
            self.signing,
            settings,
            has_push=settings.push,
        )
        self.cards.check_size(settings.max_card_bytes)
        if settings.private_card and (not self.authentication or self.authentication.needs_body):
            # Who fetches a card has no body to sign.
            raise UsageError(
                f"private_card: agent {agent.name!r} has no authenticator that could tell who asks "
                "for the card; give it auth=[...] or a file of api_keys"
            )
        if self.authentication and settings.allow_anonymous:
            _logger.warning("allow_anonymous has no effect: this agent has authenticators")
        self.guard: Final = Guard(
            authentication=self.authentication,
            allow_anonymous=settings.allow_anonymous,
            max_body_bytes=settings.max_body_bytes,
            max_depth=settings.max_depth,
            public_url=settings.public_url,
            allows_origin=self._cors.allows if self._cors is not None else lambda _: False,
            counter=self.caller_limits,
            needs_body=self.authentication is not None and self.authentication.needs_body,
        )

    @property
    def local_guard(self) -> Guard:
        """What lets in callers on this machine: whoever runs the server is one, or is known."""
        return Guard(
            allow_anonymous=False,
            max_body_bytes=self._settings.max_body_bytes,
            max_depth=self._settings.max_depth,
            public_url=None,
        )

    def app(
        self,
        runtime: Lifecycle,
        origins: TaskOrigins,
        *,
        metrics: Metrics | None = None,
        keys: PublishedKeys | None = None,
    ) -> App:
        """Put the application together, around what performs its operations."""
        settings = self._settings
        dispatcher = Dispatcher(
            runtime,
            self._validator(),
            origins=origins,
            is_strict=settings.strict_versions,
            addressing=Addressing(settings.public_url, settings.trusted_proxies),
            caller_limits=self.caller_limits,
            profiles=self.profiles,
            access=self.access,
        )
        return App(
            runtime,
            self.cards,
            calls=HttpCalls(
                dispatcher,
                self.guard,
                runtime.background,
                stall_seconds=settings.stall_seconds,
                force_json=settings.force_json,
                profiles=self.profiles,
            ),
            card=HttpCard(self.cards, dispatcher, self.guard, settings),
            keys=keys,
            metrics=metrics,
            cors=self._cors,
            path=settings.path,
            grpc=GrpcServer(
                dispatcher,
                settings,
                services=partial(_grpc_services, is_strict=settings.strict_versions),
                enter=self.guard.enter,
                is_ready=lambda: runtime.is_ready,
            ),
            connection_limits=settings,
        )

    def _validator(self) -> RequestValidator:
        agent, settings = self._agent, self._settings
        return RequestValidator(
            tenants=agent.tenants,
            capabilities=capabilities_of(agent, has_push=settings.push),
            input_modes=(*agent.input_modes, *(m for s in agent.skills for m in s.input_modes)),
            hidden_input_modes=(m for s in agent.hidden_skills for m in s.input_modes),
            limits=settings,
        )

    def _cors_of(self) -> Cors | None:
        if not self._settings.cors_origins:
            return None
        cors = Cors(self._settings.cors_origins)
        if cors.allows_any and self.authentication is not None:
            raise UsageError(
                "cors_origins: browsers show some credentials for any page that asks them to, so "
                "an agent with authenticators has to name the pages instead of *"
            )
        return cors


class _ServiceHost:
    """A service that is there: it needs no start, and keeps nothing here."""

    replica_id: str = ""

    def __init__(
        self, service: A2AService, clock: Clock, on_stop: Callable[[], Awaitable[None]]
    ) -> None:
        self._service = service
        self._on_stop = on_stop
        self._is_open = False
        self.clock: Final = clock
        self.background: Final = BackgroundTasks()

    @property
    def is_ready(self) -> bool:
        return self._is_open

    @property
    def started(self) -> A2AService | None:
        return self._service if self._is_open else None

    async def service(self) -> A2AService:
        await self.start()
        return self._service

    async def start(self) -> None:
        if not self._is_open:
            self.background.open()
            self._is_open = True

    async def stop(self) -> None:
        if self._is_open:
            self._is_open = False
            await self.background.close()
            await self._on_stop()

    async def drain(self) -> None:
        """Do nothing: work goes on where the service has it."""

    def hasten(self) -> None:
        """Do nothing: a stop waits for nothing."""

    def refuse(self, problem: StoreUnavailableError | UnavailableError) -> None:
        _logger.debug("a request is refused: %s", problem)


class _UnknownOrigins:
    """Knows of no task."""

    async def origin_of(self, task_id: str, call: Call) -> str:
        del task_id, call
        return ""

    async def has_ended(self, task_id: str, call: Call) -> bool:
        del task_id, call
        return False


def _settings_of(settings: Mapping[str, object] | Settings | None) -> Settings:
    return settings if isinstance(settings, Settings) else load_settings(settings or {}, os.environ)


def _grpc_services(*, is_strict: bool) -> Services:
    """Import the forms of gRPC when they are needed: protobuf takes its time."""
    from dragoman.bindings.grpc.services import (  # noqa: PLC0415 - see above
        files_of,
        served_dialects,
    )

    dialects = served_dialects(is_strict=is_strict)
    return Services(dialects=dialects, files=files_of(dialects))


async def _let_go(authentication: Combination | None, presence: Presence | None) -> None:
    """Have what goes along with an agent write what it keeps, and close its connections."""
    if authentication is not None:
        await authentication.flush()
    if presence is not None:
        await presence.aclose()


def authentication_of(agent: Describes, api_keys: str | None = None) -> Combination | None:
    """Return what tells who calls an agent, None if nothing does.

    Args:
        api_keys: a file of keys, any of which will do beside what the agent itself asks for.

    Raises:
        UsageError: a skill needs scopes that nobody could ever have, or the file cannot be read.
    """
    alternatives = (*agent.auth, ApiKeys(api_keys)) if api_keys else agent.auth
    if alternatives:
        return Combination(alternatives)
    for skill_id in agent.skill_scopes:
        raise UsageError(
            f"skill {skill_id} needs scopes, and agent {agent.name!r} has no authenticator to "
            "grant any; give it auth=[...] or a file of api_keys"
        )
    return None


def signing_of(settings: CardSettings) -> CardSigning | None:
    """Return what signs the card, None if nothing does.

    Raises:
        UsageError: a key cannot be used, or the address is missing that a signed card names.
    """
    if not settings.card_key:
        return None
    # Cryptography takes its time.
    from dragoman.server.cards.signing import CardSigning  # noqa: PLC0415 - see above

    return CardSigning(settings.card_key, settings.public_url)
