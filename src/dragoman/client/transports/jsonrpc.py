"""JSON-RPC, the client's side: envelopes around what a dialect writes."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

import msgspec
from msgspec.structs import replace

from dragoman.bindings import jsonrpc
from dragoman.client.errors import ProtocolError
from dragoman.client.transports.base import HttpRequest, error_of_status, reading
from dragoman.dialects.negotiation import Version
from dragoman.errors import A2AError, InvalidAgentResponseError, UnsupportedOperationError
from dragoman.model.operations import Operation, SendMessageRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.bindings.sse import SseEvent
    from dragoman.dialects.base import Received, RpcDialect
    from dragoman.model.base import JsonObject
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Request

__all__ = ("RpcFraming", "with_task_named")

_JSON: Final = "application/json"
_V0_2: Final = Version(0, 2)
_CARD_0_2: Final = "agent/authenticatedExtendedCard"


class RpcFraming:
    """JSON-RPC at one URL, in one dialect.

    Args:
        marks: what the params of each request say beside what the dialect writes, unless that says
            it, too.
    """

    def __init__(
        self, dialect: RpcDialect, url: str, version: Version, marks: JsonObject | None = None
    ) -> None:
        self._dialect = dialect
        self._url = url
        self._version = version
        self._marks = marks or {}
        # 0.x reference, 8.2 A18: some peers take 0 for no id.
        self._ids = count(1)

    @property
    def version(self) -> Version:
        """Return the version that is spoken."""
        return self._version

    def requests(self, operation: Operation, request: Request) -> tuple[HttpRequest, ...]:
        """Write a request; 0.2 has the extended card at a URL of its own (5.1)."""
        if operation is Operation.GET_EXTENDED_AGENT_CARD and self._version == _V0_2:
            # 3.2: beside the URL, which is without its last segment. Some have it below.
            places = (urljoin(self._url, _CARD_0_2), f"{self._url.rstrip('/')}/{_CARD_0_2}")
            return tuple(HttpRequest("GET", url, is_bare=True) for url in dict.fromkeys(places))
        method = self._dialect.method(operation)
        if method is None:
            raise UnsupportedOperationError(f"A2A {self._version} has no {operation.value}")
        if not self._dialect.has_messages:
            request = with_task_named(request)
        params = self._dialect.encode_request(operation, request)
        if self._marks:
            said = msgspec.json.decode(params, type=dict[str, msgspec.Raw])
            params = msgspec.json.encode({**self._marks, **said})
        body = jsonrpc.request(b"%d" % next(self._ids), method, params)
        return (HttpRequest("POST", self._url, _JSON, body),)

    def read_answer(
        self, sent: HttpRequest, operation: Operation, status: int, body: bytes
    ) -> Received:
        """Read the answer of a unary operation."""
        if sent.is_bare and status >= 300:
            raise error_of_status(status, body, self._url)
        result = body if sent.is_bare else self._open(status, body)
        with reading(self._url):
            return self._dialect.decode_result(operation, result)

    def read_event(self, event: SseEvent) -> StreamResponse:
        """Read one event of a stream."""
        result = self._open(200, event.data)
        with reading(self._url):
            return self._dialect.decode_event(result)

    def read_lone_event(self, sent: HttpRequest, status: int, body: bytes) -> StreamResponse:
        """Read what came in place of a stream: an error, or all there is to tell."""
        del sent
        result = self._open(status, body)
        with reading(self._url):
            return self._dialect.decode_event(result)

    def _open(self, status: int, body: bytes) -> bytes:
        """Return the result in a response; an error in it is raised, whatever the status."""
        told: list[A2AError] = []

        def note(error: Mapping[str, object]) -> A2AError:
            told.append(self._dialect.decode_error(error))
            return told[-1]

        try:
            return jsonrpc.read_response(body, note)
        except InvalidAgentResponseError as refused:
            if told:
                raise
            if status >= 300:
                raise error_of_status(status, body, self._url) from None
            raise ProtocolError(self._url, refused.message) from None


def with_task_named(request: Request) -> Request:
    """Return a send in which the client has named the task, as 0.1 wants it (0.x reference, 5.5).

    The id of the message is as good a name as any, and the same when the send is repeated.
    """
    if not isinstance(request, SendMessageRequest) or request.message.task_id:
        return request
    message = request.message
    return replace(request, message=replace(message, task_id=message.message_id))
