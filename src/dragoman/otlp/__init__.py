"""Spans of OpenTelemetry, recorded and sent to a collector without the SDK.

It takes the place of the SDK's tracer provider and of its exporter for OTLP over HTTP; what they
can do besides, such as processors, samplers of one's own and measurements, it cannot. It needs
``opentelemetry-api`` (``pip install 'dragoman[telemetry]'``).
"""

from dragoman.otlp.provider import OtlpProvider

__all__ = ("OtlpProvider",)
