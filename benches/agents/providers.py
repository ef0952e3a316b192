"""Providers of OpenTelemetry as a production server has them, except that nothing is sent.

Spans are gathered into batches by a thread of the SDK's, which hands them to an exporter. What an
exporter does with them, and over which network, is no business of the server's.
"""

from collections.abc import Sequence

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Sampler

__all__ = ("meters", "tracers")


class NoSpans(SpanExporter):
    """Takes spans as a collector would, without a network."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Forget them."""
        return SpanExportResult.SUCCESS


class NoMetrics(MetricExporter):
    """Takes measurements as a collector would, without a network."""

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: object
    ) -> MetricExportResult:
        """Forget them."""
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        """Have nothing left."""
        return True

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: object) -> None:
        """Hold nothing."""


def tracers(sampler: Sampler | None = None) -> TracerProvider:
    """Return a provider that keeps every span, unless a sampler says otherwise."""
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(BatchSpanProcessor(NoSpans()))
    return provider


def meters() -> MeterProvider:
    """Return a provider whose measurements are collected every minute, as by default."""
    return MeterProvider(metric_readers=[PeriodicExportingMetricReader(NoMetrics())])
