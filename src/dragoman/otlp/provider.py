"""A tracer provider whose spans are sent to a collector, and its tracers."""

from __future__ import annotations

import atexit
import os
import random
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

from opentelemetry.trace import (
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    TraceFlags,
    Tracer,
    TracerProvider,
    get_current_span,
    use_span,
)

# Private, but the decorator that Tracer declares for the method: coroutines are decorated by it.
from opentelemetry.util._decorator import _agnosticcontextmanager  # pyright: ignore[reportPrivateUsage] - see above

from dragoman.clock import SystemClock
from dragoman.otlp.encoding import encode_spans
from dragoman.otlp.environment import collector_of, headers_of, ratio_of, resource_of
from dragoman.otlp.posting import Post
from dragoman.otlp.sending import SpanSender
from dragoman.otlp.span import RecordedSpan, Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span
    from opentelemetry.util import types

__all__ = ("OtlpProvider", "OtlpTracer")

_SHUTDOWN_SECONDS: Final = 5.0

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_NOT_SAMPLED: Final = TraceFlags(TraceFlags.DEFAULT)
_LOW_BITS: Final = 2**64 - 1
"""The part of a trace's id that decides; as with the SDK, so that both keep the same traces."""


class OtlpProvider(TracerProvider):
    """Sends spans as OTLP over HTTP in JSON; ``trace.set_tracer_provider(OtlpProvider(url))``.

    Traces that others have begun are kept if they keep them. The environment tells more:
    ``OTEL_EXPORTER_OTLP_HEADERS``, ``OTEL_SERVICE_NAME``, ``OTEL_RESOURCE_ATTRIBUTES``, and
    ``OTEL_TRACES_SAMPLER_ARG``, the part that is kept of the traces that begin here.

    Raises UsageError if the address or a variable is wrong.

    Args:
        url: of the collector, such as ``http://collector:4318``.
        service_name: who makes the spans, unless the environment says it.
        environ: instead of the environment.
        now_ns: tells the time, in nanoseconds since the Unix epoch.
    """

    def __init__(
        self,
        url: str,
        *,
        service_name: str = "dragoman",
        environ: Mapping[str, str] | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        variables = os.environ if environ is None else environ
        collector = collector_of(url)
        post = Post(collector, headers_of(variables))
        resource: dict[str, object] = {
            "service.instance.id": SystemClock().new_id(),
            **resource_of(variables, service_name),
            "telemetry.sdk.name": "dragoman",
            "telemetry.sdk.language": "python",
            "telemetry.sdk.version": version("dragoman"),
        }
        self._ratio = ratio_of(variables)
        self._now_ns = now_ns
        self._sender = SpanSender(
            lambda spans: encode_spans(resource, spans),
            lambda body: post.send(body, now_ns=now_ns()),
            str(collector),
            hang_up=post.close,
        )
        atexit.register(self.shutdown)

    @property
    def lost(self) -> int:
        """How many spans did not reach the collector."""
        return self._sender.lost

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: types.Attributes = None,
    ) -> OtlpTracer:
        """Return a tracer for a library."""
        scope = Scope(
            instrumenting_module_name,
            instrumenting_library_version or "",
            schema_url or "",
            dict(attributes or {}),
        )
        return OtlpTracer(scope, self._sender.put, ratio=self._ratio, now_ns=self._now_ns)

    def shutdown(self, seconds: float = _SHUTDOWN_SECONDS) -> None:
        """Send what waits, for no longer than this; spans that end afterwards are dropped."""
        atexit.unregister(self.shutdown)
        self._sender.shutdown(seconds)


class OtlpTracer(Tracer):
    """Makes spans.

    Args:
        take: gets every span that is kept when it has ended.
        ratio: which part of the traces that begin here is kept.
    """

    def __init__(
        self,
        scope: Scope,
        take: Callable[[RecordedSpan], None],
        *,
        ratio: float = 1.0,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._scope = scope
        self._take = take
        self._bound = round(ratio * (_LOW_BITS + 1))
        self._now_ns = now_ns

    def start_span(
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: types.Attributes = None,
        links: Sequence[Link] | None = None,
        start_time: int | None = None,
        record_exception: bool = True,  # noqa: FBT001, FBT002 - as the API has it
        set_status_on_exception: bool = True,  # noqa: FBT001, FBT002 - the same
    ) -> Span:
        """Begin a span, within the one that is current in the context or at the root of a trace.

        Args:
            start_time: in nanoseconds, if it began before.
            record_exception, set_status_on_exception: what becomes of an error that leaves a
                ``with`` of the span.
        """
        parent: SpanContext | None = get_current_span(context).get_span_context()
        # It is a tuple, and read as one: its properties are functions.
        trace_id, _, _, flags, state, is_valid = parent
        if not is_valid:
            parent, state = None, None
            trace_id = _new_id(128)
            flags = _SAMPLED if trace_id & _LOW_BITS < self._bound else _NOT_SAMPLED
        own = SpanContext(
            trace_id, _new_id(64), is_remote=False, trace_flags=flags, trace_state=state
        )
        if not flags & TraceFlags.SAMPLED:
            # It is not kept, but those it calls have to know that, and whose trace they are in.
            return NonRecordingSpan(own)
        span = RecordedSpan(
            self._scope,
            name,
            own,
            parent,
            kind,
            self._now_ns() if start_time is None else start_time,
            attributes,
            take=self._take,
            now_ns=self._now_ns,
            records_errors=record_exception,
            has_status_of_errors=set_status_on_exception,
        )
        for link in links or ():
            span.add_link(link.context, link.attributes)
        return span

    @_agnosticcontextmanager
    def start_as_current_span(
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: types.Attributes = None,
        links: Sequence[Link] | None = None,
        start_time: int | None = None,
        record_exception: bool = True,  # noqa: FBT001, FBT002 - as the API has it
        set_status_on_exception: bool = True,  # noqa: FBT001, FBT002 - the same
        end_on_exit: bool = True,  # noqa: FBT001, FBT002 - the same
    ) -> Iterator[Span]:
        """Begin a span and have it current while a block or a decorated function runs."""
        span = self.start_span(name, context, kind, attributes, links, start_time)
        with use_span(
            span,
            end_on_exit=end_on_exit,
            record_exception=record_exception,
            set_status_on_exception=set_status_on_exception,
        ):
            yield span


# Not the one of the module, which code of the user's may seed.
_chance: Final = random.Random()  # noqa: S311 - no secret
os.register_at_fork(after_in_child=_chance.seed)


def _new_id(bits: int) -> int:
    """Return a fresh id; 0 would be none."""
    return _chance.getrandbits(bits) or 1
