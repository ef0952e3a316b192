"""Numbers about a running server: one list, served to Prometheus and offered to OpenTelemetry.

``GET /metrics`` is for operators: callers on this machine, and those who can show who they are. Of
several servers each tells of itself and names itself: behind one port, any of them may answer.

OpenTelemetry's gauges cost nothing until they are read. A collector reads them on a thread of its
own; what has to be asked of the store is asked on the server's loop while the collector waits. A
collector that runs on that very loop gets no such numbers.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from functools import partial
from typing import TYPE_CHECKING, Final, Generic, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

from dragoman.clock import Clock
from dragoman.errors import A2AError, MethodNotAllowedError, PermissionDeniedError, StoreError
from dragoman.push.notification import PushCounters
from dragoman.server.admission.authentication import Guard
from dragoman.server.http.cards import refuse
from dragoman.server.http.exchange import Exchange
from dragoman.stores.webhooks import PendingOverview

if TYPE_CHECKING:
    from dragoman.server.replicas.lease import ReplicaNumbers
    from dragoman.telemetry import Telemetry

__all__ = ("METRICS_PATH", "Measured", "Metrics", "Sample", "exposition", "observe")

METRICS_PATH: Final = "/metrics"

_TEXT: Final = b"text/plain; version=0.0.4; charset=utf-8"
_READING: Final = ("GET", "HEAD")

_STORE_SECONDS: Final = 2.0
"""How long a collector waits for the store, and with it for a loop that is busy or has stopped."""

_Kind = Literal["counter", "gauge"]
_Source = TypeVar("_Source")


class Measured(Protocol):
    """What is looked at: the runtime of an agent."""

    @property
    def clock(self) -> Clock:
        """The time it goes by."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether requests can be answered, durably."""
        ...

    @property
    def replica(self) -> ReplicaNumbers | None:
        """How it stands with other replicas; None if there are none."""
        ...

    @property
    def live_tasks(self) -> int:
        """How many tasks are in memory."""
        ...

    @property
    def open_streams(self) -> int:
        """How many streams are open."""
        ...

    @property
    def running_turns(self) -> int:
        """How many turns are at work."""
        ...

    @property
    def waiting_turns(self) -> int:
        """How many turns wait for room among those at work."""
        ...

    @property
    def push_counters(self) -> PushCounters:
        """What has become of notifications."""
        ...

    async def push_overview(self) -> PendingOverview | None:
        """Count webhooks and what they wait for, None if there is no store."""
        ...


class _Webhooks(NamedTuple):
    overview: PendingOverview
    now_ms: int


class _Number(Struct, Generic[_Source], frozen=True):
    """A number, and how it is read.

    Attributes:
        name: what Prometheus calls it.
        gauge: what OpenTelemetry calls it; "" if it is not offered there.
        together: what the values of several servers in one process make together.
    """

    name: str
    kind: _Kind
    meaning: str
    read: Callable[[_Source], float]
    gauge: str = ""
    unit: str = ""
    together: Callable[[Sequence[float]], float] = sum


_OF_SERVER: Final[tuple[_Number[Measured], ...]] = (
    _Number(
        "dragoman_ready",
        "gauge",
        "1 while work can be stored, else 0.",
        lambda server: int(server.is_ready),
    ),
    _Number(
        "dragoman_live_tasks",
        "gauge",
        "Tasks in memory.",
        lambda server: server.live_tasks,
        gauge="a2a.tasks.live",
    ),
    _Number(
        "dragoman_open_streams",
        "gauge",
        "Open streams.",
        lambda server: server.open_streams,
        gauge="a2a.streams",
    ),
    _Number(
        "dragoman_turns_running",
        "gauge",
        "Turns at work.",
        lambda server: server.running_turns,
        gauge="dragoman.turns.running",
    ),
    _Number(
        "dragoman_turns_waiting",
        "gauge",
        "Turns that wait for room among those at work.",
        lambda server: server.waiting_turns,
        gauge="dragoman.turns.waiting",
    ),
)

_OF_REPLICA: Final[tuple[_Number[ReplicaNumbers], ...]] = (
    _Number(
        "dragoman_lease_valid",
        "gauge",
        "1 while no other replica can have taken over tasks of this one, else 0.",
        lambda replica: int(replica.has_lease),
    ),
    _Number(
        "dragoman_lease_lapses_total",
        "counter",
        "How often the lease had run out when it was renewed.",
        lambda replica: replica.lapses,
    ),
    _Number(
        "dragoman_bus_connected",
        "gauge",
        "1 while hints of other replicas are heard, else 0.",
        lambda replica: int(replica.has_bus),
    ),
    _Number(
        "dragoman_tasks_followed_elsewhere",
        "gauge",
        "Tasks of other replicas that somebody follows here.",
        lambda replica: replica.followed,
    ),
    _Number(
        "dragoman_tasks_taken_over_total",
        "counter",
        "Tasks taken over from replicas that are gone.",
        lambda replica: replica.taken_over,
    ),
    _Number(
        "dragoman_tasks_lost_total",
        "counter",
        "Tasks that other replicas have taken over from this one.",
        lambda replica: replica.lost,
    ),
)

_OF_NOTIFICATIONS: Final[tuple[_Number[PushCounters], ...]] = (
    _Number(
        "dragoman_push_delivered_total",
        "counter",
        "Notifications that a webhook has taken.",
        lambda counters: counters.delivered,
    ),
    _Number(
        "dragoman_push_retried_total",
        "counter",
        "Attempts to notify a webhook after which another follows.",
        lambda counters: counters.retried,
    ),
    _Number(
        "dragoman_push_dead_total",
        "counter",
        "Notifications that were given up.",
        lambda counters: counters.dead,
    ),
)

