"""Raw clients of every version of A2A, behind one face.

A test says what is done once and looks at it in the version of whoever asks. Nothing here shares
code or tables with the server: methods, routes and codes are those of the 0.x reference (sections 2
to 5), written down a second time.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from itertools import count
from typing import ClassVar, Final, cast
from urllib.parse import quote

import httpx2
import pytest

from tests.scenarios.bindings import Binding, JsonRpc, Problem, RefusedError, Spelling
from tests.scenarios.old_forms import (
    GRAMMAR_0_1,
    GRAMMAR_0_3,
    GRAMMAR_1_0,
    GRAMMAR_PROTO,
    Grammar,
    Piece,
    Saying,
    Seen,
    Step,
)
from tests.support.wire import Frame, Json

__all__ = (
    "ERRORS_0_1",
    "ERRORS_0_3",
    "SPEAKERS",
    "V0_1",
    "V0_2",
    "V0_3",
    "V1_0",
    "Speaker",
    "V0_3Http",
    "V0_3Schema",
    "data_of",
    "refused",
)

_ids = count(1)


# --- errors -------------------------------------------------------------------------------------

# Section 3.6: the constant messages, and the names that SDKs know them by.
ERRORS_0_3: Final = {
    -32700: ("JSONParseError", 400, "Invalid JSON payload"),
    -32600: ("InvalidRequestError", 400, "Request payload validation error"),
    -32601: ("MethodNotFoundError", 404, "Method not found"),
    -32602: ("InvalidParamsError", 422, "Invalid parameters"),
    -32603: ("InternalError", 500, "Internal error"),
    -32001: ("TaskNotFoundError", 404, "Task not found"),
    -32002: ("TaskNotCancelableError", 409, "Task cannot be canceled"),
    -32003: ("PushNotificationNotSupportedError", 501, "Push Notification is not supported"),
    -32004: ("UnsupportedOperationError", 501, "This operation is not supported"),
    -32005: ("ContentTypeNotSupportedError", 415, "Incompatible content types"),
    -32006: ("InvalidAgentResponseError", 502, "Invalid agent response"),
    -32007: (
        "AuthenticatedExtendedCardNotConfiguredError",
        404,
        "Authenticated Extended Card is not configured",
    ),
    # Section 5.13: free for servers to use; the text has no words for these two.
    -32008: ("ExtensionSupportRequiredError", 400, "Extension support required"),
    -32009: ("VersionNotSupportedError", 400, "Protocol version not supported"),
    # The same section: what is said at the door.
    -31401: ("UnauthenticatedError", 401, "Authentication required"),
    -31403: ("PermissionDeniedError", 403, "Permission denied"),
}
"""Name, status on HTTP+JSON (section 4.5) and message, by code."""

# Section 2.6: the last codes mean other things than later.
ERRORS_0_1: Final = {code: text for code, (_, _, text) in ERRORS_0_3.items()} | {
    -32006: "Streaming is not supported",
    -32007: "Authentication required",
    -32008: "Authorization failed",
    -32009: "Invalid task state for operation",
    -32011: "A required resource is unavailable",
}
"""Message by code."""


def data_of(problem: Problem) -> Json:
    """Return the ``data`` of an error of an old version, {} if it has none."""
    # HTTP+JSON has it in the body; the "error" there is a name.
    error = problem.body["error"]
    holder = cast("Json", error) if isinstance(error, dict) else problem.body
    return holder.get("data", {})


async def refused(code: int, call: Awaitable[object]) -> Problem:
    """Await a call that must be refused with this code, in the form of its version."""
    with pytest.raises(RefusedError) as caught:
        await call
    assert caught.value.problem.code == code, caught.value.problem.body
    return caught.value.problem


# --- the clients --------------------------------------------------------------------------------


class Speaker(Binding):
    """A client of one version. The short verbs take and return the same for all versions."""

    version: ClassVar[str]
    grammar: ClassVar[Grammar]

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        # Clients of the old versions do not state one.
        super().__init__(url, headers or {})

    def code_of(self, spelling: Spelling) -> int:
        raise NotImplementedError("the old versions have tables of their own")

    @abstractmethod
    def write_send(self, saying: Saying) -> Json:
        """Return the params of a send."""

    def words(self, text: str, skill: str = "echo", **members: object) -> Json:
        """Return the params of a send, with other members in its message; "" leaves one out."""
        params = self.write_send(Saying(skill, (text,)))
        params.pop("configuration", None)
        message = {**params["message"], **members}
        return {**params, "message": {name: v for name, v in message.items() if v != ""}}

    def read_answer(self, value: Json) -> Seen:
        """Read the task that answers a send."""
        kind, task = self.grammar.unwrap(value)
        assert kind == "task", value
        return self.grammar.read_task(task)

    async def send(self, skill: str, *pieces: Piece, task_id: str = "", context: str = "") -> Seen:
        """Send a message and wait."""
        params = self.write_send(Saying(skill, pieces, task_id, context))
        return self.read_answer(await self.call("SendMessage", params))

    async def begin(self, skill: str, *pieces: Piece, context: str = "") -> Seen:
        """Send a message and do not wait."""
        params = self.write_send(Saying(skill, pieces, context=context, is_waiting=False))
        return self.read_answer(await self.call("SendMessage", params))

    @asynccontextmanager
    async def stream(
        self, skill: str, *pieces: Piece, task_id: str = "", context: str = ""
    ) -> AsyncGenerator[AsyncIterator[Step]]:
        """Send a message and follow."""
        params = self.write_send(Saying(skill, pieces, task_id, context))
        async with self.open("SendStreamingMessage", params) as events:
            yield self._steps(events)

    @asynccontextmanager
    async def follow(self, task_id: str) -> AsyncGenerator[AsyncIterator[Step]]:
        """Follow a task."""
        async with self.open("SubscribeToTask", {"id": task_id}) as events:
            yield self._steps(events)

    async def get(self, task_id: str, **params: object) -> Seen:
        """Get a task."""
        return self.grammar.read_task(await self.get_task(task_id, **params))

    async def cancel(self, task_id: str) -> Seen:
        """Cancel a task."""
        return self.grammar.read_task(await self.cancel_task(task_id))

    async def list(self, context: str) -> list[Seen]:
        """List the tasks of a context."""
        page = await self.list_tasks(contextId=context, includeArtifacts=True)
        return [self.grammar.read_task(task) for task in page.get("tasks", [])]

    async def _steps(self, events: AsyncIterator[Frame]) -> AsyncIterator[Step]:
        async for event in events:
            assert not event.event, "old readers look at lines of data only (section 5.9)"
            yield self.grammar.read_step(event.result)


class OldRpc(Speaker):
    """JSON-RPC at the root. An operation goes by its name of 1.0 or by that of the version."""

    name = "JSONRPC"
    methods: ClassVar[Mapping[str, str]]
    messages: ClassVar[Mapping[int, str]]

    def request(self, operation: str, params: Json, headers: Mapping[str, str]) -> httpx2.Request:
        method = self.methods.get(operation, operation)
        envelope = {"jsonrpc": "2.0", "id": f"r-{next(_ids)}", "method": method, "params": params}
        return self.http.build_request("POST", "/", json=envelope, headers=headers)

    def result(self, response: httpx2.Response) -> Json:
        assert response.headers["content-type"] == "application/json"
        body: Json = response.json()
        assert set(body) in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}), body
        if "result" in body:
            return body["result"]
        error = body["error"]
        assert set(error) <= {"code", "message", "data"}, error
        assert error["message"] == self.messages[error["code"]], error
        assert isinstance(error.get("data", {}), dict), error
        code, text = error["code"], error["message"]
        raise RefusedError(
            self, Problem(response.status_code, code, text, [], response.headers, body)
        )


class V0_1(OldRpc):  # noqa: N801 - the name of the version
    """0.1: the client makes up the ids."""

    version = "0.1"
    grammar = GRAMMAR_0_1
    messages = ERRORS_0_1
    methods: ClassVar = {
        "SendMessage": "tasks/send",
        "SendStreamingMessage": "tasks/sendSubscribe",
        "GetTask": "tasks/get",
        "CancelTask": "tasks/cancel",
        "SubscribeToTask": "tasks/resubscribe",
        "CreateTaskPushNotificationConfig": "tasks/pushNotification/set",
        "GetTaskPushNotificationConfig": "tasks/pushNotification/get",
    }

    def write_send(self, saying: Saying) -> Json:
        ids = {"id": saying.task_id or f"mine-{next(_ids)}", "sessionId": saying.context}
        message = self.grammar.write_message(saying)
        return {"message": message} | {name: value for name, value in ids.items() if value}

    def read_answer(self, value: Json) -> Seen:
        return self.grammar.read_task(value)

    async def begin(self, skill: str, *pieces: Piece, context: str = "") -> Seen:
        params = self.write_send(Saying(skill, pieces, context=context))
        async with self.open("SendStreamingMessage", params) as events:
            await anext(events)
        return await self.get(params["id"])


class V0_3(OldRpc):  # noqa: N801 - the name of the version
    """0.3 over JSON-RPC, which is 0.2 as well."""

    version = "0.3"
    grammar = GRAMMAR_0_3
    messages: ClassVar = {code: text for code, (_, _, text) in ERRORS_0_3.items()}
    methods: ClassVar = {
        "SendMessage": "message/send",
        "SendStreamingMessage": "message/stream",
        "GetTask": "tasks/get",
        "ListTasks": "tasks/list",
        "CancelTask": "tasks/cancel",
        "SubscribeToTask": "tasks/resubscribe",
        "CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set",
        "GetTaskPushNotificationConfig": "tasks/pushNotificationConfig/get",
        "ListTaskPushNotificationConfigs": "tasks/pushNotificationConfig/list",
        "DeleteTaskPushNotificationConfig": "tasks/pushNotificationConfig/delete",
        "GetExtendedAgentCard": "agent/getAuthenticatedExtendedCard",
    }

    def write_send(self, saying: Saying) -> Json:
        return _write_send(self.grammar, saying)


class V0_2(V0_3):  # noqa: N801 - the name of the version
    """0.2: as 0.3, under another number."""

    version = "0.2"


# Section 4.3.
ROUTES: Final = {
    "SendMessage": ("POST", "/v1/message:send"),
    "SendStreamingMessage": ("POST", "/v1/message:stream"),
    "GetTask": ("GET", "/v1/tasks/{id}"),
    "ListTasks": ("GET", "/v1/tasks"),
    "CancelTask": ("POST", "/v1/tasks/{id}:cancel"),
    "SubscribeToTask": ("POST", "/v1/tasks/{id}:subscribe"),
    "GetExtendedAgentCard": ("GET", "/v1/card"),
}


class V0_3Http(Speaker):  # noqa: N801 - the name of the version
    """0.3 over HTTP+JSON in ProtoJSON. An operation goes by its name of 1.0, or is a route."""

    name = "HTTP+JSON"
    version = "0.3"
    grammar: ClassVar[Grammar] = GRAMMAR_PROTO

    def request(self, operation: str, params: Json, headers: Mapping[str, str]) -> httpx2.Request:
        verb, path = ROUTES.get(operation) or operation.split(" ")
        rest = dict(params)
        if "{id}" in path:
            path = path.replace("{id}", quote(rest.pop("id"), safe=""))
        if verb == "POST":
            return self.http.build_request(verb, path, json=rest, headers=headers)
        return self.http.build_request(verb, path, params=rest, headers=headers)

    def result(self, response: httpx2.Response) -> Json:
        assert response.headers["content-type"] == "application/json"
        body: Json = response.json()
        if response.status_code == 200:
            return body
        kind, status, text = ERRORS_0_3[body["code"]]
        assert set(body) <= {"code", "message", "type", "error", "data"}, body
        assert (body["message"], body["type"]) == (text, kind), body
        assert body["error"] == f"io.a2a.spec.{kind}", body
        assert response.status_code in (status, 405), body
        raise RefusedError(
            self, Problem(response.status_code, body["code"], text, [], response.headers, body)
        )

    def write_send(self, saying: Saying) -> Json:
        return _write_send(self.grammar, saying)


class V0_3Schema(V0_3Http):  # noqa: N801 - the name of the version
    """0.3 over HTTP+JSON in the shape of the JSON schema: bare objects with ``kind``."""

    grammar = GRAMMAR_0_3

    async def list(self, context: str) -> list[Seen]:
        # Section 6.2: it names no task whose creator could tell the shape.
        page = await self.list_tasks(contextId=context, includeArtifacts="true")
        return [GRAMMAR_PROTO.read_task(task) for task in page.get("tasks", [])]


class V1_0(Speaker, JsonRpc):  # noqa: N801 - the name of the version
    """1.0 over JSON-RPC."""

    version = "1.0"
    grammar = GRAMMAR_1_0

    def write_send(self, saying: Saying) -> Json:
        params = _write_send(self.grammar, saying)
        return {**params, "configuration": {"returnImmediately": not saying.is_waiting}}


def _write_send(grammar: Grammar, saying: Saying) -> Json:
    message = grammar.write_message(
        saying,
        messageId=f"m-old-{next(_ids)}",
        taskId=saying.task_id,
        contextId=saying.context,
        kind="message" if grammar is GRAMMAR_0_3 else "",
    )
    return {"message": message, "configuration": {"blocking": saying.is_waiting}}


SPEAKERS: Final = (V0_1, V0_2, V0_3, V0_3Http, V0_3Schema, V1_0)
