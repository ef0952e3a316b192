"""Telemetry: spans, measurements and trace context, for whoever has set up OpenTelemetry.

``active`` is None unless somebody has: then nothing is imported, called or measured, and code that
could be traced costs one look at a variable. ``look`` is called when a server or a client starts.

What goes out names operations, agents, tasks and errors by their kind. Content and credentials
never do.

A *trace*, as it is kept with what it has caused, is a string: ``traceparent`` as W3C writes it and,
after a space, ``tracestate`` if there is one; "" for none.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from contextvars import Token
    from types import TracebackType

    from opentelemetry.context import Context
    from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
    from opentelemetry.trace import Span, TracerProvider

__all__ = ("Attributes", "CurrentSpan", "Telemetry", "active", "ids_of", "is_set_up", "look")

Attributes: TypeAlias = Mapping[str, str | int | float | bool]

_NAME: Final = "dragoman"

active: Telemetry | None = None
"""Where spans and measurements go; None if nowhere."""


def look() -> Telemetry | None:
    """Find out whether somebody has set up OpenTelemetry by now, and return what is active."""
    global active  # noqa: PLW0603 - OpenTelemetry is global itself
    # Who has set something up has imported this; nobody else has to.
    if active is None and "opentelemetry.trace" in sys.modules and is_set_up():
        active = Telemetry()
    return active


def ids_of(trace: str) -> tuple[str, str]:
    """Return the ids of a trace and of the span it names as hexadecimals, "" for none."""
    if not trace:
        return "", ""
    _, trace_id, span_id, _ = trace.split("-", 3)
    return trace_id, span_id


def is_set_up() -> bool:
    """Return whether the process has a tracer provider; OpenTelemetry must be installed."""
    from opentelemetry import trace  # noqa: PLC0415 - only where it is there

    provider = trace.get_tracer_provider()
    return not isinstance(provider, trace.ProxyTracerProvider | trace.NoOpTracerProvider)


class Telemetry:
    """OpenTelemetry as we use it.

    The names of spans and attributes follow its conventions for generative AI, RPC and HTTP.

    Attributes:
        trace_api, context_api: its modules, which are imported where they are there.
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
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 - the same
            TraceContextTextMapPropagator,
        )

        self.trace_api: Final = trace
        self.context_api: Final = context
        self._propagate = propagate
        self._w3c = TraceContextTextMapPropagator()
        self._nothing = context.Context()
        self._kinds: Final = {
            "server": trace.SpanKind.SERVER,
            "client": trace.SpanKind.CLIENT,
            "internal": trace.SpanKind.INTERNAL,
        }
        self._tracer = trace.get_tracer(_NAME, tracer_provider=tracers)
        self._meter = metrics.get_meter(_NAME, meter_provider=meters)
        self._metrics = metrics
        self._observed: Final[dict[str, list[Callable[[], float | None]]]] = {}
        self._requests = self._meter.create_histogram(
            "rpc.server.duration", unit="ms", description="How long operations took."
        )
        self._moves: Counter[str] = Counter()
        self._meter.create_observable_counter(
            "a2a.tasks", [self._read_moves], description="Tasks that have come to a state."
        )
        self._commits = self._meter.create_histogram(
            "dragoman.commit.size", description="Writes that shared a commit."
        )

    # --- spans ----------------------------------------------------------------------------------

    def served(self, operation: str, dialect: str, headers: Mapping[bytes, str]) -> CurrentSpan:
        """Trace an operation that somebody asks of us; what they trace it by is in the headers."""
        context: Context | None = None
        if parent := headers.get(b"traceparent"):
            # What cannot be read counts as nothing, and a trace begins here.
            carrier = {"traceparent": parent, "tracestate": headers.get(b"tracestate", "")}
            context = self._w3c.extract(carrier, self._nothing)
        attributes = _operation(operation, dialect)
        return self._begin(f"a2a.{operation}", "server", context, attributes)

    def span(
        self,
        name: str,
        attributes: Attributes,
        *,
        kind: Literal["internal", "client"] = "internal",
        parent: str | None = None,
    ) -> CurrentSpan:
        """Trace something we do.

        Args:
            parent: the trace that it belongs to; None for what is going on here and now.
        """
        context = None if parent is None else self._within(parent)
        return self._begin(name, kind, context, attributes)

    def _begin(
        self, name: str, kind: str, context: Context | None, attributes: Attributes
    ) -> CurrentSpan:
        # All attributes at once: each that is set later takes a lock.
        span = self._tracer.start_span(name, context, self._kinds[kind], attributes)
        return CurrentSpan(self, span)

    def trace(self) -> str:
        """Return the trace of what is going on, to be kept."""
        context = self.trace_api.get_current_span().get_span_context()
        # It is a tuple, and read as one: its properties are functions.
        trace_id, span_id, _, flags, state, is_valid = context
        if not is_valid:
            return ""
        # Asking the propagators, of which there may be several, takes longer.
        ids = (trace_id, span_id, flags)
        parent = "00-%032x-%016x-%02x" % ids  # noqa: UP031 - all at once, which takes half as long
        return f"{parent} {state.to_header()}" if state else parent

    def outgoing(self) -> dict[str, str]:
        """Return the headers that tell others of the current span."""
        carrier: dict[str, str] = {}
        self._propagate.inject(carrier)
        return carrier

    def ids(self) -> tuple[str, str]:
        """Return the ids of the current trace and span as hexadecimals, "" for none."""
        return ids_of(self.trace())

    def _within(self, trace: str) -> Context | None:
        if not trace:
            return self._nothing
        # Unlike a header, this was written by us.
        parent, _, state = trace.partition(" ")
        _, trace_hex, span_hex, flags = parent.split("-")
        trace_id, span_id = int(trace_hex, 16), int(span_hex, 16)
        current = self.trace_api.get_current_span().get_span_context()
        if current.span_id == span_id and current.trace_id == trace_id:
            # What the message began goes on in the context that it came in.
            return None
        kept = self.trace_api.SpanContext(
            trace_id,
            span_id,
            is_remote=True,
            trace_flags=self.trace_api.TraceFlags(int(flags, 16)),
            trace_state=self.trace_api.TraceState.from_header([state]) if state else None,
        )
        return self.trace_api.set_span_in_context(
            self.trace_api.NonRecordingSpan(kept), self._nothing
        )

    # --- measurements ---------------------------------------------------------------------------

    def took(self, milliseconds: float, operation: str, dialect: str, outcome: str) -> None:
        """Measure an operation; while its span is current, which then is the example of it."""
        self._requests.record(milliseconds, _outcome(operation, dialect, outcome))

    def task_moved(self, state: str) -> None:
        """Count a task that has come to a state."""
        # Counted here, and read when measurements are collected: the SDK's own counting takes far
        # longer, and there are several of these to a request.
        self._moves[state] += 1

    def _read_moves(self, _: CallbackOptions) -> list[Observation]:
        return [
            self._metrics.Observation(count, {"a2a.task.state": state})
            for state, count in self._moves.copy().items()
        ]

    def committed(self, writes: int) -> None:
        """Measure a commit."""
        self._commits.record(writes)

    def observe(
        self,
        name: str,
        description: str,
        value: Callable[[], float | None],
        *,
        unit: str = "",
        together: Callable[[Sequence[float]], float] = sum,
    ) -> None:
        """Have a number read whenever measurements are collected; None leaves it out.

        It is read on the thread of whoever collects.

        Args:
            together: what makes one number of those that are observed under the same name, by
                several agents of a process.
        """
        if (values := self._observed.get(name)) is not None:
            values.append(value)
            return
        values = self._observed[name] = [value]

        def read(_: CallbackOptions) -> list[Observation]:
            found = [number for each in tuple(values) if (number := each()) is not None]
            return [self._metrics.Observation(together(found))] if found else []

        self._meter.create_observable_gauge(name, [read], unit, description)


