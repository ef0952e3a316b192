"""The GrpcDialect port: one wire form of A2A in protobuf messages.

Whoever serves or calls moves bytes: gRPC's own library is not needed to read or write them.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from dragoman.dialects.base import Dialect
from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.errors import A2AError

__all__ = ("EVENT_ID", "STATUS_DETAILS", "GrpcDialect", "GrpcStatus", "can_serve", "is_installed")

STATUS_DETAILS: Final = "grpc-status-details-bin"
"""The trailer that holds the details of an error (reference section 5)."""

EVENT_ID: Final = "last-event-id"
"""The cursor of a request, and the number of a stream's first frame; each later one is one more.
gRPC's frames have none of their own."""


def can_serve() -> bool:
    """Tell whether the package is there that messages need, without the cost of importing it."""
    return _is_there("google.protobuf")


def is_installed() -> bool:
    """Tell whether the packages are there that calls need, without the cost of importing them."""
    return can_serve() and _is_there("grpc")


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


class GrpcStatus(NamedTuple):
    """How an rpc fails.

    Attributes:
        code: the number of the status, such as 5 for NOT_FOUND.
        details: the text beside it.
        trailer: what STATUS_DETAILS holds, a google.rpc.Status.
    """

    code: int
    details: str
    trailer: bytes


class GrpcDialect(Dialect, Protocol):
    """A wire form that travels over gRPC.

    What the Dialect port calls params, result and frame is here a serialized message. Bytes that
    are no such message raise ``InvalidRequestError``, where JSON has ``JSONParseError``.
    """

    @property
    def service(self) -> str:
        """Return the full name of the service; a method's path is ``/<service>/<rpc>``."""
        ...

    def variant(self, origin: str) -> GrpcDialect:
        """Return the variant of this name, in which a task was begun; itself if it has none.

        A peer that does not show its habits in a request is answered in those it began the task
        with.
        """
        ...

    @property
    def rpcs(self) -> Mapping[str, Operation]:
        """Return the operations by name of their rpc, other names of the same rpc included."""
        ...

    def rpc(self, operation: Operation) -> str:
        """Return the name to call an operation by."""
        ...

    def encode_status(self, problem: A2AError) -> GrpcStatus:
        """Write an error."""
        ...

    def decode_status(self, code: int, details: str, trailer: bytes | None) -> A2AError:
        """Read an error; whatever the trailer is, an error comes of it."""
        ...
