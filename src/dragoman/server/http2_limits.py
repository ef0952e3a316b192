"""What a peer may do on a connection of HTTP/2."""

from __future__ import annotations

from msgspec import Struct

__all__ = ("Http2Limits",)


class Http2Limits(Struct, frozen=True, kw_only=True):
    """The settings of the server that matter here, by their names there."""

    max_body_bytes: int
    max_headers: int
    max_header_bytes: int
    head_seconds: float
    body_seconds: float
    http2_idle_seconds: float
    heartbeat_seconds: float
    stall_seconds: float
