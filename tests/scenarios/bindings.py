"""The bindings behind one face, so that a test says once what holds for all of them.

Nothing here shares code or tables with the server: names, routes and codes are those of the
reference (sections 3, 4 and 6), written down a second time.
"""

from __future__ import annotations

import json
import ssl
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from itertools import count, repeat
from typing import Any, ClassVar, Final, NamedTuple, Self
from urllib.parse import quote

import httpx2
import pytest

from tests.scenarios.grpc_binding import V1_0_SERVICE, Rpcs, StatusError, code_of
from tests.support.wire import Frame, Json

__all__ = (
    "BINDINGS",
    "ERRORS",
    "OPERATIONS",
    "Binding",
    "Grpc",
    "HttpJson",
    "JsonRpc",
    "Problem",
    "RefusedError",
    "Spelling",
    "drain",
    "expect",
)

_ids = count(1)

# A client loads the certificates of all authorities unless it is given a context; nobody uses TLS.
_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

ERROR_INFO: Final = "type.googleapis.com/google.rpc.ErrorInfo"
BAD_REQUEST: Final = "type.googleapis.com/google.rpc.BadRequest"


class Spelling(NamedTuple):
    """How an error is written: JSON-RPC code, HTTP status, its name in google.rpc, reason."""

    code: int
    status: int
    name: str
    reason: str


