"""The dialect of the RxJS profile: a dialect of 0.3, and what the profile does otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

import msgspec
from msgspec.structs import replace

from dragoman.dialects.additions import Additions
from dragoman.dialects.base import FrameWriter, HttpRules, Reading, RestDialect, RpcDialect
from dragoman.dialects.profiles.rxjs.errors import error_object, http_error, last_error
from dragoman.dialects.profiles.rxjs.questions import dress, dress_for_tools
from dragoman.dialects.profiles.rxjs.requests import (
    RESUME,
    answering,
    as_answer,
    is_followed,
    read_envelope,
    with_tools,
)
from dragoman.errors import InternalError
from dragoman.model.documents import EventDocument, TaskDocument
from dragoman.model.events import StreamResponse, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.model.messages import text_of
from dragoman.model.operations import (
    GetTaskRequest,
    Operation,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.model.tasks import TaskState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import Received, Result
    from dragoman.errors import A2AError
    from dragoman.model.base import JsonObject
    from dragoman.model.operations import Request

__all__ = ("FOR_ANY", "FOR_TOOLS", "Rxjs", "RxjsRest")

_encode: Final = msgspec.json.Encoder().encode
_SENDS: Final = frozenset({Operation.SEND_MESSAGE, Operation.SEND_STREAMING_MESSAGE})
_GET: Final = "tasks/get"

FOR_ANY: Final = Additions(dress=dress, ends_at_pauses=False)
"""What any peer at the addresses of the profile gets; clients of plain 0.3 can read it."""

FOR_TOOLS: Final = Additions(dress=dress_for_tools, ends_at_pauses=False)
"""What a peer gets that has shown that it knows parts which are tools."""


def _last_error(event: StreamResponse) -> bytes:
    error = last_error(event)
    return b"" if error is None else _encode(error)


_HTTP: Final = HttpRules(
    error_statuses=frozenset({401, 405, 413, 415, 429, 503}),
    bad_envelope_status=400,
    stream_headers=((b"cache-control", b"no-cache"),),
    http1_stream_headers=((b"connection", b"keep-alive"),),
    heartbeat=b": keep-alive\n\n",
    # Its client stops at the end of a task, so why it has failed comes before that.
    last_error=_last_error,
    outlasts_pauses=True,
)


class _Base(RpcDialect, RestDialect, Protocol):
    """0.3, on both bindings."""


class Rxjs:
    """0.3 as the RxJS agent speaks it.

    Args:
        base: 0.3 with the additions of the profile.
        for_tools: the form in which to answer who declares tools or tells results; itself if None.
        is_followed: its streams are for who comes back to a task: they begin with a status.
    """

    __slots__ = ("_base", "_followed", "_for_tools")

    has_final: bool = True
    has_messages: bool = True
    http: HttpRules = _HTTP

    def __init__(
        self, base: _Base, for_tools: Rxjs | None = None, *, is_followed: bool = False
    ) -> None:
        self._base = base
        self._for_tools = for_tools or self
        self._followed: Rxjs | None = None if is_followed else Rxjs(base, is_followed=True)

    @property
    def name(self) -> str:
        """Return the name of the form."""
        return self._base.name

    def operation(self, method: str) -> Operation | None:
        """Return the operation of a method name, None if there is none such."""
        return Operation.SEND_MESSAGE if method == RESUME else self._base.operation(method)

    def method(self, operation: Operation) -> str | None:
        """Return the method name of an operation; a task is followed by getting it."""
        return _GET if operation is Operation.SUBSCRIBE_TO_TASK else self._base.method(operation)

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request from a JSON object."""
        if operation not in _SENDS:
            is_back = operation is Operation.SUBSCRIBE_TO_TASK and is_followed(params)
            answer = (self._followed or self) if is_back else self
            return self._base.decode_request(operation, params)._replace(answer=answer)
        sent = read_envelope(params)
        if sent.resumed is not None:
            return Reading(sent.resumed, self._for_tools)
        request = self._base.decode_request(operation, params).request
        assert isinstance(request, SendMessageRequest)  # noqa: S101 - a send is read as such
        message = answering(request.message)
        # A result as data is no sign: clients of plain 0.3 answer so.
        is_known = sent.tools is not None or sent.has_tool_parts
        if sent.tools is not None:
            message = with_tools(message, sent.tools)
        return Reading(replace(request, message=message), self._for_tools if is_known else self)

    def decode_query(self, operation: Operation, fields: Mapping[str, str]) -> Request:
        """Read a request from texts by JSON name."""
        return self._base.decode_query(operation, fields)

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        return self._base.encode_result(operation, result)

    def frame_writer(self) -> FrameWriter:
        """Return what writes the events of one stream."""
        frames = self._base.frame_writer()
        return frames if self._followed else _FollowedFrames(frames)

    def encode_notification(
        self, event: EventDocument, task: TaskDocument, shown_id: str = ""
    ) -> bytes:
        """Write what a webhook is told."""
        return self._base.encode_notification(event, task, shown_id)

    def encode_error(self, problem: A2AError) -> bytes:
        """Write the ``error`` member of a JSON-RPC response."""
        return _encode(error_object(problem))

    def encode_http_error(self, problem: A2AError) -> tuple[int, bytes]:
        """Write an error for HTTP: the status and the body."""
        return http_error(problem)

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request as a JSON object."""
        match request:
            case SubscribeToTaskRequest():
                return _encode({"taskId": request.id})
            case GetTaskRequest():
                params: JsonObject = {"taskId": request.id}
                if request.history_length:
                    params["historyLength"] = request.history_length
                return _encode(params)
            case SendMessageRequest():
                request = replace(request, message=as_answer(request.message))
            case _:
                pass
        return self._base.encode_request(operation, request)

    def decode_result(self, operation: Operation, data: bytes) -> Received:
        """Read the answer of a unary operation."""
        return self._base.decode_result(operation, data)

    def decode_event(self, data: bytes) -> StreamResponse:
        """Read one frame of a stream."""
        return self._base.decode_event(data)

    def decode_error(self, error: Mapping[str, object]) -> A2AError:
        """Read the ``error`` member of a JSON-RPC response."""
        return self._base.decode_error(error)

    def decode_http_error(self, status: int, body: bytes) -> A2AError:
        """Read an error of HTTP."""
        return self._base.decode_http_error(status, body)


class RxjsRest(Rxjs):
    """The same on its routes, where an agent that fails is an error of HTTP."""

    __slots__ = ()

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation.

        Raises:
            InternalError: a send has come to a task that has failed; it says why, and which.
        """
        if operation is Operation.SEND_MESSAGE and isinstance(result, TaskDocument):
            task = result.task()
            if task.status.state is TaskState.FAILED:
                said = task.status.message
                why = text_of(said.parts) if said else "The agent has failed"
                raise InternalError(why, metadata={"taskId": task.id})
        return super().encode_result(operation, result)


class _FollowedFrames:
    """Writes a stream that begins with how the task stands: its status, then what it has made.

    The end of a task is its last event, so there the status follows.
    """

    def __init__(self, frames: FrameWriter) -> None:
        self._frames = frames

    @property
    def has_ended(self) -> bool:
        """Whether the reader was told that nothing more comes."""
        return self._frames.has_ended

    def write(self, event: EventDocument) -> tuple[bytes, ...]:
        """Return the frames of an event."""
        task = event.value.task
        if task is None:
            return self._frames.write(event)
        task_id, context_id = task.id, task.context_id or task.id
        status = StreamResponse(
            status_update=TaskStatusUpdateEvent(
                task_id=task_id, context_id=context_id, status=task.status
            )
        )
        made = [
            StreamResponse(
                artifact_update=TaskArtifactUpdateEvent(
                    task_id=task_id, context_id=context_id, artifact=artifact
                )
            )
            for artifact in task.artifacts
        ]
        events = [*made, status] if task.status.state.is_terminal else [status, *made]
        return tuple(
            frame
            for each in events
            for frame in self._frames.write(EventDocument(event.seq, _encode(each)))
        )
