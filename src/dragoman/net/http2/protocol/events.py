"""What happens on a connection, as its driver is told."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from dragoman.net.http2.protocol.requests import Head

__all__ = (
    "DataReceived",
    "Drained",
    "Event",
    "LastStreamTold",
    "RequestReceived",
    "StreamEnded",
    "TooManyHeaders",
)


class RequestReceived(Struct, frozen=True, gc=False):
    """A request begins; ``ends`` if it has no body."""

    stream: int
    head: Head
    ends: bool


class TooManyHeaders(Struct, frozen=True, gc=False):
    """A request begins with more headers than are taken. It is to be refused."""

    stream: int


class DataReceived(Struct, frozen=True, gc=False):
    """A piece of a body; ``ends`` if it is the last. The window shrinks until more is granted."""

    stream: int
    data: bytes
    ends: bool


class StreamEnded(Struct, frozen=True, gc=False):
    """A stream is over before its time: given up by the peer, or broken by it."""

    stream: int
    code: int


class Drained(Struct, frozen=True, gc=False):
    """All that was sent on a stream has gone out; more may be sent."""

    stream: int


class LastStreamTold(Struct, frozen=True, gc=False):
    """A connection that drains takes no more streams: the peer knows, and none is on its way."""


Event: TypeAlias = (
    RequestReceived | TooManyHeaders | DataReceived | StreamEnded | Drained | LastStreamTold
)
