"""Spans of a server, sent to the collector that ``--otlp`` names.

The provider is one for the process, which is why this is no setting of an agent's app.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from dragoman import telemetry
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.otlp import OtlpProvider

__all__ = ("check_tracing", "tracing")

_STOP_SECONDS: Final = 5.0
"""How long a server that stops waits for its last spans to be taken."""


def check_tracing(url: str) -> None:
    """Raise UsageError if spans could not be sent there; an address of "" is for nowhere."""
    if url:
        _provider(url, "").shutdown(0)


@contextmanager
def tracing(url: str, service_name: str) -> Generator[None]:
    """Have everything that runs meanwhile traced, and the last spans sent at the end.

    Raises UsageError if they could not be.

    Args:
        url: of the collector; "" to do nothing.
        service_name: who makes the spans, unless the environment says it.
    """
    if not url:
        yield
        return
    provider = _provider(url, service_name)
    from opentelemetry import trace  # noqa: PLC0415 - only where it is there

    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown(_STOP_SECONDS)


def _provider(url: str, service_name: str) -> OtlpProvider:
    try:
        from dragoman.otlp import OtlpProvider  # noqa: PLC0415 - only when asked for
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "opentelemetry":
            raise
        message = "otlp: opentelemetry-api is not installed: pip install 'dragoman[telemetry]'"
        raise UsageError(message) from error
    if telemetry.is_set_up():
        # By opentelemetry-instrument, or by the agent's own file.
        raise UsageError(
            "otlp: OpenTelemetry has a tracer provider already, which sends spans its own way: "
            "leave out --otlp, or what sets up the other"
        )
    return OtlpProvider(url, service_name=service_name)
