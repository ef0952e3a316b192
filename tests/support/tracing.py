"""Telemetry as tests see it: all spans and measurements, without a provider for the process."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    DataPointT,
    InMemoryMetricReader,
    NumberDataPoint,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from dragoman.telemetry import Telemetry

__all__ = ("Traced",)


class Traced:
    """What was traced.

    Attributes:
        meters: what measures.
        telemetry: to be made active.
    """

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        tracers = TracerProvider()
        tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider(metric_readers=[self._reader])
        self.telemetry = Telemetry(tracers, self.meters)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The spans that have ended."""
        return self._exporter.get_finished_spans()

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans of a name."""
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """Return the only span of a name."""
        (span,) = self.named(name)
        return span

    def parent_of(self, span: ReadableSpan) -> str:
        """Return the name of the parent of a span; "" if it has none here."""
        if span.parent is None:
            return ""
        ids = {_id_of(one): one.name for one in self.spans}
        return ids.get(span.parent.span_id, "")

    def measured(self) -> dict[str, list[Mapping[str, object]]]:
        """Return the attributes of all that was measured, by the name of the measurement."""
        return {
            name: [dict(point.attributes or {}) for point in points]
            for name, points in self._collected().items()
        }

    def gauges(self) -> dict[str, float]:
        """Return the numbers that are read when measurements are collected."""
        return {
            name: point.value
            for name, points in self._collected().items()
            for point in points
            if isinstance(point, NumberDataPoint) and not point.attributes
        }

    def example_traces(self, name: str) -> set[str]:
        """Return the ids of the traces that are examples of a measurement."""
        return {
            f"{example.trace_id or 0:032x}"
            for point in self._collected()[name]
            for example in point.exemplars
        }

    def _collected(self) -> dict[str, list[DataPointT]]:
        data = self._reader.get_metrics_data()
        found: dict[str, list[DataPointT]] = {}
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found.setdefault(metric.name, []).extend(metric.data.data_points)
        return found


def _id_of(span: ReadableSpan) -> int:
    context = span.get_span_context()
    return 0 if context is None else context.span_id
