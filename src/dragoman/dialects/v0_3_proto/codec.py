"""The ProtoJSON dialect of 0.3: HTTP+JSON under ``/v1`` as most peers speak it.

The shape of the JSON schema travels on the same routes and is another dialect; ``shape`` tells the
two apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from dragoman.dialects.base import Reading
from dragoman.dialects.legacy_error_readers import read_http_error
from dragoman.dialects.legacy_errors import http_error
from dragoman.dialects.v0_3_proto import wire
from dragoman.dialects.v0_3_proto.answers import read_answer, read_event
from dragoman.dialects.v0_3_proto.card import decode_card, encode_card
from dragoman.dialects.v0_3_proto.decode import Decoder
from dragoman.dialects.v0_3_proto.encode import Encoder, ends_stream
from dragoman.dialects.v0_3_proto.push import write_config
from dragoman.dialects.v0_3_proto.requests import FORMS, read_request, write_request
from dragoman.dialects.violations import refusal_of
from dragoman.model.cards import AgentCard
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.messages import Message
from dragoman.model.operations import Empty, ListTaskPushNotificationConfigsResponse, Operation
from dragoman.model.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import Received, Result
    from dragoman.dialects.file_bytes import FileBytes
    from dragoman.dialects.v0_3_proto.requests import Body
    from dragoman.errors import A2AError
    from dragoman.model.documents import EventDocument
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Request

__all__ = ("V0_3_PROTO_DIALECT", "Frames", "V0_3Proto")

_NAME: Final = "0.3-proto"
_BARE_TASK: Final = frozenset({Operation.GET_TASK, Operation.CANCEL_TASK})

_encode: Final = msgspec.json.Encoder().encode


class V0_3Proto:  # noqa: N801 - the name of the version
    """A2A 0.3 as ProtoJSON."""

    __slots__ = ("_decoder", "_encoder", "name")

    has_final: bool = True
    has_messages: bool = True

    def __init__(self, file_bytes: FileBytes | None = None) -> None:
        """Pin the peer's habit with file content if it is known (0.x reference, 5.7)."""
        self.name: str = _NAME if file_bytes is None else f"{_NAME}+{file_bytes}"
        self._decoder = Decoder(file_bytes)
        self._encoder = Encoder(file_bytes)

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request from a JSON object."""
        return Reading(self._read(operation, FORMS[operation].decode(params)), self)

    def decode_query(self, operation: Operation, fields: Mapping[str, str]) -> Request:
        """Read a request from texts by JSON name or proto name; an empty text is absent."""
        texts = {name: text for name, text in fields.items() if text}
        return self._read(operation, FORMS[operation].convert(texts, is_text=True))

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        match result:
            case TaskDocument():
                task = self._encoder.task(result.task())
                return _encode(task if operation in _BARE_TASK else wire.StreamResponse(task=task))
            case Message():
                return _encode(wire.StreamResponse(message=self._encoder.message(result)))
            case TaskPage():
                return _encode(self._page(result))
            case TaskPushNotificationConfig():
                return _encode(write_config(result))
            case ListTaskPushNotificationConfigsResponse():
                return _encode(_configs(result))
            case Empty():
                return b"{}"
            case AgentCard():
                return encode_card(result)
            case _:
                assert_never(result)

    def frame_writer(self) -> Frames:
        """Return what writes the events of one stream."""
        return Frames(self.name, self._encoder)

    def encode_http_error(self, problem: A2AError) -> tuple[int, bytes]:
        """Write an error: the HTTP status and the body."""
        return http_error(problem)

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request; ids of the path are in it under the names that the routes give them."""
        del operation
        return _encode(write_request(request, self._encoder))

    def decode_result(self, operation: Operation, data: bytes) -> Received:
        """Read the answer of a unary operation."""
        if operation is Operation.GET_EXTENDED_AGENT_CARD:
            return decode_card(data)
        try:
            return read_answer(operation, data, self._decoder)
        except RecursionError as refused:
            raise refusal_of(refused) from None

    def decode_event(self, data: bytes) -> StreamResponse:
        """Read one frame of a stream."""
        try:
            return read_event(data, self._decoder)
        except RecursionError as refused:
            raise refusal_of(refused) from None

    def decode_http_error(self, status: int, body: bytes) -> A2AError:
        """Read an error; whatever the body is, an error comes of it."""
        return read_http_error(status, body)

    def _read(self, operation: Operation, body: Body) -> Request:
        try:
            return read_request(operation, body, self._decoder)
        except RecursionError as refused:
            raise refusal_of(refused) from None

    def _page(self, page: TaskPage) -> wire.ListTasksResponse:
        return wire.ListTasksResponse(
            tasks=tuple([self._encoder.task(task.task()) for task in page.tasks]) or None,
            next_page_token=page.next_page_token or None,
            total_size=page.total_size or None,
        )


class Frames:
    """Writes events; all streams of one form share what was written."""

    __slots__ = ("_encoder", "_form", "has_ended")

    def __init__(self, form: str, encoder: Encoder) -> None:
        """Begin a stream."""
        self.has_ended: bool = False
        self._form = form
        self._encoder = encoder

    def write(self, event: EventDocument) -> tuple[bytes, ...]:
        """Return the frames of an event."""
        self.has_ended = self.has_ended or ends_stream(event)
        return event.spelled(self._form, self._encoder.frames)


V0_3_PROTO_DIALECT: Final = V0_3Proto()


def _configs(response: ListTaskPushNotificationConfigsResponse) -> wire.ListConfigsResponse:
    return wire.ListConfigsResponse(
        configs=tuple([write_config(config) for config in response.configs]) or None,
        next_page_token=response.next_page_token or None,
    )
