"""The dialect of 0.2 and 0.3: one JSON form, on JSON-RPC and on HTTP+JSON in schema shape.

0.3 only adds to 0.2, and no reader of either forbids members it does not know, so one writer serves
both (0.x reference, section 1). On HTTP+JSON an answer is the bare object, told by its ``kind``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, assert_never

import msgspec

from dragoman.dialects.additions import NO_ADDITIONS, Additions
from dragoman.dialects.base import HttpRules, Reading
from dragoman.dialects.fields import Fields, read_json
from dragoman.dialects.legacy.error_readers import read_error_object, read_http_error
from dragoman.dialects.legacy.errors import ERRORS_0_3, error_object, http_error
from dragoman.dialects.v0_3.answers import decode_event, decode_result
from dragoman.dialects.v0_3.card import encode_card
from dragoman.dialects.v0_3.decode import READERS, decode_query
from dragoman.dialects.v0_3.encode import Writer
from dragoman.dialects.v0_3.methods import METHODS, NAMES
from dragoman.dialects.v0_3.push import task_config_members
from dragoman.dialects.v0_3.requests import encode_request
from dragoman.dialects.v0_3.send import decode_send
from dragoman.dialects.v0_3.strict import check_request
from dragoman.model.cards import AgentCard
from dragoman.model.documents import TaskDocument, TaskPage
from dragoman.model.messages import Message
from dragoman.model.operations import Empty, ListTaskPushNotificationConfigsResponse, Operation
from dragoman.model.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import Received, Result
    from dragoman.errors import A2AError
    from dragoman.model.base import JsonObject
    from dragoman.model.documents import EventDocument
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Request

__all__ = (
    "V0_3",
    "V0_3_DIALECT",
    "V0_3_REST_DIALECT",
    "V0_3_REST_TYPE_DIALECT",
    "V0_3_TYPE_DIALECT",
)

_encode: Final = msgspec.json.Encoder().encode
_SENDS: Final = frozenset({Operation.SEND_MESSAGE, Operation.SEND_STREAMING_MESSAGE})


class V0_3:  # noqa: N801 - the name of the version
    """A2A 0.2 and 0.3 as JSON.

    The variant ``0.3+type`` answers clients that know parts by ``type``.
    """

    __slots__ = ("_is_strict", "_writer", "name")

    has_final: bool = True
    has_messages: bool = True
    http: HttpRules = HttpRules(refuses_in_streams=True)

    def __init__(
        self,
        name: str = "0.3",
        *,
        is_dual: bool = False,
        is_strict: bool = False,
        additions: Additions = NO_ADDITIONS,
    ) -> None:
        """Make the form itself, or a variant.

        Args:
            name: what the form is called; strictness is no part of it.
            is_dual: write ``type`` beside ``kind``.
            is_strict: refuse the requests on JSON-RPC that depart from the schema in one of the
                ways of the 0.x reference, 6.1: a task named by ``taskId`` (D8), parts without
                ``kind`` (D9, D11), no ``messageId`` (D10), roles of 1.0 (D11), null for absent
                (D19), names of the proto (D20). Answers, and what a client reads, are the same.
            additions: what a profile writes beyond 0.3.
        """
        self.name: Final = name
        self._is_strict = is_strict
        self._writer = Writer(is_dual=is_dual, additions=additions)

    def operation(self, method: str) -> Operation | None:
        """Return the operation of a method name, None if there is none such."""
        return METHODS.get(method)

    def method(self, operation: Operation) -> str:
        """Return the method name of an operation."""
        return NAMES[operation]

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request from a JSON object; the answer has the discriminators of the request."""
        if self._is_strict:
            check_request(operation, params)
        if operation in _SENDS:
            request, is_typed = decode_send(params)
            return Reading(request, _DUAL.get(self.name, self) if is_typed else self)
        return Reading(READERS[operation](Fields(read_json(params))), self)

    def decode_query(self, operation: Operation, fields: Mapping[str, str]) -> Request:
        """Read a request from texts by JSON name; an empty text is absent."""
        return decode_query(operation, fields)

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        del operation
        match result:
            case TaskDocument():
                return _encode(self._writer.task(result.task()))
            case Message():
                return _encode(self._writer.message(result))
            case TaskPage():
                return _encode(self._page(result))
            case TaskPushNotificationConfig():
                return _encode(task_config_members(result))
            case ListTaskPushNotificationConfigsResponse():
                return _encode([task_config_members(config) for config in result.configs])
            case Empty():
                return b"null"
            case AgentCard():
                return encode_card(result)
            case _:
                assert_never(result)

    def frame_writer(self) -> Frames:
        """Return what writes the events of one stream."""
        return Frames(self.name, self._writer)

    def encode_notification(
        self, event: EventDocument, task: TaskDocument, shown_id: str = ""
    ) -> bytes:
        """Write what a webhook is told: the whole task (0.x reference, 5.11)."""
        del event, shown_id
        return _encode(self._writer.task(task.task()))

    def encode_error(self, problem: A2AError) -> bytes:
        """Write the ``error`` member of a JSON-RPC response."""
        return _encode(error_object(problem, ERRORS_0_3))

    def encode_http_error(self, problem: A2AError) -> tuple[int, bytes]:
        """Write an error for HTTP: the status and the body."""
        return http_error(problem)

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request as a JSON object."""
        del operation
        return _encode(encode_request(request, self._writer))

    def decode_result(self, operation: Operation, data: bytes) -> Received:
        """Read the answer of a unary operation."""
        return decode_result(operation, data)

    def decode_event(self, data: bytes) -> StreamResponse:
        """Read one frame of a stream."""
        return decode_event(data)

    def decode_error(self, error: Mapping[str, object]) -> A2AError:
        """Read the ``error`` member of a JSON-RPC response."""
        return read_error_object(error, ERRORS_0_3)

    def decode_http_error(self, status: int, body: bytes) -> A2AError:
        """Read an error of HTTP."""
        return read_http_error(status, body)

    def _page(self, page: TaskPage) -> JsonObject:
        return {
            "tasks": [self._writer.task(document.task()) for document in page.tasks],
            "totalSize": page.total_size,
            "pageSize": page.page_size,
            "nextPageToken": page.next_page_token,
        }


class Frames:
    """Writes the events of one stream; all streams of a form share the spelling of an event."""

    __slots__ = ("_name", "_writer", "has_ended")

    def __init__(self, name: str, writer: Writer) -> None:
        """Begin a stream."""
        self._name = name
        self._writer = writer
        self.has_ended: bool = False

    def write(self, event: EventDocument) -> tuple[bytes, ...]:
        """Return the frames of an event; the last of a stream says ``final``, or is a message."""
        self.has_ended = self.has_ended or self._ends_stream(event.value)
        return event.spelled(self._name, self._spell)

    def _spell(self, event: EventDocument) -> tuple[bytes, ...]:
        return tuple([_encode(frame) for frame in self._writer.frames(event.value)])

    def _ends_stream(self, event: StreamResponse) -> bool:
        if event.status_update is not None:
            return self._writer.has_stopped(event.status_update.status)
        if event.task is not None:
            return self._writer.has_stopped(event.task.status)
        return event.message is not None


V0_3_DIALECT: Final = V0_3()
V0_3_TYPE_DIALECT: Final = V0_3("0.3+type", is_dual=True)

V0_3_REST_DIALECT: Final = V0_3("0.3-rest")
"""On HTTP+JSON. A name of its own: who began a task so reads it so (0.x reference, 6.2)."""

V0_3_REST_TYPE_DIALECT: Final = V0_3("0.3-rest+type", is_dual=True)

_DUAL: Final = {
    V0_3_DIALECT.name: V0_3_TYPE_DIALECT,
    V0_3_TYPE_DIALECT.name: V0_3_TYPE_DIALECT,
    V0_3_REST_DIALECT.name: V0_3_REST_TYPE_DIALECT,
    V0_3_REST_TYPE_DIALECT.name: V0_3_REST_TYPE_DIALECT,
}
"""In which form to answer who told parts apart by ``type``."""
