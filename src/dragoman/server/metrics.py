"""Metrics: a few numbers about this process, in the text format of Prometheus.

They are for whoever runs the server: callers on this machine, and those who can show who they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple, Protocol

from dragoman.clock import Clock
from dragoman.errors import A2AError, MethodNotAllowedError, PermissionDeniedError, StoreError
from dragoman.push.tally import Tally
from dragoman.server.door import Door
from dragoman.server.exchange import Exchange
from dragoman.server.http_card import refuse
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
    def live_tasks(self) -> int:
        """How many tasks are in memory."""
        ...

    @property
    def open_streams(self) -> int:
        """How many streams are open."""
        ...

    @property
    def tally(self) -> Tally:
        """What has come of notifications."""
        ...

    async def push_overview(self) -> PendingOverview | None:
        """Count webhooks and what they wait for, None if there is no store."""
        ...


class Metrics:
    """Serves the numbers.

    Args:
        local: lets in callers on this machine, and nobody else.
        door: lets in those who can show who they are; None where nobody could.
    """

    def __init__(self, measured: Measured, *, local: Door, door: Door | None) -> None:
        self._measured = measured
        self._local = local
        self._door = door

    async def serve(self, exchange: Exchange) -> None:
        """Answer a request for the numbers."""
        try:
            if exchange.method not in _READING:
                raise MethodNotAllowedError(_READING)
            await self._admit(exchange)
        except A2AError as error:
            await refuse(exchange, error)
            return
        body = exposition([*_of_process(self._measured), *await _of_push(self._measured)])
        await exchange.reply(200, _TEXT, body, ((b"cache-control", b"no-store"),))

    async def _admit(self, exchange: Exchange) -> None:
        try:
            self._local.admit(exchange.peer, exchange.headers)
        except PermissionDeniedError:
            if self._door is None:
                raise
            await self._door.enter(exchange)


def exposition(samples: Iterable[Sample]) -> bytes:
    """Write samples as Prometheus reads them."""
    lines: list[str] = []
    for each in samples:
        lines += (
            f"# HELP {each.name} {each.meaning}",
            f"# TYPE {each.name} {each.kind}",
            f"{each.name} {each.value:g}" if each.value % 1 else f"{each.name} {each.value:.0f}",
        )
    return "".join(f"{line}\n" for line in lines).encode()


def _of_process(measured: Measured) -> Iterator[Sample]:
    yield Sample(
        "dragoman_ready", "gauge", "1 while work can be stored, else 0.", int(measured.is_ready)
    )
    yield Sample("dragoman_live_tasks", "gauge", "Tasks in memory.", measured.live_tasks)
    yield Sample("dragoman_open_streams", "gauge", "Open streams.", measured.open_streams)


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
    waited = max(0, now_ms - overview.oldest_ms) / 1000 if overview.oldest_ms else 0
    yield Sample("dragoman_push_webhooks", "gauge", "Registered webhooks.", overview.webhooks)
    yield Sample(
        "dragoman_push_pending", "gauge", "Webhooks with something to send.", overview.pending
    )
    yield Sample(
        "dragoman_push_oldest_pending_seconds",
        "gauge",
        "How long the webhook has waited that waits longest.",
        waited,
    )
    yield Sample(
        "dragoman_push_dead_letters",
        "gauge",
        "Notifications that were given up, and that nobody has sent again or dropped.",
        overview.dead_letters,
    )
