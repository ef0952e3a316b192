"""The RxJS profile: 0.3 with sub-agents, client tools and streams that outlast a pause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dragoman.dialects import negotiation
from dragoman.dialects.base import Method
from dragoman.dialects.profiles.base import Claim, Profile, Serving
from dragoman.dialects.profiles.rxjs.codec import FOR_ANY, FOR_TOOLS, Rxjs, RxjsRest
from dragoman.dialects.profiles.rxjs.requests import RESUME, is_followed
from dragoman.dialects.v0_3.codec import V0_3
from dragoman.dialects.v0_3.methods import METHODS
from dragoman.errors import A2AError, MethodNotFoundError
from dragoman.model.operations import Operation, SendMessageRequest

if TYPE_CHECKING:
    from collections.abc import Collection

    from dragoman.dialects.base import Reading, RestDialect, RpcDialect
    from dragoman.dialects.negotiation import Version
    from dragoman.dialects.profiles.base import RequestHead

__all__ = (
    "PROFILE",
    "RXJS_DIALECT",
    "RXJS_REST_DIALECT",
    "RXJS_REST_TOOLS_DIALECT",
    "RXJS_TOOLS_DIALECT",
    "ServedRxjs",
)

_NAME: Final = "rxjs"

RXJS_TOOLS_DIALECT: Final = Rxjs(V0_3("rxjs+tools", additions=FOR_TOOLS))
RXJS_DIALECT: Final = Rxjs(V0_3("rxjs", additions=FOR_ANY), RXJS_TOOLS_DIALECT)
"""On JSON-RPC."""

RXJS_REST_TOOLS_DIALECT: Final = RxjsRest(V0_3("rxjs-rest+tools", additions=FOR_TOOLS))
RXJS_REST_DIALECT: Final = RxjsRest(V0_3("rxjs-rest", additions=FOR_ANY), RXJS_REST_TOOLS_DIALECT)
"""On HTTP+JSON."""

_SHARED: Final = frozenset({"tasks/get", "tasks/cancel", "tasks/resubscribe"})
"""The methods for which the task decides whether tool parts are understood."""


class ServedRxjs:
    """The profile on a server that was told to speak it. All of ``/api/a2a`` is its."""

    path: str = "/api/a2a"
    owns_path: bool = True
    marks_traces: bool = True
    receives_all: bool = False
    dialect: RpcDialect = RXJS_DIALECT
    rest_dialect: RestDialect | None = RXJS_REST_DIALECT

    def claims(self, head: RequestHead, method: str, params: bytes, *, is_known: bool) -> Claim:
        """Claim the methods of 0.3, its own, and those that nobody knows."""
        del head, params
        is_own = method == RESUME or method in METHODS or not is_known
        return Claim.YES if is_own else Claim.NO

    def is_likely(self, head: RequestHead) -> bool:
        """Return True: its requests are told by their method."""
        del head
        return True

    def is_default(self, head: RequestHead) -> bool:
        """Return False: who is refused unread hears it in the version that it states."""
        del head
        return False

    def find_method(self, name: str, head: RequestHead, params: bytes = b"{}") -> Method:
        """Return what a method name means; a task is followed by getting it as a stream.

        Its client says no more than ``taskId``, and asks for no kind of answer.

        Raises:
            MethodNotFoundError: there is no such method.
        """
        if name == RESUME:
            is_stream = head.takes_stream
            sends = Operation.SEND_STREAMING_MESSAGE if is_stream else Operation.SEND_MESSAGE
            return Method(RXJS_TOOLS_DIALECT, sends)
        operation = METHODS.get(name)
        if operation is None:
            raise MethodNotFoundError(
                f"There is no method {name[:100]!r}", metadata={"method": name[:100]}
            )
        is_open = head.headers.get(b"accept", "*/*") == "*/*" and is_followed(params)
        if operation is Operation.GET_TASK and (head.takes_stream or is_open):
            operation = Operation.SUBSCRIBE_TO_TASK
        return Method(RXJS_DIALECT, operation, is_shared=name in _SHARED)

    def dialect_of(self, origin: str) -> RpcDialect | None:
        """Return the form for a task: with tool parts if it was begun so."""
        return RXJS_TOOLS_DIALECT if origin == RXJS_TOOLS_DIALECT.name else RXJS_DIALECT

    def reword(self, error: A2AError, body: bytes | None) -> A2AError:
        """Return the error as it is."""
        del body
        return error

    def address(self, reading: Reading, owner: str) -> Reading:
        """Return the reading as it is."""
        del owner
        return reading

    def receive(self, request: SendMessageRequest, owner: str) -> SendMessageRequest:
        """Return the message as it is."""
        del owner
        return request


class CalledRxjs:
    """The profile for a client whose user says that an agent speaks it."""

    path: str = ""
    name: str = _NAME
    version: Version = negotiation.V0_3
    replaces: str = "0.3"
    dialect: RpcDialect = RXJS_TOOLS_DIALECT

    def is_shown_by(self, members: Collection[str]) -> bool:
        """Return False: cards do not tell."""
        del members
        return False


def _serve(server: Serving) -> ServedRxjs | None:
    return ServedRxjs() if _NAME in server.names else None


PROFILE: Final = Profile(
    name=_NAME,
    serve=_serve,
    called=CalledRxjs(),
    origins=(RXJS_REST_DIALECT, RXJS_REST_TOOLS_DIALECT),
    told=(RXJS_DIALECT, RXJS_TOOLS_DIALECT, RXJS_REST_DIALECT, RXJS_REST_TOOLS_DIALECT),
    is_setting=True,
)
