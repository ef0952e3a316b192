"""The Dialect port: what one wire form of A2A calls things, reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from dragoman.model.cards import AgentCard
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.messages import Message
from dragoman.model.operations import Empty, ListTaskPushNotificationConfigsResponse
from dragoman.model.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.model.documents import EventDocument
    from dragoman.model.operations import Operation, Request

__all__ = ("Dialect", "Result")

Result: TypeAlias = (
    TaskDocument
    | Message
    | TaskPage
    | TaskPushNotificationConfig
    | ListTaskPushNotificationConfigsResponse
    | Empty
    | AgentCard
)
"""What a unary operation answers."""


class Dialect(Protocol):
    """One wire form. Pure: the same input gives the same output, and nothing is kept.

    Decoders raise ``JSONParseError`` or ``InvalidParamsError`` for whatever a peer may send, and
    nothing else. What they accept has been checked against the model. They do not look up tasks,
    know the caller or check capabilities. Encoders take what the model allows and do not fail.
    """

    @property
    def name(self) -> str:
        """Return the version, such as ``1.0``; it is stored as a task's origin dialect."""
        ...

    def operation(self, method: str) -> Operation | None:
        """Return the operation of a JSON-RPC method name, None if this version has none such."""
        ...

    def decode_request(self, operation: Operation, params: bytes) -> Request:
        """Read a request from a JSON object."""
        ...

    def decode_query(self, operation: Operation, fields: Mapping[str, str]) -> Request:
        """Read a request from texts by JSON name (query and path); unknown names are ignored."""
        ...

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        ...

    def encode_event(self, event: EventDocument) -> bytes:
        """Write one frame of a stream, on one line."""
        ...

    def encode_card(self, card: AgentCard) -> bytes:
        """Write an agent card."""
        ...
