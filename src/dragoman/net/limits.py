"""What a peer may do on a connection; of the settings of a server, those that are about sockets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, TypeAlias

from msgspec import Meta

__all__ = ("ConnectionLimits",)

_Positive: TypeAlias = Annotated[int, Meta(ge=1)]
_Seconds: TypeAlias = Annotated[float, Meta(gt=0)]


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """Connections.

    Attributes:
        max_body_bytes: larger bodies are refused with 413; 16 MiB holds a 12 MiB file in base64.
        max_headers: headers of one request; as in Apache.
        max_header_bytes: bytes in all of them and in the URL; tokens and cookies rarely have 8 KiB.
        head_seconds: how long the head of a request may take to arrive.
        body_seconds: how long the body may take; 16 MiB in 5 minutes is half a megabit a second.
        keep_alive_seconds: how long a connection may idle between two requests.
        http2_idle_seconds: how long a connection of HTTP/2 may be without calls; clients of gRPC
            keep theirs for the next call, which is answered sooner for it.
        heartbeat_seconds: pause between comments on an idle stream; proxies cut at 30 to 60.
        stall_seconds: a stream whose reader takes no byte for this long is closed.
    """

    max_body_bytes: _Positive = 16 * 1024 * 1024
    max_headers: _Positive = 100
    max_header_bytes: _Positive = 32 * 1024
    head_seconds: _Seconds = 30.0
    body_seconds: _Seconds = 300.0
    keep_alive_seconds: _Seconds = 5.0
    http2_idle_seconds: _Seconds = 300.0
    heartbeat_seconds: _Seconds = 15.0
    stall_seconds: _Seconds = 300.0
