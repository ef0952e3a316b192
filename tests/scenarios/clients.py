"""Our own client for the scenarios: each version over each binding that has it."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Any, Final, NamedTuple

from dragoman import connect
from dragoman.client.agent import RemoteAgent
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.retry import RetryPolicy

__all__ = ("QUICK", "WAYS", "Way")

QUICK: Final = RetryPolicy(attempts=20, first_seconds=0.005, most_seconds=0.05)
"""Patient, but not slow."""


class Way(NamedTuple):
    """A version and a binding."""

    version: str
    binding: str

    def __str__(self) -> str:
        return f"{self.version} over {self.binding}"

    @property
    def is_new(self) -> bool:
        return self.version == "1.0"

    def connect(self, address: str, **options: Any) -> AbstractAsyncContextManager[RemoteAgent]:
        """Connect this way; nothing is remembered of other tests' servers."""
        options = {"retry": QUICK, "cards": CardCache(), **options}
        return connect(address, version=self.version, binding=self.binding, **options)


WAYS: Final = (
    Way("1.0", "JSONRPC"),
    Way("1.0", "HTTP+JSON"),
    Way("1.0", "GRPC"),
    Way("0.3", "JSONRPC"),
    Way("0.3", "HTTP+JSON"),
    Way("0.3", "GRPC"),
    Way("0.2", "JSONRPC"),
    Way("0.1", "JSONRPC"),
)
