"""The ports by which a check reaches an agent: bytes out, bytes in, and nothing understood.

Who moves them knows addresses, certificates and credentials; the checks do not.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from dragoman.errors import DragomanError

__all__ = ("GrpcLine", "HttpLine", "HttpReply", "HttpRequest", "NoAnswerError", "RpcStatusError")


class NoAnswerError(DragomanError):
    """The agent could not be asked, or has not answered: the text says what became of it."""


class RpcStatusError(DragomanError):
    """A call of gRPC has ended with a status that is not OK."""

    def __init__(self, code: int, details: str, trailer: bytes | None) -> None:
        """Keep the status, and what ``grpc-status-details-bin`` holds."""
        super().__init__(f"status {code}: {details}")
        self.code = code
        self.details = details
        self.trailer = trailer


class HttpRequest(Struct, frozen=True, kw_only=True):
    """A request of HTTP."""

    verb: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


class HttpReply(Struct, frozen=True):
    """The answer of HTTP: the names of its headers are in lower case, its body is still to come."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]

    @property
    def media_type(self) -> str:
        """Return the Content-Type without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class HttpLine(Protocol):
    """Sends requests of HTTP, one at a time; redirects are not followed."""

    def exchange(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpReply]:
        """Send a request; the body of the reply is read inside.

        Raises:
            NoAnswerError: there is none, or not all of it; also while the body is read.
        """
        ...


class GrpcLine(Protocol):
    """Calls methods of gRPC on one server."""

    def call(self, path: str, message: bytes, metadata: Mapping[str, str]) -> AsyncGenerator[bytes]:
        """Call a method and yield the messages that come, until the server ends the call.

        Raises:
            RpcStatusError: the call has ended with an error.
            NoAnswerError: the server could not be reached, or the connection was lost.
        """
        ...
