"""A2A 0.3 over gRPC, and 0.2.2 to 0.2.6 with it (0.x reference, 3.9 and 4.4).

The messages are those that 0.3 has as ProtoJSON, and what they mean is that dialect's business;
here they are read from their bytes and written to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.bindings.grpc.base import GrpcStatus
from dragoman.bindings.grpc.status import encode_trailer, read_details
from dragoman.bindings.grpc.v0_3_answers import (
    MessageEncoder,
    decode_event,
    decode_result,
    encode_frame,
    encode_result,
)
from dragoman.bindings.grpc.v0_3_requests import decode_request, encode_request
from dragoman.dialects.base import HttpRules, Reading
from dragoman.dialects.legacy.error_readers import read_grpc_error
from dragoman.dialects.legacy.errors import grpc_error
from dragoman.dialects.v0_3_proto.codec import Frames
from dragoman.dialects.v0_3_proto.decode import AnswerDecoder, Decoder
from dragoman.dialects.v1_0.errors import decode_details
from dragoman.errors import spelling_of
from dragoman.model.operations import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import Received, Result
    from dragoman.dialects.legacy.file_bytes import FileBytes
    from dragoman.errors import A2AError
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Request

__all__ = ("V0_3_GRPC", "V0_3_GRPC_RAW", "V0_3_GRPC_STRICT", "CalledGrpcV0_3", "GrpcV0_3")

_NAME: Final = "0.3-grpc"

_NAMES: Final = {
    **{operation: operation.value for operation in Operation},
    Operation.SUBSCRIBE_TO_TASK: "TaskSubscription",
    Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS: "ListTaskPushNotificationConfig",
    Operation.GET_EXTENDED_AGENT_CARD: "GetAgentCard",
}
_RPCS: Final = {
    **{name: operation for operation, name in _NAMES.items()},
    # 3.9: what 0.2.2 to 0.2.4 and the prose of 0.3 call them.
    "CreateTaskPushNotification": Operation.CREATE_TASK_PUSH_NOTIFICATION_CONFIG,
    "GetTaskPushNotification": Operation.GET_TASK_PUSH_NOTIFICATION_CONFIG,
    "ListTaskPushNotification": Operation.LIST_TASK_PUSH_NOTIFICATION_CONFIGS,
    "DeleteTaskPushNotification": Operation.DELETE_TASK_PUSH_NOTIFICATION_CONFIG,
    "ListTask": Operation.LIST_TASKS,
}


class GrpcV0_3:  # noqa: N801 - the name of the version
    """A2A 0.3 over gRPC.

    The variant ``0.3-grpc+raw`` answers clients that send file content as it is.
    """

    __slots__ = ("_encoder", "_file_bytes", "_is_strict", "name")

    has_final: bool = True
    has_messages: bool = True
    http: HttpRules = HttpRules()
    service: str = "a2a.v1.A2AService"

    def __init__(self, file_bytes: FileBytes | None = None, *, is_strict: bool = False) -> None:
        """Pin the peer's habit with file content if it is known (0.x reference, 5.7).

        Args:
            is_strict: refuse the requests that ``Decoder`` refuses then; answers are the same.
        """
        self._is_strict = is_strict
        self.name: str = _NAME if file_bytes is None else f"{_NAME}+{file_bytes}"
        self._file_bytes: FileBytes | None = file_bytes
        self._encoder = MessageEncoder(file_bytes)

    def variant(self, origin: str) -> GrpcV0_3:
        """Return the variant of this name, in which a task was begun; itself if it has none."""
        return V0_3_GRPC_RAW if origin == V0_3_GRPC_RAW.name else self

    @property
    def rpcs(self) -> Mapping[str, Operation]:
        """Return the operations by name of their rpc, the names of 0.2 included."""
        return _RPCS

    def rpc(self, operation: Operation) -> str:
        """Return the name to call an operation by."""
        return _NAMES[operation]

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request; the answer has file content as the request does."""
        decoder = Decoder(self._file_bytes, is_strict=self._is_strict)
        request = decode_request(operation, params, decoder)
        return Reading(request, V0_3_GRPC_RAW if decoder.shown == "raw" else self)

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        return encode_result(operation, result, self._encoder)

    def frame_writer(self) -> Frames:
        """Return what writes the events of one stream."""
        return Frames(self.name, self._encoder, encode_frame)

    def encode_status(self, problem: A2AError) -> GrpcStatus:
        """Write an error; peers know it by the name before the text."""
        code, details = grpc_error(problem)
        return GrpcStatus(code, details, encode_trailer(problem, code, details))

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request."""
        return encode_request(operation, request, self._encoder)

    def decode_result(self, operation: Operation, data: bytes) -> Received:
        """Read the answer of a unary operation."""
        return decode_result(operation, data, self._answers())

    def decode_event(self, data: bytes) -> StreamResponse:
        """Read one frame of a stream."""
        return decode_event(data, self._answers())

    def decode_status(self, code: int, details: str, trailer: bytes | None) -> A2AError:
        """Read an error: by the reason in its trailer, else by its name, else by its status."""
        told = read_grpc_error(code, details)
        found = read_details(trailer)
        if not found:
            return told
        return decode_details(told.message, found, code=spelling_of(told).jsonrpc)

    def _answers(self) -> AnswerDecoder:
        return AnswerDecoder(self._file_bytes)


class CalledGrpcV0_3(GrpcV0_3):  # noqa: N801 - the name of the version
    """A2A 0.3 over gRPC, to one agent: it gets file content as its answers have it."""

    __slots__ = ("_decoder", "_likely")

    def __init__(self, likely: FileBytes | None) -> None:
        """Begin with the habit that is likely; it counts until an answer shows one."""
        super().__init__()
        self._likely = likely
        self._decoder = AnswerDecoder(None)

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request."""
        is_raw = (self._decoder.shown or self._likely) == "raw"
        return (V0_3_GRPC_RAW if is_raw else V0_3_GRPC).encode_request(operation, request)

    def _answers(self) -> AnswerDecoder:
        return self._decoder


V0_3_GRPC: Final = GrpcV0_3()
V0_3_GRPC_RAW: Final = GrpcV0_3("raw")
V0_3_GRPC_STRICT: Final = GrpcV0_3(is_strict=True)
