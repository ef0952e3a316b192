"""Telemetry: spans, measurements and trace context, for whoever has set up OpenTelemetry.

``active`` is None unless somebody has: then nothing is imported, called or measured, and code that
could be traced costs one look at a variable. ``look`` is called when a server or a client starts.

What goes out names operations, agents, tasks and errors by their kind. Content and credentials
never do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

__all__ = ("Attributes", "Telemetry", "active", "look")

Attributes: TypeAlias = Mapping[str, str | int | float | bool]

_NAME: Final = "dragoman"
_PARENT: Final = "traceparent"
_STATE: Final = "tracestate"

active: Telemetry | None = None
"""Where spans and measurements go; None if nowhere."""


def look() -> Telemetry | None:
    """Find out whether somebody has set up OpenTelemetry by now, and return what is active."""
    global active  # noqa: PLW0603 - OpenTelemetry is global itself
    # Who has set something up has imported this; nobody else has to.
    if active is None and "opentelemetry.trace" in sys.modules and _is_set_up():
        active = Telemetry()
    return active


def _is_set_up() -> bool:
    from opentelemetry import trace  # noqa: PLC0415 - only where it is there

    provider = trace.get_tracer_provider()
    return not isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider)


class Telemetry:
    """OpenTelemetry as we use it.

    The names of spans and attributes follow its conventions for generative AI and for RPC.
    """

    def __init__(
        self, tracers: TracerProvider | None = None, meters: MeterProvider | None = None
    ) -> None:
        """Get tracer and meter; from what was set up for the process, unless others are given."""
        from opentelemetry import (  # noqa: PLC0415 - only where it is there
            context,
            metrics,
            propagate,
            trace,
        )

        self._context = context
        self._trace = trace
        self._propagate = propagate
        self._tracer = trace.get_tracer(_NAME, tracer_provider=tracers)
        self._meter = metrics.get_meter(_NAME, meter_provider=meters)
        self._metrics = metrics
        self._requests = self._meter.create_histogram(
            "rpc.server.duration", unit="ms", description="How long operations took."
        )
        self._moves = self._meter.create_counter(
            "a2a.tasks", description="Tasks that have come to a state."
        )
        self._commits = self._meter.create_histogram(
            "dragoman.commit.size", description="Writes that shared a commit."
        )

    # --- spans ----------------------------------------------------------------------------------

    @contextmanager
    def served(
        self, name: str, headers: Mapping[bytes, str], attributes: Attributes
    ) -> Generator[Span]:
        """Trace an operation that somebody asks of us; what they trace it by is in the headers."""
        parent = headers.get(b"traceparent")
        context: Context | None = None
        if parent:
            context = self._extracted({_PARENT: parent, _STATE: headers.get(b"tracestate", "")})
        with self._span(name, self._trace.SpanKind.SERVER, context, attributes) as span:
            yield span

    @contextmanager
    def span(
        self,
        name: str,
        attributes: Attributes,
        *,
        kind: Literal["internal", "client"] = "internal",
        parent: str = "",
    ) -> Generator[Span]:
        """Trace something we do, as part of what is going on, or of what ``parent`` tells."""
        kinds = self._trace.SpanKind
        context = self._extracted({_PARENT: parent}) if parent else None
        chosen = kinds.CLIENT if kind == "client" else kinds.INTERNAL
        with self._span(name, chosen, context, attributes) as span:
            yield span

    @contextmanager
    def _span(
        self, name: str, kind: object, context: Context | None, attributes: Attributes
    ) -> Generator[Span]:
        span = self._tracer.start_span(
            name,
            context=context,
            kind=kind,  # type: ignore[arg-type] - one of SpanKind
            attributes=dict(attributes),
        )
        token = self._context.attach(self._trace.set_span_in_context(span))
        try:
            yield span
        except Exception as error:
            # Its kind and no more: the text of an error may hold what was said.
            span.set_attribute("error.type", type(error).__qualname__)
            span.set_status(self._trace.StatusCode.ERROR)
            raise
        finally:
            self._context.detach(token)
            span.end()

    def traceparent(self) -> str:
        """Return what names the current span to others, "" if there is none."""
        context = self._trace.get_current_span().get_span_context()
        if not context.is_valid:
            return ""
        # As W3C writes it; asking the propagators, of which there may be several, takes longer.
        return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"

    def outgoing(self) -> dict[str, str]:
        """Return the headers that tell others of the current span."""
        carrier: dict[str, str] = {}
        self._propagate.inject(carrier)
        return carrier

    def ids(self) -> tuple[str, str]:
        """Return the ids of the current trace and span as hexadecimals, "" for none."""
        context = self._trace.get_current_span().get_span_context()
        if not context.is_valid:
            return "", ""
        return f"{context.trace_id:032x}", f"{context.span_id:016x}"

    def _extracted(self, carrier: dict[str, str]) -> Context:
        # What cannot be read counts as nothing, and a trace begins here.
        return self._propagate.extract(carrier)

    # --- measurements ---------------------------------------------------------------------------

    def took(self, milliseconds: float, attributes: Attributes) -> None:
        """Measure an operation."""
        self._requests.record(milliseconds, dict(attributes))

    def task_moved(self, state: str) -> None:
        """Count a task that has come to a state."""
        self._moves.add(1, {"a2a.task.state": state})

    def committed(self, writes: int) -> None:
        """Measure a commit."""
        self._commits.record(writes)

    def observe(self, name: str, description: str, value: Callable[[], int | None]) -> None:
        """Have a number read whenever measurements are collected; None leaves it out."""

        def read(_: object) -> list[object]:
            found = value()
            return [] if found is None else [self._metrics.Observation(found)]

        self._meter.create_observable_gauge(name, [read], description=description)  # type: ignore[list-item] - read is a callback
