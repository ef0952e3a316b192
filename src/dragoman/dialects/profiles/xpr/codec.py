"""The XPR dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

import msgspec
from msgspec.structs import replace

from dragoman.dialects.base import HttpRules, Reading
from dragoman.dialects.legacy.error_readers import read_error_object
from dragoman.dialects.profiles.xpr.answers import decode_task
from dragoman.dialects.profiles.xpr.decode import decode_send, decode_task_request
from dragoman.dialects.profiles.xpr.encode import Writer, task_of
from dragoman.dialects.profiles.xpr.errors import ERRORS_XPR, error_object
from dragoman.dialects.profiles.xpr.members import CALLER, CLAIMED
from dragoman.dialects.profiles.xpr.methods import CALLS, METHODS
from dragoman.dialects.profiles.xpr.requests import encode_request
from dragoman.errors import UnsupportedOperationError
from dragoman.model.documents import TaskDocument
from dragoman.model.messages import Message
from dragoman.model.operations import Operation, SendMessageRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dragoman.dialects.base import FrameWriter, Received, Result, RpcDialect
    from dragoman.errors import A2AError
    from dragoman.model.base import JsonObject
    from dragoman.model.documents import EventDocument
    from dragoman.model.events import StreamResponse
    from dragoman.model.operations import Request

__all__ = ("XPR_DIALECT", "Xpr", "heard_from")

_encode: Final = msgspec.json.Encoder().encode


class Xpr:
    """A2A as the XPR network speaks it, to one peer."""

    __slots__ = ("_writer",)

    has_final: bool = True
    has_messages: bool = False
    http: HttpRules = HttpRules(error_statuses=frozenset({413}), has_error_headers=False)

    def __init__(self, shown_id: str = "", *, owner: str = "") -> None:
        """Take on what a peer knows.

        Args:
            shown_id: what the peer calls the task, in place of the id the task has here.
            owner: the account whose task it is.
        """
        self._writer = Writer(shown_id, owner)

    @property
    def name(self) -> str:
        """Return the name of the form."""
        return "xpr"

    def owned_by(self, account: str) -> Xpr:
        """Return the same, for tasks of an account."""
        return Xpr(self._writer.shown_id, owner=account)

    def operation(self, method: str) -> Operation | None:
        """Return the operation of a method name, None if this network has none such."""
        return METHODS.get(method)

    def method(self, operation: Operation) -> str | None:
        """Return the method that does an operation, None if this network has none."""
        return CALLS.get(operation)

    def decode_request(self, operation: Operation, params: bytes) -> Reading:
        """Read a request from a JSON object.

        The task that a send names is the reading's alias and not in the request: only the server
        knows whether it is a new one.
        """
        if operation is Operation.SEND_MESSAGE:
            send = decode_send(params)
            return Reading(send.request, Xpr(send.alias), send.alias, begins_anew=True)
        request, task_id = decode_task_request(operation, params)
        return Reading(request, Xpr(task_id))

    def encode_result(self, operation: Operation, result: Result) -> bytes:
        """Write the answer of a unary operation."""
        del operation  # all of them are answered by a task
        match result:
            case TaskDocument():
                return _encode(self._writer.task(result.task()))
            case Message():
                return _encode(self._writer.task(task_of(result)))
            case _:
                raise TypeError(result)

    def frame_writer(self) -> FrameWriter:
        """Refuse: no method streams."""
        _refuse_stream()

    def encode_notification(
        self, event: EventDocument, task: TaskDocument, shown_id: str = ""
    ) -> bytes:
        """Write what a webhook is told: the whole task. No method registers one."""
        del event, shown_id
        return _encode(self._writer.task(task.task()))

    def encode_error(self, problem: A2AError) -> bytes:
        """Write the ``error`` member of a response."""
        return _encode(error_object(problem))

    def encode_request(self, operation: Operation, request: Request) -> bytes:
        """Write a request as a JSON object."""
        del operation  # the request says it all
        return encode_request(request)

    def decode_result(self, operation: Operation, data: bytes) -> Received:
        """Read the answer of a unary operation, which is a task."""
        del operation
        return decode_task(data)

    def decode_event(self, data: bytes) -> StreamResponse:
        """Refuse: no method streams."""
        del data
        _refuse_stream()

    def decode_error(self, error: Mapping[str, object]) -> A2AError:
        """Read the ``error`` member of a response; whatever it is, an error comes of it."""
        return read_error_object(error, ERRORS_XPR)


def heard_from(request: SendMessageRequest, account: str) -> SendMessageRequest:
    """Return a message as one of an account, whatever it says of itself, in whatever version.

    Args:
        account: the one that has signed. Without one, what the request claims is kept as a claim,
            under a name that cannot be mistaken.
    """
    message = request.message
    if message.metadata and (CALLER in message.metadata or CLAIMED in message.metadata):
        message = replace(message, metadata=_unsaid(message.metadata) or None)
    metadata = request.metadata
    if account or (metadata and (CALLER in metadata or CLAIMED in metadata)):
        metadata = _told(metadata, account) or None
    return replace(request, message=message, metadata=metadata)


def _told(metadata: JsonObject | None, account: str) -> JsonObject:
    told = _unsaid(metadata)
    if account:
        told[CALLER] = account
    elif metadata and CALLER in metadata:
        told[CLAIMED] = metadata[CALLER]
    return told


def _unsaid(metadata: JsonObject | None) -> JsonObject:
    """Return metadata without what it says of who calls."""
    said = (metadata or {}).items()
    return {name: value for name, value in said if name not in (CALLER, CLAIMED)}


def _refuse_stream() -> NoReturn:
    raise UnsupportedOperationError("The XPR network has no streams")


XPR_DIALECT: Final[RpcDialect] = Xpr()
