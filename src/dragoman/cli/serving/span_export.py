"""OpenTelemetry's SDK, set up to send spans to a collector.

Spans wait in the SDK's queue for its thread, which sends them in batches as OTLP over HTTP in
protobuf. The SDK logs every failed attempt and waits up to 30 seconds when it is shut down. Here, a
log line tells when sending begins to fail and one when it works again, and the shutdown is bounded.

It needs the extra ``telemetry``.
"""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Sequence
from threading import Lock, Thread, get_ident
from typing import Final
from urllib.parse import urlsplit

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import (
    SERVICE_INSTANCE_ID,
    SERVICE_NAME,
    OTELResourceDetector,
    Resource,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ParentBasedTraceIdRatio

from dragoman.clock import SystemClock

__all__ = ("ReportingExporter", "SpanExport", "UnseededIds")

_logger = logging.getLogger(__name__)

_QUEUE_SIZE: Final = 8192
"""Spans that can wait: some seconds of a busy server, a few megabytes."""

_DELAY_MILLIS: Final = 1000
"""How long spans wait for others to go along."""

_CREDENTIAL_PROVIDERS: Final = (
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER",
    "OTEL_PYTHON_EXPORTER_OTLP_HTTP_TRACES_CREDENTIAL_PROVIDER",
)
"""With one of these the exporter makes the session itself."""


class SpanExport:
    """A tracer provider and the thread that sends its spans.

    Everything else is up to the SDK's variables in the environment. Raises ValueError or
    RuntimeError for those that it refuses.

    Args:
        endpoint: where spans are posted to, with the path.
        service_name: who makes the spans, unless the environment says it.
        ratio: which part of the traces that begin here is kept; None to leave it to the SDK.

    Attributes:
        provider: for ``trace.set_tracer_provider``.
    """

    def __init__(self, endpoint: str, service_name: str, *, ratio: float | None = None) -> None:
        own = {SERVICE_NAME: service_name, SERVICE_INSTANCE_ID: SystemClock().new_id()}
        # Here the environment counts for more than what is given; for the SDK it is the other way.
        resource = Resource.create(own).merge(OTELResourceDetector().detect())
        has_session = any(os.environ.get(name) for name in _CREDENTIAL_PROVIDERS)
        exporter = OTLPSpanExporter(endpoint, session=None if has_session else _session())
        parts = urlsplit(endpoint)
        self._exporter = ReportingExporter(exporter, f"{parts.scheme}://{parts.netloc}")
        processor = BatchSpanProcessor(
            self._exporter,
            # None: as the environment says.
            max_queue_size=None if "OTEL_BSP_MAX_QUEUE_SIZE" in os.environ else _QUEUE_SIZE,
            schedule_delay_millis=None
            if "OTEL_BSP_SCHEDULE_DELAY" in os.environ
            else _DELAY_MILLIS,
        )
        self.provider: Final = TracerProvider(
            None if ratio is None else ParentBasedTraceIdRatio(ratio),
            resource,
            # At exit the SDK would wait for longer than we want to.
            shutdown_on_exit=False,
            id_generator=UnseededIds(),
        )
        self.provider.add_span_processor(processor)

    def shutdown(self, seconds: float) -> None:
        """Send what waits, for no longer than this, and stop; what is left by then is lost.

        A collector that is failing now is not waited for.
        """
        self._exporter.stop_retrying()
        stopping = Thread(target=self.provider.shutdown, name="dragoman-otlp-stop", daemon=True)
        stopping.start()
        stopping.join(seconds)
        self._exporter.report_end(is_complete=not stopping.is_alive())


class ReportingExporter(SpanExporter):
    """Has spans sent by another exporter, and logs what becomes of that in as few lines as can be.

    Args:
        name: of the collector, for the log.

    Attributes:
        lost: how many spans were given up.
    """

    def __init__(self, exporter: OTLPSpanExporter, name: str) -> None:
        self.lost: int = 0
        self._exporter = exporter
        self._name = name
        self._is_failing = self._is_stopping = self._is_closed = False
        self._closing = Lock()
        self._thread = 0
        self._log = logging.getLogger(type(exporter).__module__)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans, as often as the exporter thinks right."""
        if self._is_closed:
            self.lost += len(spans)
            return SpanExportResult.FAILURE
        self._thread = get_ident()
        self._log.addFilter(self._take_record)
        try:
            result = self._exporter.export(spans)
        finally:
            self._log.removeFilter(self._take_record)
        if result is not SpanExportResult.SUCCESS:
            self.lost += len(spans)
        elif self._is_failing:
            self._is_failing = False
            _logger.warning("%s takes spans again; %d were lost", self._name, self.lost)
        return result

    def stop_retrying(self) -> None:
        """Give up at the next failure, and at once after one."""
        self._is_stopping = True
        if self._is_failing:
            self.shutdown()

    def shutdown(self) -> None:
        """End a wait for the next attempt, and send nothing more."""
        with self._closing:
            is_first, self._is_closed = not self._is_closed, True
        if is_first:
            self._exporter.shutdown()

    def report_end(self, *, is_complete: bool) -> None:
        """Log what was lost, for nothing more is sent now.

        Args:
            is_complete: whether nothing waits any more.
        """
        if not is_complete:
            _logger.warning("the last spans were not sent to %s: it is too slow", self._name)
        elif self.lost:
            _logger.warning("%d spans were not sent to %s", self.lost, self._name)

    def _take_record(self, record: logging.LogRecord) -> bool:
        """Keep a record of the exporter out of the log, unless it is another's; log the first."""
        if record.thread != self._thread:
            return True
        if not self._is_failing:
            self._is_failing = True
            _logger.warning("%s does not take spans: %s", self._name, record.getMessage())
        if self._is_stopping:
            self.shutdown()
        return False


class UnseededIds(IdGenerator):
    """Random ids, also in a process whose code calls ``random.seed``: the SDK's repeat then."""

    def __init__(self) -> None:
        self._bits = random.SystemRandom().getrandbits

    def generate_span_id(self) -> int:
        """Return 64 bits, not all of which are 0."""
        return self._bits(64) or 1

    def generate_trace_id(self) -> int:
        """Return 128 bits, not all of which are 0."""
        return self._bits(128) or 1

    def is_trace_id_random(self) -> bool:
        """Return True, which is told to those we call."""
        return True


def _session() -> requests.Session:
    """Return a session to which a redirect is a failure; the exporter takes it for a success."""
    session = requests.Session()
    session.hooks["response"] = [_refuse_redirect]
    return session


def _refuse_redirect(response: requests.Response, *_: object, **__: object) -> None:
    if 300 <= response.status_code < 400:
        response.close()
        raise requests.RequestException(
            f"status {response.status_code}, and no redirect is followed"
        )