_OF_WEBHOOKS: Final[tuple[_Number[_Webhooks], ...]] = (
    _Number(
        "dragoman_push_webhooks",
        "gauge",
        "Registered webhooks.",
        lambda webhooks: webhooks.overview.webhooks,
    ),
    _Number(
        "dragoman_push_pending",
        "gauge",
        "Webhooks with something to send.",
        lambda webhooks: webhooks.overview.pending,
        gauge="dragoman.push.pending",
    ),
    _Number(
        "dragoman_push_oldest_pending_seconds",
        "gauge",
        "How long the webhook has waited that waits longest.",
        lambda webhooks: webhooks.overview.waited_seconds(webhooks.now_ms),
        gauge="dragoman.push.oldest",
        unit="s",
        together=max,
    ),
    _Number(
        "dragoman_push_dead_letters",
        "gauge",
        "Notifications that were given up, and that nobody has sent again or dropped.",
        lambda webhooks: webhooks.overview.dead_letters,
        gauge="dragoman.push.dead_letters",
    ),
)


# --- Prometheus ---------------------------------------------------------------------------------


class Sample(NamedTuple):
    """One number as it was read."""

    name: str
    kind: _Kind
    meaning: str
    value: float


class Metrics:
    """Serves the numbers.

    Args:
        local: lets in callers on this machine, and nobody else.
        guard: lets in those who can show who they are; None where nobody could.
    """

    def __init__(self, measured: Measured, *, local: Guard, guard: Guard | None) -> None:
        self._measured = measured
        self._local = local
        self._guard = guard

    async def serve(self, exchange: Exchange) -> None:
        """Answer a request for the numbers."""
        try:
            if exchange.method not in _READING:
                raise MethodNotAllowedError(_READING)
            await self._admit(exchange)
        except A2AError as error:
            await refuse(exchange, error)
            return
        replica = self._measured.replica
        body = exposition(await _samples(self._measured), "" if replica is None else replica.id)
        await exchange.reply(200, _TEXT, body, ((b"cache-control", b"no-store"),))

    async def _admit(self, exchange: Exchange) -> None:
        try:
            self._local.admit(exchange.peer, exchange.headers)
        except PermissionDeniedError:
            if self._guard is None:
                raise
            await self._guard.enter(exchange)


def exposition(samples: Iterable[Sample], replica_id: str = "") -> bytes:
    """Write samples as Prometheus reads them; those of one of several servers name it."""
    label = f'{{replica="{replica_id}"}}' if replica_id else ""
    lines: list[str] = []
    for each in samples:
        value = f"{each.value:g}" if each.value % 1 else f"{each.value:.0f}"
        lines += (
            f"# HELP {each.name} {each.meaning}",
            f"# TYPE {each.name} {each.kind}",
            f"{each.name}{label} {value}",
        )
    return "".join(f"{line}\n" for line in lines).encode()


async def _samples(measured: Measured) -> list[Sample]:
    samples = [*_read(_OF_SERVER, measured)]
    if (replica := measured.replica) is not None:
        samples += _read(_OF_REPLICA, replica)
    samples += _read(_OF_NOTIFICATIONS, measured.push_counters)
    try:
        overview = await measured.push_overview()
    except StoreError:
        # What is not known is not told; dragoman_ready says why.
        overview = None
    if overview is not None:
        samples += _read(_OF_WEBHOOKS, _Webhooks(overview, measured.clock.now_ms()))
    return samples


def _read(numbers: Iterable[_Number[_Source]], source: _Source) -> Iterator[Sample]:
    for each in numbers:
        yield Sample(each.name, each.kind, each.meaning, each.read(source))


# --- OpenTelemetry ------------------------------------------------------------------------------


def observe(tracing: Telemetry, measured: Measured) -> None:
    """Offer the numbers of a server to OpenTelemetry for as long as the server lives.

    Call it on the loop of the server.
    """
    source = _Gauges(measured)
    for number in _OF_SERVER:
        if number.gauge:
            _offer(tracing, number, partial(source.of_server, number))
    for webhooks in _OF_WEBHOOKS:
        if webhooks.gauge:
            _offer(tracing, webhooks, partial(source.of_webhooks, webhooks))


def _offer(tracing: Telemetry, number: _Number[_Source], read: Callable[[], float | None]) -> None:
    tracing.observe(number.gauge, number.meaning, read, unit=number.unit, together=number.together)


class _Gauges:
    def __init__(self, measured: Measured) -> None:
        self._measured = weakref.ref(measured)
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def of_server(self, number: _Number[Measured]) -> float | None:
        """Read a number that is at hand; None if the server is gone."""
        measured = self._measured()
        return None if measured is None else number.read(measured)

    def of_webhooks(self, number: _Number[_Webhooks]) -> float | None:
        """Read a number of webhooks; None if that cannot be."""
        measured = self._measured()
        overview = None if measured is None else self._overview(measured)
        if measured is None or overview is None:
            return None
        return number.read(_Webhooks(overview, measured.clock.now_ms()))

    def _overview(self, measured: Measured) -> PendingOverview | None:
        if threading.get_ident() == self._thread or not self._loop.is_running():
            return None
        asked = asyncio.run_coroutine_threadsafe(measured.push_overview(), self._loop)
        try:
            return asked.result(_STORE_SECONDS)
        except (StoreError, CancelledError, TimeoutError):
            asked.cancel()
            return None
