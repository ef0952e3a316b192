"""Spans of a server, sent to the collector that ``--otlp`` names.

OpenTelemetry's SDK does the work, set up in ``span_export``, which is imported only when spans are
to be sent. The SDK ignores settings that it cannot read, or logs them with the credentials in them:
here they are checked first. The provider is one for the process, which is why this is no setting of
an agent's app.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from dragoman import telemetry
from dragoman.errors import UsageError

if TYPE_CHECKING:
    from dragoman.cli.serving.span_export import SpanExport

__all__ = ("check_environment", "check_tracing", "endpoint_of", "ratio_of", "tracing")

_STOP_SECONDS: Final = 5.0
"""How long a server that stops waits for its last spans to be taken."""

_PATH: Final = "/v1/traces"
_EXAMPLE: Final = "give one such as http://collector:4318"

_HEADERS: Final = "OTEL_EXPORTER_OTLP_HEADERS"
_HEADERS_OF_TRACES: Final = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
_RATIO: Final = "OTEL_TRACES_SAMPLER_ARG"
_RESOURCE: Final = "OTEL_RESOURCE_ATTRIBUTES"
_SAMPLER: Final = "OTEL_TRACES_SAMPLER"

_NOT_IN_A_VALUE: Final = frozenset('";\\')
"""What the SDK takes in no header unless it is encoded as in URLs."""


def check_tracing(url: str) -> None:
    """Raise UsageError if spans could not be sent there; an address of "" is for nowhere."""
    if url:
        _export_to(url, "").shutdown(_STOP_SECONDS)


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
    export = _export_to(url, service_name)
    from opentelemetry import trace  # noqa: PLC0415 - only where it is there

    trace.set_tracer_provider(export.provider)
    try:
        yield
    finally:
        export.shutdown(_STOP_SECONDS)


def _export_to(url: str, service_name: str) -> SpanExport:
    try:
        from dragoman.cli.serving.span_export import SpanExport  # noqa: PLC0415 - only when asked
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("opentelemetry", "requests"):
            raise
        raise UsageError(
            "otlp: opentelemetry-sdk and its OTLP exporter are not installed: "
            "pip install 'dragoman[telemetry]'"
        ) from error
    if telemetry.is_set_up():
        # By opentelemetry-instrument, or by the agent's own file.
        raise UsageError(
            "otlp: OpenTelemetry has a tracer provider already, which sends spans its own way: "
            "leave out --otlp, or what sets up the other"
        )
    endpoint = endpoint_of(url)
    check_environment(os.environ)
    try:
        return SpanExport(endpoint, service_name, ratio=ratio_of(os.environ))
    except (ValueError, RuntimeError) as error:
        # A variable that the SDK refuses, such as a queue of -1 spans.
        raise UsageError(f"otlp: {error}") from error


def endpoint_of(url: str) -> str:
    """Return the address that spans are posted to; ``/v1/traces`` is added unless it is there.

    Raises UsageError if it is no address of a collector.
    """
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise UsageError(f"otlp: this is no address ({error}): {_EXAMPLE}") from None
    if parts.username is not None or parts.password is not None:
        # The address is not repeated: there is a password in it.
        raise UsageError(f"otlp: credentials belong into {_HEADERS}, not into the address")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"otlp: {url!r} is no address of a collector: {_EXAMPLE}")
    if parts.query or parts.fragment:
        raise UsageError(f"otlp: {url!r} must end with its path: {_EXAMPLE}")
    path = parts.path.rstrip("/")
    if any(not "!" <= char <= "~" for char in parts.hostname + path):
        raise UsageError(f"otlp: {url!r} has characters that an address cannot have: {_EXAMPLE}")
    path = path if path.endswith(_PATH) else path + _PATH
    return f"{parts.scheme}://{parts.netloc}{path}"


def check_environment(environ: Mapping[str, str]) -> None:
    """Raise UsageError if a list in OpenTelemetry's variables cannot be read.

    The values of headers are not repeated in errors, for they are credentials.
    """
    _pairs(environ, _RESOURCE)
    for variable in (_HEADERS, _HEADERS_OF_TRACES):
        for name, value in _pairs(environ, variable).items():
            _check_header(variable, name, value)


def _check_header(variable: str, name: str, encoded: str) -> None:
    if not name.isascii() or not all(char.isalnum() or char in "-_." for char in name):
        raise UsageError(f"{variable}: {name!r} is no name of a header")
    value = unquote(encoded)
    if not value.isascii() or not value.isprintable():
        raise UsageError(f"{variable}: {name} has a value that no header can have")
    if not _NOT_IN_A_VALUE.isdisjoint(encoded):
        raise UsageError(f"{variable}: {name} has a value that must be encoded as in URLs")


def ratio_of(environ: Mapping[str, str]) -> float | None:
    """Return which part of the traces that begin here is kept; None to leave it to the SDK.

    ``OTEL_TRACES_SAMPLER_ARG`` counts without ``OTEL_TRACES_SAMPLER``, too. Raises UsageError if it
    is no number then.
    """
    text = environ.get(_RATIO, "").strip()
    if not text or environ.get(_SAMPLER):
        return None
    try:
        ratio = float(text)
    except ValueError:
        ratio = -1.0
    if not 0.0 <= ratio <= 1.0:
        raise UsageError(f"{_RATIO} must be a number from 0 to 1, not {text!r}")
    return ratio


def _pairs(environ: Mapping[str, str], variable: str) -> dict[str, str]:
    """Read ``a=1,b=2``; values are left encoded."""
    found: dict[str, str] = {}
    for pair in environ.get(variable, "").split(","):
        if not pair.strip():
            continue
        name, sign, value = pair.partition("=")
        name = unquote(name.strip())
        if not sign or not name:
            raise UsageError(f"{variable} must be a list such as name=value,other=value")
        found[name] = value.strip()
    return found
