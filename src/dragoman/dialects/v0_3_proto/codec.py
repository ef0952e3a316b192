"""The ProtoJSON dialect of 0.3: HTTP+JSON under ``/v1`` as most peers speak it.

The shape of the JSON schema travels on the same routes and is another dialect; ``shape`` tells the
two apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from dragoman.dialects.base import HttpRules, Reading
from dragoman.dialects.legacy.error_readers import read_http_error
from dragoman.dialects.legacy.errors import http_error
from dragoman.dialects.v0_3_proto.answers import decode_answer, decode_event, write_answer
from dragoman.dialects.v0_3_proto.card import decode_card, encode_card
from dragoman.dialects.v0_3_proto.decode import AnswerDecoder, Decoder
from dragoman.dialects.v0_3_proto.encode import Encoder, ends_stream
from dragoman.dialects.v0_3_proto.requests import FORMS, read_request, write_request
from dragoman.dialects.violations import refusal_of
from dragoman.model.cards import AgentCard
from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from dragoman.dialects.base import Received, Result
    from dragoman.dialects.legacy.file_bytes import FileBytes
    from dragoman.dialects.v0_3_proto import wire
    from dragoman.dialects.v0_3_proto.requests import Body
    from dragoman.errors import A2AError
    from dragoman.model.documents import EventDocument
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Request

__all__ = (
    "V0_3_PROTO_DIALECT",
    "V0_3_PROTO_RAW_DIALECT",
    "CalledV0_3Proto",
    "Frames",
    "V0_3Proto",
)

_NAME: Final = "0.3-proto"

_encode: Final = msgspec.json.Encoder().encode


class V0_3Proto:  # noqa: N801 - the name of the version
    """A2A 0.3 as ProtoJSON.

    The variant ``0.3-proto+raw`` answers clients that send file content as it is.
    """

    __slots__ = ("_encoder", "_file_bytes", "_is_strict", "name")

    has_final: bool = True
    has_messages: bool = True
    http: HttpRules = HttpRules()

    def __init__(self, file_bytes: FileBytes | None = None, *, is_strict: bool = False) -> None:
        """Pin the peer's habit with file content if it is known (0.x reference, 5.7).

        Args:
            is_strict: refuse the requests that ``Decoder`` refuses then; answers are the same.
        """
        self._is_strict = is_strict
        self.name: str = _NAME if file_bytes is None else f"{_NAME}+{file_bytes}"
        self._file_bytes: FileBytes | None = file_bytes
        self._encoder = Encoder(file_bytes)

    def variant(self, origin: str) -> V0_3Proto:
        """Return the variant of this name, in which a task was begun; itself if it has none."""
        return V0_3_PROTO_RAW_DIALECT if origin == V0_3_PROTO_RAW_DIALECT.name else self

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request from a JSON object; the answer has file content as the request does."""
        decoder = Decoder(self._file_bytes, is_strict=self._is_strict)
        request = _read(operation, FORMS[operation].decode(params), decoder)
        return Reading(request, V0_3_PROTO_RAW_DIALECT if decoder.shown == "raw" else self)

    def decode_query(self, operation: Operation, fields: Mapping[str, str]) -> Request:
        """Read a request from texts by JSON name or proto name; an empty text is absent."""
        texts = {name: text for name, text in fields.items() if text}
        body = FORMS[operation].convert(texts, is_text=True)
        return _read(operation, body, Decoder(self._file_bytes))

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        if isinstance(result, AgentCard):
            return encode_card(result)
        return _encode(write_answer(operation, result, self._encoder))

    def frame_writer(self) -> Frames:
        """Return what writes the events of one stream."""
        return Frames(self.name, self._encoder, _encode)

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
            return decode_answer(operation, data, self._answers())
        except RecursionError as refused:
            raise refusal_of(refused) from None

    def decode_event(self, data: bytes) -> StreamResponse:
        """Read one frame of a stream."""
        try:
            return decode_event(data, self._answers())
        except RecursionError as refused:
            raise refusal_of(refused) from None

    def decode_http_error(self, status: int, body: bytes) -> A2AError:
        """Read an error; whatever the body is, an error comes of it."""
        return read_http_error(status, body)

    def _answers(self) -> AnswerDecoder:
        return AnswerDecoder(self._file_bytes)


class CalledV0_3Proto(V0_3Proto):  # noqa: N801 - the name of the version
    """A2A 0.3 as ProtoJSON, to one agent: it gets file content as its answers have it."""

    __slots__ = ("_decoder", "_likely")

    def __init__(self, likely: FileBytes | None) -> None:
        """Begin with the habit that is likely; it counts until an answer shows one."""
        super().__init__()
        self._likely = likely
        self._decoder = AnswerDecoder(None)

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request."""
        is_raw = (self._decoder.shown or self._likely) == "raw"
        dialect = V0_3_PROTO_RAW_DIALECT if is_raw else V0_3_PROTO_DIALECT
        return dialect.encode_request(operation, request)

    def _answers(self) -> AnswerDecoder:
        return self._decoder


def _read(operation: Operation, body: Body, values: Decoder) -> Request:
    try:
        return read_request(operation, body, values)
    except RecursionError as refused:
        raise refusal_of(refused) from None


class Frames:
    """Writes events; all streams of one form share what was written."""

    __slots__ = ("_encode", "_encoder", "_form", "has_ended")

    def __init__(
        self, form: str, encoder: Encoder, encode: Callable[[wire.StreamResponse], bytes]
    ) -> None:
        """Begin a stream.

        Args:
            encode: makes bytes of a frame.
        """
        self.has_ended: bool = False
        self._form = form
        self._encoder = encoder
        self._encode = encode

    def write(self, event: EventDocument) -> tuple[bytes, ...]:
        """Return the frames of an event."""
        self.has_ended = self.has_ended or ends_stream(event.value)
        return event.spelled(self._form, self._spell)

    def _spell(self, event: EventDocument) -> tuple[bytes, ...]:
        return tuple([self._encode(payload) for payload in self._encoder.payloads(event.value)])


V0_3_PROTO_DIALECT: Final = V0_3Proto()
V0_3_PROTO_RAW_DIALECT: Final = V0_3Proto("raw")
