"""ASGI: its types, and the extensions that our own server offers to applications."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

__all__ = ("ABORT", "REPLY", "TLS", "ASGIApp", "Header", "Receive", "Scope", "Send")

# ASGI's messages are dictionaries of anything, by its specification.
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[Scope, Receive, Send], Awaitable[None]]

Header = tuple[bytes, bytes]

ABORT: Final = "dragoman.abort"
"""The extension by which our own server lets an application cut a connection."""

REPLY: Final = "dragoman.reply"
"""The extension by which our own server takes an answer as a whole.

The message of this type stands for both of ASGI's. It has ``status``, ``headers`` (a tuple, without
those that frame the body) and ``body``, which the server leaves out where HTTP wants that.
"""

TLS: Final = "tls"
"""ASGI's own extension by which a server tells about the certificates of a connection."""