# Section 6 of the reference, columns of v1.0.1.
ERRORS: Final = {
    "TaskNotFoundError": Spelling(-32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"),
    "TaskNotCancelableError": Spelling(-32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"),
    "PushNotificationNotSupportedError": Spelling(
        -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"
    ),
    "UnsupportedOperationError": Spelling(
        -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"
    ),
    "ContentTypeNotSupportedError": Spelling(
        -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"
    ),
    "InvalidAgentResponseError": Spelling(-32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"),
    "ExtendedAgentCardNotConfiguredError": Spelling(
        -32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
    ),
    "ExtensionSupportRequiredError": Spelling(
        -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"
    ),
    "VersionNotSupportedError": Spelling(
        -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"
    ),
    "JSONParseError": Spelling(-32700, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    "InvalidRequestError": Spelling(-32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"),
    "MethodNotFoundError": Spelling(-32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"),
    "InvalidParamsError": Spelling(-32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"),
    "InternalError": Spelling(-32603, 500, "INTERNAL", "INTERNAL_ERROR"),
    "UnavailableError": Spelling(-32603, 503, "UNAVAILABLE", "UNAVAILABLE"),
    # What the reference leaves open: Q-14 and DESIGN section 6.
    "UnauthenticatedError": Spelling(-31401, 401, "UNAUTHENTICATED", "UNAUTHENTICATED"),
    "PermissionDeniedError": Spelling(-31403, 403, "PERMISSION_DENIED", "PERMISSION_DENIED"),
    "RateLimitedError": Spelling(-31429, 429, "RESOURCE_EXHAUSTED", "RATE_LIMITED"),
    "PayloadTooLargeError": Spelling(-32600, 413, "OUT_OF_RANGE", "PAYLOAD_TOO_LARGE"),
    "UnsupportedMediaTypeError": Spelling(
        -32600, 415, "INVALID_ARGUMENT", "UNSUPPORTED_MEDIA_TYPE"
    ),
}

# Section 4.1 of the reference.
ROUTES: Final = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": ("POST", "/tasks/{id}:subscribe"),
    "CreateTaskPushNotificationConfig": ("POST", "/tasks/{taskId}/pushNotificationConfigs"),
    "GetTaskPushNotificationConfig": ("GET", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "ListTaskPushNotificationConfigs": ("GET", "/tasks/{taskId}/pushNotificationConfigs"),
    "DeleteTaskPushNotificationConfig": ("DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
}

OPERATIONS: Final = tuple(ROUTES)


class Problem(NamedTuple):
    """An error as a peer reads it."""

    http: int
    """The status of the HTTP response."""
    code: int
    """JSON-RPC: error.code. HTTP+JSON: error.code, which is the status again."""
    message: str
    details: list[Json]
    headers: Mapping[str, str]
    body: Json

    def detail(self, kind: str) -> Json:
        """Return the one detail of this type; without it the test fails."""
        (found,) = (item for item in self.details if item["@type"] == kind)
        return found

    @property
    def info(self) -> Json:
        """The ErrorInfo."""
        return self.detail(ERROR_INFO)

    @property
    def reason(self) -> str:
        """The reason of the ErrorInfo."""
        return self.info["reason"]

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the ErrorInfo."""
        return self.info.get("metadata", {})

    @property
    def violations(self) -> list[tuple[str, str]]:
        """What the BadRequest says: field and description."""
        found: list[Json] = self.detail(BAD_REQUEST)["fieldViolations"]
        return [(item["field"], item["description"]) for item in found]


class RefusedError(Exception):
    """The server answered with an error."""

    def __init__(self, binding: Binding, problem: Problem) -> None:
        super().__init__(f"{binding.name}: {problem.body}")
        self.binding = binding
        self.problem = problem


async def expect(error: str, call: Awaitable[object]) -> Problem:
    """Await a call that must be refused with this error, spelled as section 6 says."""
    with pytest.raises(RefusedError) as caught:
        await call
    problem, spelling = caught.value.problem, ERRORS[error]
    assert problem.reason == spelling.reason, problem.body
    assert problem.code == caught.value.binding.code_of(spelling), problem.body
    return problem


Stream = AbstractAsyncContextManager[AsyncIterator[Frame]]


async def drain(stream: Stream) -> list[Frame]:
    """Read a stream to its end."""
    async with stream as events:
        return [frame async for frame in events]


async def _events(response: httpx2.Response) -> AsyncGenerator[Frame]:
    """Cut a stream into events: blocks of lines, one line of data each."""
    pending = b""
    async for chunk in response.aiter_bytes():
        *blocks, pending = (pending + chunk).split(b"\n\n")
        for block in blocks:
            lines = [line.partition(b": ") for line in block.split(b"\n")]
            fields = {name: value for name, _, value in lines}
            if b"data" in fields:
                event_id, event = fields.get(b"id", b""), fields.get(b"event", b"")
                yield Frame(event_id.decode(), event.decode(), json.loads(fields[b"data"]))


class Binding(ABC):
    """All operations of A2A over one binding.

    The methods have the names of the operations and take the members of their requests. They return
    the result, or raise RefusedError.
    """

    name: ClassVar[str]

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.http = httpx2.AsyncClient(
            base_url=url,
            headers={"A2A-Version": "1.0"} if headers is None else headers,
            timeout=15,
            trust_env=False,
            verify=_NO_TLS,
        )

    async def __aenter__(self) -> Self:
        await self.http.__aenter__()
        return self

    async def __aexit__(self, *reason: object) -> None:
        await self.http.aclose()

    @abstractmethod
    def code_of(self, spelling: Spelling) -> int:
        """Return the number by which this binding tells an error."""

    @abstractmethod
    def request(self, operation: str, params: Json, headers: Mapping[str, str]) -> httpx2.Request:
        """Write a request."""

    @abstractmethod
    def result(self, response: httpx2.Response) -> Json:
        """Read an answer that was read to its end; raises RefusedError."""

    async def call(
        self, operation: str, params: Json | None = None, *, headers: Mapping[str, str] = {}
    ) -> Json:
        """Perform a unary operation."""
        return self.result(await self.respond(operation, params, headers=headers))

    async def respond(
        self, operation: str, params: Json | None = None, *, headers: Mapping[str, str] = {}
    ) -> httpx2.Response:
        """Perform a unary operation and return all of the HTTP response."""
        return await self.http.send(self.request(operation, params or {}, headers))

    @asynccontextmanager
    async def open(
        self, operation: str, params: Json, *, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[AsyncIterator[Frame]]:
        """Perform a streaming operation; an error in place of the stream raises RefusedError."""
        response = await self.http.send(self.request(operation, params, headers), stream=True)
        try:
            if response.headers["content-type"] != "text/event-stream":
                await response.aread()
                self.result(response)
                raise AssertionError(f"neither a stream nor an error: {response.text}")
            async with aclosing(_events(response)) as events:
                yield events
        finally:
            await response.aclose()

    # --- the operations -------------------------------------------------------------------------

    async def send_message(
        self, message: Json, *, headers: Mapping[str, str] = {}, **params: object
    ) -> Json:
        return await self.call("SendMessage", {"message": message, **params}, headers=headers)

    def send_streaming_message(
        self, message: Json, *, headers: Mapping[str, str] = {}, **params: object
    ) -> Stream:
        params["message"] = message
        return self.open("SendStreamingMessage", params, headers=headers)

    async def get_task(self, task_id: str, **params: object) -> Json:
        return await self.call("GetTask", {"id": task_id, **params})

    async def list_tasks(self, **params: object) -> Json:
        return await self.call("ListTasks", params)

    async def cancel_task(self, task_id: str, **params: object) -> Json:
        return await self.call("CancelTask", {"id": task_id, **params})

    def subscribe_to_task(
        self, task_id: str, *, headers: Mapping[str, str] = {}, **params: object
    ) -> Stream:
        return self.open("SubscribeToTask", {"id": task_id, **params}, headers=headers)

    # --- what tests do all the time -------------------------------------------------------------

    async def task(self, message: Json, **params: Any) -> Json:
        """Send a message that is answered with a task, and return that."""
        answer = await self.send_message(message, **params)
        assert list(answer) == ["task"], answer
        return answer["task"]

    async def start(self, message: Json, **params: Any) -> Json:
        """Send a message without waiting for the work, and return the task."""
        return await self.task(message, configuration={"returnImmediately": True}, **params)


class JsonRpc(Binding):
    """JSON-RPC 2.0 at the root."""

    name = "JSONRPC"

    def code_of(self, spelling: Spelling) -> int:
        return spelling.code

    def request(self, operation: str, params: Json, headers: Mapping[str, str]) -> httpx2.Request:
        envelope = {"jsonrpc": "2.0", "id": next(_ids), "method": operation, "params": params}
        return self.http.build_request("POST", "/", json=envelope, headers=headers)

    def result(self, response: httpx2.Response) -> Json:
        body: Json = response.json()
        if "error" not in body:
            return body["result"]
        error = body["error"]
        raise RefusedError(
            self,
            Problem(
                http=response.status_code,
                code=error["code"],
                message=error["message"],
                details=error["data"],
                headers=response.headers,
                body=body,
            ),
        )


class HttpJson(Binding):
    """HTTP+JSON: the tenant in the path, ids in the path, the rest in the query or the body."""

    name = "HTTP+JSON"

    def code_of(self, spelling: Spelling) -> int:
        return spelling.status

    def request(self, operation: str, params: Json, headers: Mapping[str, str]) -> httpx2.Request:
        verb, path = ROUTES[operation]
        rest = dict(params)
        for variable in ("id", "taskId"):
            if f"{{{variable}}}" in path:
                value = quote(rest.pop(variable), safe="")
                path = path.replace(f"{{{variable}}}", value)
        if tenant := rest.pop("tenant", None):
            path = f"/{quote(tenant, safe='')}{path}"
        if verb == "POST":
            # SubscribeToTask has no body; an empty one is as good as none.
            return self.http.build_request(verb, path, json=rest, headers=headers)
        query = {name: _text_of(value) for name, value in rest.items()}
        return self.http.build_request(verb, path, params=query, headers=headers)

    def result(self, response: httpx2.Response) -> Json:
        body: Json = response.json()
        if response.status_code == 200:
            return body
        error = body["error"]
        raise RefusedError(
            self,
            Problem(
                http=response.status_code,
                code=error["code"],
                message=error["message"],
                details=error["details"],
                headers=response.headers,
                body=body,
            ),
        )


def _text_of(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


class Grpc(Binding):
    """gRPC on the same port. JSON goes in and comes out; ``http`` is there for the card."""

    name = "GRPC"
    service: ClassVar[str] = V1_0_SERVICE

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(url, headers)
        self.rpcs = Rpcs(url, self.service)
        self._headers = {"A2A-Version": "1.0"} if headers is None else headers

    async def __aexit__(self, *reason: object) -> None:
        await self.rpcs.__aexit__(*reason)
        await super().__aexit__(*reason)

    def code_of(self, spelling: Spelling) -> int:
        return code_of(spelling.name)

    def request(self, operation: str, params: Json, headers: Mapping[str, str]) -> httpx2.Request:
        raise NotImplementedError("messages do not travel in requests that a test could write")

    async def respond(
        self, operation: str, params: Json | None = None, *, headers: Mapping[str, str] = {}
    ) -> httpx2.Response:
        """Return what HTTP would: metadata as headers; answer, error or frames as JSON."""
        call = (operation, params or {}, self._metadata(headers))
        try:
            if operation in ("SendStreamingMessage", "SubscribeToTask"):
                async with self.rpcs.stream(*call) as stream:
                    kind = {"content-type": "text/event-stream"}
                    frames = [json.dumps(value) async for value in stream]
                return httpx2.Response(200, headers=stream.headers | kind, text="\n".join(frames))
            answer, told = await self.rpcs.unary(*call)
            return httpx2.Response(200, headers=told, json=answer)
        except StatusError as error:
            return httpx2.Response(200, json={"error": error.status})

    def result(self, response: httpx2.Response) -> Json:
        body: Json = response.json()
        if "error" not in body:
            return body
        raise self._refusal(body["error"])

    @asynccontextmanager
    async def open(
        self, operation: str, params: Json, *, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[AsyncIterator[Frame]]:
        try:
            async with self.rpcs.stream(operation, params, self._metadata(headers)) as stream:
                yield self._frames(stream, stream.headers.get("last-event-id"))
        except StatusError as error:
            raise self._refusal(error.status) from None

    async def _frames(self, values: AsyncIterable[Json], first: str | None) -> AsyncIterator[Frame]:
        """Give frames their numbers, of which gRPC tells the first."""
        numbers = count(int(first)) if first else repeat("")
        async for value in values:
            yield Frame(str(next(numbers)), "", value)

    def _metadata(self, headers: Mapping[str, str]) -> list[tuple[str, str]]:
        stated = {**self._headers, **headers}
        return [(name.lower(), value) for name, value in stated.items()]

    def _refusal(self, status: Json) -> RefusedError:
        problem = Problem(
            http=0,  # Which is always 200, and no client sees it.
            code=status["code"],
            message=status["message"],
            details=status["details"],
            headers={},
            body=status,
        )
        return RefusedError(self, problem)


BINDINGS: Final = (JsonRpc, HttpJson)
