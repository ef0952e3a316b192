"""Writes every span to a file, for whoever looks at what three agents have done together."""

import json
import os
from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

__all__ = ("collect",)


class ToFile(SpanExporter):
    """A collector that is a file with a line for each span."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write."""
        with open(os.environ["SPANS"], "a") as file:
            for span in spans:
                assert span.context is not None
                parent = span.parent.span_id if span.parent is not None else 0
                ids = {"id": span.context.span_id, "trace": span.context.trace_id}
                print(json.dumps({"name": span.name, "parent": parent, **ids}), file=file)
        return SpanExportResult.SUCCESS


def collect() -> None:
    """Send the spans of this process there."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(ToFile()))
    trace.set_tracer_provider(provider)
