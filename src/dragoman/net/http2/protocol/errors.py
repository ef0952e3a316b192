"""What can go wrong with HTTP/2, by the codes that the peer is told (RFC 9113, 7).

Http2Error                 the peer broke the rules
ConnectionFailedError  in a way that ends the connection
StreamFailedError      in a way that ends one stream
"""

from __future__ import annotations

from enum import IntEnum

__all__ = ("ConnectionFailedError", "ErrorCode", "Http2Error", "StreamFailedError")


class ErrorCode(IntEnum):
    """Why a stream or a connection ends."""

    NO_ERROR = 0x0
    PROTOCOL_ERROR = 0x1
    INTERNAL_ERROR = 0x2
    FLOW_CONTROL_ERROR = 0x3
    SETTINGS_TIMEOUT = 0x4
    STREAM_CLOSED = 0x5
    FRAME_SIZE_ERROR = 0x6
    REFUSED_STREAM = 0x7
    CANCEL = 0x8
    COMPRESSION_ERROR = 0x9
    CONNECT_ERROR = 0xA
    ENHANCE_YOUR_CALM = 0xB
    INADEQUATE_SECURITY = 0xC
    HTTP_1_1_REQUIRED = 0xD


class Http2Error(Exception):
    """The peer broke a rule; ``code`` says of which kind."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        """Name the rule in words that may be told to the peer."""
        super().__init__(reason)
        self.code = code
        self.reason = reason


class ConnectionFailedError(Http2Error):
    """Nothing more can be understood on this connection."""


class StreamFailedError(Http2Error):
    """One stream cannot go on; the others can."""

    def __init__(self, stream: int, code: ErrorCode, reason: str) -> None:
        """Say which stream it is."""
        super().__init__(code, reason)
        self.stream = stream
