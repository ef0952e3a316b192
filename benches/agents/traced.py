"""The benchmark contract with everything traced; what is collected goes nowhere.

dragoman serve benches.agents.traced:agent
"""

from collections.abc import Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benches.agents.subject import make_agent


class Nowhere(SpanExporter):
    """Takes spans as a collector would, without a network."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Forget them."""
        return SpanExportResult.SUCCESS


provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(Nowhere()))
trace.set_tracer_provider(provider)

agent = make_agent()
