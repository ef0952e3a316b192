"""What a peer may do on a connection. The fields are named as the settings of the server are."""

from __future__ import annotations

from msgspec import Struct

__all__ = ("Http1Limits", "Http2Limits")


class Http1Limits(Struct, frozen=True, kw_only=True):
    """What a peer of HTTP/1.1 may take."""

    max_headers: int
    max_header_bytes: int
    head_seconds: float
    body_seconds: float
    keep_alive_seconds: float


class Http2Limits(Struct, frozen=True, kw_only=True):
    """What a peer of HTTP/2 may take."""

    max_body_bytes: int
    max_headers: int
    max_header_bytes: int
    head_seconds: float
    body_seconds: float
    http2_idle_seconds: float
    heartbeat_seconds: float
    stall_seconds: float
