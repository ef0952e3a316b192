import json
from collections.abc import AsyncGenerator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dragoman.bindings.grpc.v0_3 import V0_3_GRPC, V0_3_GRPC_RAW
from dragoman.bindings.grpc.v1_0 import V1_0_GRPC
from dragoman.bindings.rest import Router
from dragoman.dialects.registry import ROUTES, ROUTES_0_3
from dragoman.dialects.v0_3_proto.codec import V0_3_PROTO_DIALECT, V0_3_PROTO_RAW_DIALECT
from dragoman.errors import (
    A2AError,
    ExtensionSupportRequiredError,
    InternalError,
    InvalidParamsError,
    MethodNotFoundError,
    StoreError,
    StoreUnavailableError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
    VersionNotSupportedError,
)
from dragoman.model.cards import AgentCapabilities, AgentExtension
from dragoman.model.messages import Message, Role
from dragoman.model.operations import GetTaskRequest, Operation, Request, SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.tasks import Task
from dragoman.server.admission.content import RequestValidator
from dragoman.server.assembly import build_runtime
from dragoman.server.dispatch import Answer, Dispatcher
from dragoman.server.http.exchange import Exchange
from dragoman.server.settings import ContentLimits, Settings
from dragoman.server.tasks.runtime import Runtime
from dragoman.service.worker import Completed, Outcome, Turn
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import ScriptedWorker, agent_message

ROUTER = Router(ROUTES, has_tenants=True)
OLD_ROUTER = Router(ROUTES_0_3)
TRACE = "https://example.com/trace/v1"
SEND = b'{"message":{"messageId":"m-1","role":"ROLE_USER","parts":[{"text":"hello"}]}}'


def exchange(*, query: bytes = b"", **headers: str) -> Exchange:
    """Return a request; headers by name, with underscores for dashes."""
    raw = [
        (name.replace("_", "-").encode(), value.encode())
        for name, value in {"a2a_version": "1.0", **headers}.items()
    ]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "headers": raw,
        "query_string": query,
    }
    return Exchange(scope, receive_nothing, send_nothing)


async def receive_nothing() -> MutableMapping[str, Any]:
    raise AssertionError("the body is not the dispatcher's to read")


async def send_nothing(event: MutableMapping[str, Any]) -> None:
    raise AssertionError(f"the answer is not the dispatcher's to send: {event}")


def dispatcher_of(
    runtime: Runtime, *, is_strict: bool = False, required: bool = False
) -> Dispatcher:
    validator = RequestValidator(
        tenants=("acme",),
        capabilities=AgentCapabilities(
            streaming=True, extensions=(AgentExtension(uri=TRACE, required=required),)
        ),
        input_modes=("text/plain",),
        limits=ContentLimits(max_parts=10, max_id_length=100),
    )
    return Dispatcher(runtime, validator, origins=runtime, is_strict=is_strict)


@asynccontextmanager
async def dispatching(
    worker: ScriptedWorker | None = None, *, is_strict: bool = False, required: bool = False
) -> AsyncGenerator[Dispatcher]:
    worker = worker or ScriptedWorker()
    runtime = build_runtime(worker, Settings(), clock=FakeClock(), store=MemoryTaskStore())
    await runtime.start()
    try:
        yield dispatcher_of(runtime, is_strict=is_strict, required=required)
    finally:
        await runtime.stop()


async def numbers(answer: Answer) -> list[int]:
    assert answer.events is not None
    seen = [event.seq async for batch in answer.events for event in batch]
    await answer.events.aclose()
    return seen


# --- explaining what went wrong ---------------------------------------------------------------


@pytest.fixture
def dispatcher() -> Dispatcher:
    return dispatcher_of(build_runtime(ScriptedWorker(), Settings(), clock=FakeClock()))


