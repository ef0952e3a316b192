"""Metrics: a few numbers about this process, in the text format of Prometheus.

They are for whoever runs the server: callers on this machine, and those who can show who they are.
Of several servers each tells of itself, and says which it is: behind one port, anyone may answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, Protocol

from dragoman.clock import Clock
from dragoman.errors import A2AError, MethodNotAllowedError, PermissionDeniedError, StoreError
from dragoman.push.notification import PushCounters
from dragoman.server.admission.authentication import Guard
from dragoman.server.http.cards import refuse
from dragoman.server.http.exchange import Exchange
from dragoman.server.replicas.lease import ReplicaNumbers
from dragoman.stores.webhooks import PendingOverview

__all__ = ("METRICS_PATH", "Measured", "Metrics", "Sample", "exposition")

METRICS_PATH: Final = "/metrics"

_TEXT: Final = b"text/plain; version=0.0.4; charset=utf-8"
_READING: Final = ("GET", "HEAD")


class Sample(NamedTuple):
    """One number, with what a reader has to know of it."""

    name: str
    kind: Literal["counter", "gauge"]
    meaning: str
    value: float


class Measured(Protocol):
    """What is looked at: the runtime of an agent."""

    @property
    def clock(self) -> Clock:
        """The time it goes by."""
        ...

    @property
    def is_ready(self) -> bool:
        """Tell whether requests can be answered, durably."""
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
    def tally(self) -> PushCounters:
        """What has come of notifications."""
        ...

    async def push_overview(self) -> PendingOverview | None:
        """Count webhooks and what they wait for, None if there is no store."""
        ...


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
        measured = self._measured
        samples = [*_of_process(measured), *_of_replica(measured), *await _of_push(measured)]
        replica = measured.replica
        body = exposition(samples, "" if replica is None else replica.id)
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


def _of_process(measured: Measured) -> Iterator[Sample]:
    yield Sample(
        "dragoman_ready", "gauge", "1 while work can be stored, else 0.", int(measured.is_ready)
    )
    yield Sample("dragoman_live_tasks", "gauge", "Tasks in memory.", measured.live_tasks)
    yield Sample("dragoman_open_streams", "gauge", "Open streams.", measured.open_streams)
    yield Sample("dragoman_turns_running", "gauge", "Turns at work.", measured.running_turns)
    yield Sample(
        "dragoman_turns_waiting",
        "gauge",
        "Turns that wait for room among those at work.",
        measured.waiting_turns,
    )


def _of_replica(measured: Measured) -> Iterator[Sample]:
    replica = measured.replica
    if replica is None:
        return
    yield Sample(
        "dragoman_lease_valid",
        "gauge",
        "1 while no other replica can have taken over tasks of this one, else 0.",
        int(replica.has_lease),
    )
    yield Sample(
        "dragoman_lease_lapses_total",
        "counter",
        "How often the lease had run out when it was renewed.",
        replica.lapses,
    )
    yield Sample(
        "dragoman_bus_connected",
        "gauge",
        "1 while hints of other replicas are heard, else 0.",
        int(replica.has_bus),
    )
    yield Sample(
        "dragoman_tasks_followed_elsewhere",
        "gauge",
        "Tasks of other replicas that somebody follows here.",
        replica.followed,
    )
    yield Sample(
        "dragoman_tasks_taken_over_total",
        "counter",
        "Tasks taken over from replicas that are gone.",
        replica.taken_over,
    )
    yield Sample(
        "dragoman_tasks_lost_total",
        "counter",
        "Tasks that other replicas have taken over from this one.",
        replica.lost,
    )


async def _of_push(measured: Measured) -> list[Sample]:
    tally = measured.tally
    samples = [
        Sample(
            "dragoman_push_delivered_total",
            "counter",
            "Notifications that a webhook has taken.",
            tally.delivered,
        ),
        Sample(
            "dragoman_push_retried_total",
            "counter",
            "Attempts to notify a webhook after which another follows.",
            tally.retried,
        ),
        Sample(
            "dragoman_push_dead_total", "counter", "Notifications that were given up.", tally.dead
        ),
    ]
    try:
        overview = await measured.push_overview()
    except StoreError:
        # What is not known is not told; dragoman_ready says why.
        overview = None
    if overview is not None:
        samples += _of_overview(overview, measured.clock.now_ms())
    return samples


def _of_overview(overview: PendingOverview, now_ms: int) -> Iterator[Sample]:
    yield Sample("dragoman_push_webhooks", "gauge", "Registered webhooks.", overview.webhooks)
    yield Sample(
        "dragoman_push_pending", "gauge", "Webhooks with something to send.", overview.pending
    )
    yield Sample(
        "dragoman_push_oldest_pending_seconds",
        "gauge",
        "How long the webhook has waited that waits longest.",
        overview.waited_seconds(now_ms),
    )
    yield Sample(
        "dragoman_push_dead_letters",
        "gauge",
        "Notifications that were given up, and that nobody has sent again or dropped.",
        overview.dead_letters,
    )