class CurrentSpan:
    """A span that has begun: it is current while a block runs, and ends with it."""

    __slots__ = ("_span", "_telemetry", "_token")

    def __init__(self, telemetry: Telemetry, span: Span) -> None:
        self._telemetry = telemetry
        self._span = span
        self._token: Token[Context] | None = None

    def __enter__(self) -> CurrentSpan:
        telemetry = self._telemetry
        context = telemetry.trace_api.set_span_in_context(self._span)
        self._token = telemetry.context_api.attach(context)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            # Its kind and no more: the text of an error may hold what was said.
            self.fail(type(error).__qualname__)
        assert self._token is not None  # noqa: S101 - it was entered
        self._telemetry.context_api.detach(self._token)
        self._span.end()

    def tell(self, name: str, value: str | int) -> None:
        """Add an attribute that was not known at the beginning."""
        self._span.set_attribute(name, value)

    def fail(self, kind: str) -> None:
        """Tell what kind of error has come of it."""
        self._span.set_attribute("error.type", kind)
        self._span.set_status(self._telemetry.trace_api.StatusCode.ERROR)


# Both are asked for with every request, and differ by names that are all ours.


@cache
def _operation(operation: str, dialect: str) -> Attributes:
    return {"rpc.system": "a2a", "rpc.method": operation, "a2a.dialect": dialect}


@cache
def _outcome(operation: str, dialect: str, outcome: str) -> Attributes:
    return {**_operation(operation, dialect), "a2a.outcome": outcome}
