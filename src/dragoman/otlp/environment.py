"""What OpenTelemetry's variables in the environment say, and what an address must look like. Pure.

The variables are read as its specification has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from dragoman.errors import UsageError

__all__ = ("Collector", "collector_of", "headers_of", "ratio_of", "resource_of")

_PATH: Final = "/v1/traces"
_EXAMPLE: Final = "give one such as http://collector:4318"

_HEADERS: Final = "OTEL_EXPORTER_OTLP_HEADERS"
_RATIO: Final = "OTEL_TRACES_SAMPLER_ARG"
_RESOURCE: Final = "OTEL_RESOURCE_ATTRIBUTES"
_SERVICE: Final = "OTEL_SERVICE_NAME"


class Collector(Struct, frozen=True):
    """Where spans are sent.

    Attributes:
        port: None for the usual one.
    """

    is_secure: bool
    host: str
    port: int | None
    path: str

    def __str__(self) -> str:
        """Return its address, for people to read."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'https' if self.is_secure else 'http'}://{host}{port}"


def collector_of(url: str) -> Collector:
    """Read the address of a collector; ``/v1/traces`` is added unless it is there.

    Raises UsageError if it is none.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
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
    return Collector(parts.scheme == "https", parts.hostname, port, path)


def headers_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that requests are to have; raises UsageError if there is no reading them.

    The values are not repeated in errors, for they are credentials.
    """
    found = _pairs(environ, _HEADERS)
    for name, value in found.items():
        if not name.isascii() or not all(char.isalnum() or char in "-_." for char in name):
            raise UsageError(f"{_HEADERS}: {name!r} is no name of a header")
        if not value.isascii() or not value.isprintable():
            raise UsageError(f"{_HEADERS}: {name} has a value that no header can have")
    return found


def ratio_of(environ: Mapping[str, str]) -> float:
    """Return which part of the traces that begin here is kept; raises UsageError for no number."""
    text = environ.get(_RATIO, "").strip()
    try:
        ratio = float(text) if text else 1.0
    except ValueError:
        ratio = -1.0
    if not 0.0 <= ratio <= 1.0:
        raise UsageError(f"{_RATIO} must be a number from 0 to 1, not {text!r}")
    return ratio


def resource_of(environ: Mapping[str, str], service_name: str) -> dict[str, str]:
    """Return what the environment says of this process, and what its service is called.

    Args:
        service_name: for when the environment does not tell.
    """
    found = {"service.name": service_name} | _pairs(environ, _RESOURCE)
    if name := environ.get(_SERVICE, "").strip():
        found["service.name"] = name
    return found


def _pairs(environ: Mapping[str, str], variable: str) -> dict[str, str]:
    """Read ``a=1,b=2``; both sides may be encoded as in URLs."""
    found: dict[str, str] = {}
    for pair in environ.get(variable, "").split(","):
        if not pair.strip():
            continue
        name, sign, value = pair.partition("=")
        name = unquote(name.strip())
        if not sign or not name:
            raise UsageError(f"{variable} must be a list such as name=value,other=value")
        found[name] = unquote(value.strip())
    return found
