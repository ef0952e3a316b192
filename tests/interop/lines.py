"""The servers that our client is shown with: whose, in which version, over which binding."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from dragoman import RemoteAgent, connect
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.retry import RetryPolicy
from dragoman.model.cards import AgentInterface

__all__ = ("IMPLEMENTATIONS", "LINES", "Line", "moved")

_QUICK: Final = RetryPolicy(attempts=20, first_seconds=0.01, most_seconds=0.1)
"""Patient, but not slow."""


IMPLEMENTATIONS: Final = {
    "py_1_3": "a2a-sdk 1.3",
    "js_1_3": "@a2a-js/sdk 1.3",
    "fasta2a": "fasta2a 2.1",
    "py_0_3": "a2a-sdk 0.3",
    "js_0_3": "@a2a-js/sdk 0.3",
    "py_0_2": "a2a-sdk 0.2",
}
"""What a server is made with; the pins beside it say exactly which."""


class Line(NamedTuple):
    """A peer, and one way to talk to it."""

    peer: str
    version: str
    binding: str

    def __str__(self) -> str:
        return f"{self.peer} {self.binding}"

    @property
    def is_new(self) -> bool:
        return self.version == "1.0"

    def connect(
        self, address: str | AgentInterface, **options: Any
    ) -> AbstractAsyncContextManager[RemoteAgent]:
        """Connect over this binding; the version is for the client to find out."""
        options = {"retry": _QUICK, "cards": CardCache(), **options}
        return connect(address, binding=self.binding, **options)


def moved(interface: AgentInterface, origin: str) -> AgentInterface:
    """Return the same interface at another origin; gRPC has addresses without a scheme."""
    place = urlsplit(interface.url)
    near = urlsplit(origin)
    url = place._replace(netloc=near.netloc).geturl() if place.netloc else near.netloc
    return AgentInterface(
        url=url,
        protocol_binding=interface.protocol_binding,
        protocol_version=interface.protocol_version,
    )


def _lines(peer: str, version: str, *bindings: str) -> tuple[Line, ...]:
    return tuple(Line(peer, version, binding) for binding in bindings)


_ALL: Final = ("JSONRPC", "HTTP+JSON", "GRPC")

LINES: Final = (
    *_lines("py_1_3", "1.0", *_ALL),
    *_lines("js_1_3", "1.0", *_ALL),
    *_lines("fasta2a", "1.0", "JSONRPC"),
    *_lines("py_0_3", "0.3", *_ALL),
    *_lines("js_0_3", "0.3", *_ALL),
    *_lines("py_0_2", "0.2", "JSONRPC"),
)