def test_an_error_meant_for_the_peer_is_told_as_it_is(
    dispatcher: Dispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    error = TaskNotFoundError("t-1")
    assert dispatcher.explain(error) is error
    assert caplog.messages == []


def test_a_store_that_fails_is_unavailable_and_logged_in_one_line(
    dispatcher: Dispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    error = dispatcher.explain(StoreUnavailableError("/var/lib/agent.db: disk full"))
    assert isinstance(error, UnavailableError)
    assert error.message == "The store is not available; try again later"
    assert caplog.messages == [
        "the store is away: /var/lib/agent.db: disk full; requests that need it are refused"
    ]


def test_requests_that_are_refused_while_the_store_is_away_have_one_line(
    dispatcher: Dispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(200):
        dispatcher.explain(StoreUnavailableError("disk full"))
        dispatcher.explain(UnavailableError("The store is not available"))
    assert len(caplog.messages) == 1


def test_what_the_store_does_not_take_is_told_of_that_request(
    dispatcher: Dispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    error = dispatcher.explain(StoreError("PostgreSQL does not take this: too long"))
    assert isinstance(error, UnavailableError)
    assert caplog.messages == ["a request failed: PostgreSQL does not take this: too long"]


def test_of_what_is_our_fault_the_peer_gets_an_id_and_the_log_the_rest(
    dispatcher: Dispatcher, caplog: pytest.LogCaptureFixture
) -> None:
    error = dispatcher.explain(ValueError("password is hunter2"))
    assert isinstance(error, InternalError)
    assert error.message == "Internal error. Error id: id-1"
    assert error.metadata == {"errorId": "id-1"}
    (record,) = caplog.records
    assert record.getMessage() == "a request failed (error id id-1)"
    assert record.exc_info is not None


# --- methods and routes -----------------------------------------------------------------------


@pytest.mark.requirement("R-9.1-3")
async def test_a_method_is_performed() -> None:
    async with dispatching() as dispatcher:
        answer = await dispatcher.serve_method(exchange(), "SendMessage", SEND)
    assert json.loads(answer.body)["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert (answer.events, answer.headers) == (None, ())


@pytest.mark.parametrize("method", ["message/nothing", "sendMessage", "x" * 500])
async def test_a_method_there_is_not_is_told(method: str) -> None:
    async with dispatching() as dispatcher:
        with pytest.raises(MethodNotFoundError) as caught:
            await dispatcher.serve_method(exchange(), method, b"{}")
    assert len(caught.value.message) < 150


async def test_a_route_is_performed() -> None:
    async with dispatching() as dispatcher:
        match = ROUTER.match("POST", "/message:send")
        answer = await dispatcher.serve_route(exchange(), match, SEND)
    assert json.loads(answer.body)["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_route_is_given_the_query() -> None:
    async with dispatching() as dispatcher:
        match = ROUTER.match("GET", "/tasks")
        answer = await dispatcher.serve_route(exchange(query=b"pageSize=7"), match, b"")
    assert json.loads(answer.body)["pageSize"] == 7


async def test_a_streaming_method_answers_with_events() -> None:
    async with dispatching() as dispatcher:
        answer = await dispatcher.serve_method(exchange(), "SendStreamingMessage", SEND)
        assert (await numbers(answer))[-1] == 3


async def test_params_that_are_wrong_are_told() -> None:
    async with dispatching() as dispatcher:
        with pytest.raises(InvalidParamsError):
            await dispatcher.serve_method(exchange(), "GetTask", b"{}")


async def test_the_gate_is_asked() -> None:
    async with dispatching() as dispatcher:
        with pytest.raises(UnsupportedOperationError):
            await dispatcher.serve_method(exchange(), "GetExtendedAgentCard", b"{}")


async def test_a_tenant_sees_its_own_tasks() -> None:
    async with dispatching() as dispatcher:
        tenant = SEND[:-1] + b',"tenant":"acme"}'
        sent = await dispatcher.serve_method(exchange(), "SendMessage", tenant)
        task_id = json.loads(sent.body)["task"]["id"]
        with pytest.raises(TaskNotFoundError):
            await dispatcher.serve_method(exchange(), "GetTask", b'{"id":"%b"}' % task_id.encode())


# --- service parameters -----------------------------------------------------------------------


@pytest.mark.requirement("R-3.2.6-4")
@pytest.mark.parametrize(
    ("version", "is_strict", "refusal"),
    [
        ("1.0", True, None),
        ("1.0.7", True, None),
        ("9.9", False, VersionNotSupportedError),
        # R-3.6.2-3: nothing means 0.3 to the letter; otherwise the method tells what is meant.
        ("", True, VersionNotSupportedError),
        ("", False, None),
    ],
)
async def test_the_version_is_negotiated(
    version: str,
    is_strict: bool,  # noqa: FBT001 - a column of a table
    refusal: type[A2AError] | None,
) -> None:
    async with dispatching(is_strict=is_strict) as dispatcher:
        request = exchange(a2a_version=version)
        if refusal is None:
            await dispatcher.serve_method(request, "ListTasks", b"{}")
        else:
            with pytest.raises(refusal):
                await dispatcher.serve_method(request, "ListTasks", b"{}")


async def test_the_extensions_that_were_activated_are_told() -> None:
    async with dispatching() as dispatcher:
        request = exchange(a2a_extensions=f"{TRACE},https://example.com/other")
        for answer in (
            await dispatcher.serve_method(request, "ListTasks", b"{}"),
            await dispatcher.serve_route(request, ROUTER.match("GET", "/tasks"), b""),
        ):
            assert answer.headers == ((b"a2a-extensions", TRACE.encode()),)


@pytest.mark.requirement("R-3.3.4-6")
async def test_an_extension_that_is_required_is_asked_for_before_anything_is_read() -> None:
    async with dispatching(required=True) as dispatcher:
        with pytest.raises(ExtensionSupportRequiredError):
            await dispatcher.serve_method(exchange(), "SendMessage", b"not json")


@pytest.mark.parametrize(
    ("cursor", "seen"),
    [
        # A number of ours: the task as it was then, and what came after.
        ("1", [1, 2, 3]),
        ("3", [3]),
        # Anything else counts as none, and the task has ended.
        ("0", None),
        ("4", None),
        ("-1", None),
        ("1.0", None),
        ("²", None),
        ("x", None),
        ("1" * 19, None),
    ],
)
async def test_a_cursor_is_a_number_or_nothing(cursor: str, seen: list[int] | None) -> None:
    async with dispatching() as dispatcher:
        sent = await dispatcher.serve_method(exchange(), "SendMessage", SEND)
        params = b'{"id":"%b"}' % json.loads(sent.body)["task"]["id"].encode()
        request = exchange(last_event_id=cursor)
        if seen is None:
            with pytest.raises(UnsupportedOperationError):
                await dispatcher.serve_method(request, "SubscribeToTask", params)
        else:
            answer = await dispatcher.serve_method(request, "SubscribeToTask", params)
            assert await numbers(answer) == seen


# --- versions before 1.0: rows of the 0.x reference, 6.1 ----------------------------------------

OLD_SEND = (
    b'{"message":{"kind":"message","messageId":"m-1","role":"user",'
    b'"parts":[{"kind":"text","text":"hello"}]},"configuration":{"blocking":true}}'
)
SEND_0_1 = b'{"id":"mine","message":{"role":"user","parts":[{"type":"text","text":"hello"}]}}'


def old_exchange(accept: str = "*/*") -> Exchange:
    """Return a request that states no version."""
    return exchange(a2a_version="", accept=accept)


async def test_a_message_of_0_3_in_a_call_of_1_0_is_answered_in_1_0() -> None:  # D12
    async with dispatching() as dispatcher:
        match = ROUTER.match("POST", "/message:send")
        for answer in (
            await dispatcher.serve_method(exchange(), "SendMessage", OLD_SEND),
            await dispatcher.serve_route(exchange(), match, OLD_SEND),
        ):
            assert answer.dialect.name == "1.0"
            task = json.loads(answer.body)["task"]
            assert task["status"]["state"] == "TASK_STATE_COMPLETED"
        streamed = await dispatcher.serve_method(exchange(), "SendStreamingMessage", OLD_SEND)
        assert await numbers(streamed)


async def test_a_tenant_is_not_lost_with_a_message_of_0_3() -> None:  # D12
    async with dispatching() as dispatcher:
        tenant = OLD_SEND[:-1] + b',"tenant":"acme"}'
        sent = await dispatcher.serve_method(exchange(), "SendMessage", tenant)
        task_id = json.loads(sent.body)["task"]["id"]
        with pytest.raises(TaskNotFoundError):
            await dispatcher.serve_method(exchange(), "GetTask", b'{"id":"%b"}' % task_id.encode())


async def test_a_strict_server_refuses_a_message_of_0_3_in_a_call_of_1_0() -> None:  # D12
    async with dispatching(is_strict=True) as dispatcher:
        with pytest.raises(InvalidParamsError):
            await dispatcher.serve_method(exchange(), "SendMessage", OLD_SEND)
        match = ROUTER.match("POST", "/message:send")
        with pytest.raises(InvalidParamsError):
            await dispatcher.serve_route(exchange(), match, OLD_SEND)


async def test_a_strict_server_minds_null_only_where_the_version_does() -> None:  # D6, D19
    async with dispatching(is_strict=True) as dispatcher:
        await dispatcher.serve_method(old_exchange(), "tasks/send", SEND_0_1)
        params = b'{"id":"mine","historyLength":null}'
        answer = await dispatcher.serve_method(old_exchange(), "tasks/get", params)
        task = json.loads(answer.body)
        assert (task["id"], answer.dialect.name, "kind" in task) == ("mine", "0.1", False)
        sent = await dispatcher.serve_method(old_exchange(), "message/send", OLD_SEND)
        task_id = json.loads(sent.body)["id"].encode()
        params = b'{"id":"%b","historyLength":null}' % task_id
        with pytest.raises(InvalidParamsError):
            await dispatcher.serve_method(old_exchange(), "tasks/get", params)


async def test_getting_a_task_as_a_stream_is_a_habit_of_one_peer() -> None:  # D8, D16
    request = old_exchange(accept="text/event-stream")
    for is_strict in (False, True):
        async with dispatching(is_strict=is_strict) as dispatcher:
            sent = await dispatcher.serve_method(old_exchange(), "message/send", OLD_SEND)
            task_id = json.loads(sent.body)["id"].encode()
            both = b'{"id":"%b","taskId":"%b"}' % (task_id, task_id)
            answer = await dispatcher.serve_method(request, "tasks/get", both)
            if not is_strict:
                assert await numbers(answer)
                continue
            assert json.loads(answer.body)["kind"] == "task"
            with pytest.raises(InvalidParamsError):
                await dispatcher.serve_method(request, "tasks/get", b'{"taskId":"%b"}' % task_id)


# --- file content of 0.3: 0.x reference, 5.7 ----------------------------------------------------


async def asking(turn: Turn) -> Outcome:
    await turn.ask(agent_message("What else?"))
    return Completed()


def request_with(part: Part, task_id: str = "") -> SendMessageRequest:
    return SendMessageRequest(
        message=Message(
            message_id=f"m-{task_id}-{part.kind}", task_id=task_id, role=Role.USER, parts=(part,)
        )
    )


NOT_BASE64 = request_with(Part(raw=b"not base64", media_type="text/plain"))
SENDING, GETTING = Operation.SEND_MESSAGE, Operation.GET_TASK


async def test_who_began_a_task_with_raw_content_reads_it_so_over_http() -> None:
    async with dispatching(ScriptedWorker(asking)) as dispatcher:

        async def send(request: SendMessageRequest) -> Answer:
            body = V0_3_PROTO_RAW_DIALECT.encode_request(SENDING, request)
            match = OLD_ROUTER.match("POST", "/message:send")
            return await dispatcher.serve_old_route(old_exchange(), match, body)

        begun = await send(NOT_BASE64)
        task_id = json.loads(begun.body)["task"]["id"]
        match = OLD_ROUTER.match("GET", f"/tasks/{task_id}")
        got = await dispatcher.serve_old_route(old_exchange(), match, b"")
        # Which tells nothing of the habit itself.
        answered = await send(request_with(Part(text="that"), task_id))
        assert {begun.dialect, got.dialect, answered.dialect} == {V0_3_PROTO_RAW_DIALECT}
        assert (await send(request_with(Part(text="new")))).dialect is V0_3_PROTO_DIALECT


async def test_who_began_a_task_with_raw_content_reads_it_so_over_grpc() -> None:
    async with dispatching(ScriptedWorker(asking)) as dispatcher:

        async def call(operation: Operation, request: Request) -> Answer:
            params = V0_3_GRPC_RAW.encode_request(operation, request)
            return await dispatcher.serve_rpc(V0_3_GRPC, operation, params, exchange())

        begun = await call(SENDING, NOT_BASE64)
        task = V0_3_GRPC_RAW.decode_result(SENDING, begun.body)
        assert isinstance(task, Task)
        got = await call(GETTING, GetTaskRequest(id=task.id))
        answered = await call(SENDING, request_with(Part(text="that"), task.id))
        assert {begun.dialect, got.dialect, answered.dialect} == {V0_3_GRPC_RAW}
        assert (await call(SENDING, request_with(Part(text="new")))).dialect is V0_3_GRPC


async def test_a_task_begun_in_another_form_has_no_variant_over_grpc() -> None:
    async with dispatching() as dispatcher:
        sent = await dispatcher.serve_method(exchange(), "SendMessage", SEND)
        request = GetTaskRequest(id=json.loads(sent.body)["task"]["id"])
        for dialect in (V0_3_GRPC, V1_0_GRPC):
            params = dialect.encode_request(GETTING, request)
            got = await dispatcher.serve_rpc(dialect, GETTING, params, exchange())
            assert got.dialect is dialect
