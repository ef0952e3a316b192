"""The 0.1 dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from dragoman.dialects.base import HttpRules, Reading
from dragoman.dialects.legacy.error_readers import read_error_object
from dragoman.dialects.legacy.errors import ERRORS_0_1, error_object
from dragoman.dialects.v0_1.answers import decode_event, decode_result
from dragoman.dialects.v0_1.decode import decode_send, decode_task_request
from dragoman.dialects.v0_1.encode import Writer, task_of
from dragoman.dialects.v0_1.frames import Frames
from dragoman.dialects.v0_1.methods import CALLS, METHODS
from dragoman.dialects.v0_1.requests import encode_request
from dragoman.dialects.v0_1.strict import check_request
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import Message
from dragoman.model.operations import ListTaskPushNotificationConfigsResponse, Operation
from dragoman.model.push import TaskPushNotificationConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import FrameWriter, Received, Result, RpcDialect
    from dragoman.errors import A2AError
    from dragoman.model.documents import EventDocument
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Request

__all__ = ("V0_1", "V0_1_DIALECT")

_encode: Final = msgspec.json.Encoder().encode
_SENDS: Final = (Operation.SEND_MESSAGE, Operation.SEND_STREAMING_MESSAGE)


class V0_1:  # noqa: N801 - the name of the version
    """A2A 0.1, as one peer speaks it."""

    __slots__ = ("_is_strict", "_writer")

    has_final: bool = True
    has_messages: bool = False
    http: HttpRules = HttpRules(refuses_in_streams=True)

    def __init__(
        self, shown_id: str = "", *, has_kind: bool = False, is_strict: bool = False
    ) -> None:
        """Take on the habits of a peer.

        Args:
            shown_id: what the peer calls the task, in place of the id the task has here.
            has_kind: the peer mixes in members of 0.2: parts have ``kind`` beside ``type`` (D13).
            is_strict: refuse the requests that depart from the text in one of the ways of the 0.x
                reference, 6.1: a task named by ``taskId`` (D8), parts without ``type`` (D13), a
                send that leaves the id to the server (D14). Whoever has ``kind`` beside ``type``
                is answered by ``type`` alone. What a client reads is the same.
        """
        self._is_strict = is_strict
        self._writer = Writer(shown_id, has_kind)

    @property
    def name(self) -> str:
        """Return the name of the form, whatever the peer calls its task."""
        return "0.1+kind" if self._writer.has_kind else "0.1"

    def operation(self, method: str) -> Operation | None:
        """Return the operation of a method name, None if 0.1 has none such."""
        return METHODS.get(method)

    def method(self, operation: Operation) -> str | None:
        """Return the method that does an operation, None if 0.1 has none."""
        return CALLS.get(operation)

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request from a JSON object.

        The task that a send names is the reading's alias and not in the request: only the server
        knows whether it is a new one. All other requests name it as the client does.
        """
        if self._is_strict:
            check_request(params)
        if operation in _SENDS:
            send = decode_send(params)
            has_kind = send.is_mixed and not self._is_strict
            return Reading(send.request, V0_1(send.alias, has_kind=has_kind), send.alias)
        request, task_id = decode_task_request(operation, params)
        return Reading(request, V0_1(task_id, has_kind=self._writer.has_kind))

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        match result:
            case TaskDocument():
                # 5.10: history is shown to who asks for it, and a cancel cannot.
                if operation is Operation.CANCEL_TASK:
                    result = result.with_history(0)
                return _encode(self._writer.task(result.task()))
            case Message():
                return _encode(self._writer.task(task_of(result)))
            case TaskPushNotificationConfig():
                return _encode(self._writer.push_config(result))
            case ListTaskPushNotificationConfigsResponse(configs=configs):
                # 5.1: the one that is called like the task, else the oldest; null if there is none.
                own = self._writer.shown_id
                found = next((each for each in configs if each.id in (own, each.task_id)), None)
                found = found or next(iter(configs), None)
                return _encode(found and self._writer.push_config(found))
            case _:
                # No method of 0.1 asks for a page, a card or nothing.
                raise TypeError(result)

    def frame_writer(self) -> FrameWriter:
        """Return what writes the events of one stream."""
        return Frames(self._writer)

    def encode_notification(
        self, event: EventDocument, task: TaskDocument, shown_id: str = ""
    ) -> bytes:
        """Write what a webhook is told: the whole task, and that it is news of it (5.11)."""
        del event
        writer = replace(self._writer, shown_id=shown_id) if shown_id else self._writer
        written = writer.task(task.task())
        return _encode({**written, "taskId": written["id"], "eventType": "taskUpdate"})

    def encode_error(self, problem: A2AError) -> bytes:
        """Write the ``error`` member of a response; the task is called what the peer calls it."""
        written = error_object(problem, ERRORS_0_1)
        data = written.get("data")
        if self._writer.shown_id and isinstance(data, dict) and "taskId" in data:
            data["taskId"] = self._writer.shown_id
        return _encode(written)

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request; ``message.task_id`` must name the task, even a new one."""
        del operation  # the request says it all
        return encode_request(request)

    def decode_result(self, operation: Operation, data: bytes) -> Received:
        """Read the answer of a unary operation."""
        return decode_result(operation, data)

    def decode_event(self, data: bytes) -> StreamResponse:
        """Read one frame of a stream; the context of an event is the task's id."""
        return decode_event(data)

    def decode_error(self, error: Mapping[str, object]) -> A2AError:
        """Read the ``error`` member of a response; whatever it is, an error comes of it."""
        return read_error_object(error, ERRORS_0_1)


V0_1_DIALECT: Final[RpcDialect] = V0_1()
