"""Gauges: numbers of a runtime that are read when somebody collects measurements.

They are those of ``dragoman.server.http.metrics``, for OpenTelemetry. Until they are read they cost
nothing. Whoever collects has a thread of its own, so what the store has to be asked for is asked on
the loop of the runtime while the collector waits; one that collects on that very loop goes without.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Final

from dragoman.errors import StoreError

if TYPE_CHECKING:
    from dragoman.server.http.metrics import Measured
    from dragoman.stores.webhooks import PendingOverview
    from dragoman.telemetry import Telemetry

__all__ = ("observe",)

_PATIENCE_SECONDS: Final = 2.0
"""How long a collector waits for the store, and with it for a loop that is busy or has stopped."""


def observe(tracing: Telemetry, measured: Measured) -> None:
    """Let those who measure read the numbers of a runtime, for as long as it lives.

    Call it on the loop of the runtime.
    """
    source = _Source(measured)
    tracing.observe("a2a.streams", "Open streams.", source.of_runtime(lambda one: one.open_streams))
    tracing.observe(
        "a2a.tasks.live", "Tasks in memory.", source.of_runtime(lambda one: one.live_tasks)
    )
    tracing.observe(
        "dragoman.turns.running", "Turns at work.", source.of_runtime(lambda one: one.running_turns)
    )
    tracing.observe(
        "dragoman.turns.waiting",
        "Turns that wait for room among those at work.",
        source.of_runtime(lambda one: one.waiting_turns),
    )
    tracing.observe(
        "dragoman.push.pending",
        "Webhooks with something to send.",
        source.of_webhooks(lambda overview, _: overview.pending),
    )
    tracing.observe(
        "dragoman.push.oldest",
        "How long the webhook has waited that waits longest.",
        source.of_webhooks(lambda overview, now_ms: overview.waited_seconds(now_ms)),
        unit="s",
        together=max,
    )
    tracing.observe(
        "dragoman.push.dead_letters",
        "Notifications that were given up, and that nobody has sent again or dropped.",
        source.of_webhooks(lambda overview, _: overview.dead_letters),
    )


class _Source:
    def __init__(self, measured: Measured) -> None:
        self._measured = weakref.ref(measured)
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def of_runtime(self, value: Callable[[Measured], float]) -> Callable[[], float | None]:
        """Return what reads a number that is at hand."""
        return lambda: None if (one := self._measured()) is None else value(one)

    def of_webhooks(
        self, value: Callable[[PendingOverview, int], float]
    ) -> Callable[[], float | None]:
        """Return what reads a number of webhooks, given the time."""

        def read() -> float | None:
            measured = self._measured()
            overview = None if measured is None else self._overview(measured)
            if measured is None or overview is None:
                return None
            return value(overview, measured.clock.now_ms())

        return read

    def _overview(self, measured: Measured) -> PendingOverview | None:
        """Ask the store; None if that cannot be."""
        if threading.get_ident() == self._thread or not self._loop.is_running():
            return None
        asked = asyncio.run_coroutine_threadsafe(measured.push_overview(), self._loop)
        try:
            return asked.result(_PATIENCE_SECONDS)
        except (StoreError, CancelledError, TimeoutError):
            asked.cancel()
            return None
