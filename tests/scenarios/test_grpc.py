"""gRPC: the services, what stands in metadata, statuses, and how calls end.

What holds for every binding is in ``test_grpc_alike.py``.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from dragoman import AgentExtension
from dragoman.net.tls import read_tls
from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import BAD_REQUEST, ERROR_INFO, ERRORS, Grpc, drain
from tests.scenarios.grpc_binding import (
    V0_3_SERVICE,
    V1_0_SERVICE,
    Rpcs,
    StatusError,
    code_of,
    described_methods,
    health_of,
    listed_services,
)
from tests.scenarios.test_errors import WAYS, refusal
from tests.support.server.certificates import write_files
from tests.support.server.runtimes import runtime_of
from tests.support.serving import Served, serving
from tests.support.wire import message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.wire import Json

TIMES: Final = "https://ext.example/timestamps/v1"
TRACE: Final = "https://ext.example/trace/v2"

# Section 1.2 of the reference: request and response of every rpc.
METHODS: Final = {
    "SendMessage": ("SendMessageRequest", "SendMessageResponse"),
    "SendStreamingMessage": ("SendMessageRequest", "stream StreamResponse"),
    "GetTask": ("GetTaskRequest", "Task"),
    "ListTasks": ("ListTasksRequest", "ListTasksResponse"),
    "CancelTask": ("CancelTaskRequest", "Task"),
    "SubscribeToTask": ("SubscribeToTaskRequest", "stream StreamResponse"),
    "CreateTaskPushNotificationConfig": (
        "TaskPushNotificationConfig",
        "TaskPushNotificationConfig",
    ),
    "GetTaskPushNotificationConfig": (
        "GetTaskPushNotificationConfigRequest",
        "TaskPushNotificationConfig",
    ),
    "ListTaskPushNotificationConfigs": (
        "ListTaskPushNotificationConfigsRequest",
        "ListTaskPushNotificationConfigsResponse",
    ),
    "DeleteTaskPushNotificationConfig": ("DeleteTaskPushNotificationConfigRequest", "Empty"),
    "GetExtendedAgentCard": ("GetExtendedAgentCardRequest", "AgentCard"),
}


@pytest.fixture
async def rpcs(served: Served) -> AsyncIterator[Rpcs]:
    """A client of the service of 1.0."""
    async with Rpcs(served.url) as client:
        yield client


@pytest.fixture
async def wire(served: Served) -> AsyncIterator[Grpc]:
    """The same behind the face of all bindings."""
    async with Grpc(served.url) as binding:
        yield binding


@pytest.fixture(scope="module")
async def strict_agent() -> AsyncIterator[Served]:
    async with serving(make_agent(), strict_versions=True) as agent:
        yield agent


@pytest.fixture(scope="module")
async def extended_agent() -> AsyncIterator[Served]:
    """An agent with two extensions, and with a tenant."""
    extensions = [AgentExtension(uri=TIMES), AgentExtension(uri=TRACE)]
    async with serving(make_agent(extensions=extensions, tenants=["acme"])) as agent:
        yield agent


# --- the services -------------------------------------------------------------------------------


async def test_the_services_of_1_0_and_0_3_stand_side_by_side(rpcs: Rpcs) -> None:
    standard = ["grpc.health.v1.Health"]
    standard += [f"grpc.reflection.{version}.ServerReflection" for version in ("v1", "v1alpha")]
    for version in ("v1", "v1alpha"):
        services = await listed_services(rpcs.channel, version=version)
        assert services == [V1_0_SERVICE, V0_3_SERVICE, *standard]
    for service in ("", *services):
        assert await health_of(rpcs.channel, service) == 1
    with pytest.raises(StatusError, match="NOT_FOUND"):
        await health_of(rpcs.channel, "lf.a2a.v1")


@pytest.mark.requirement("R-10.1-2", "R-10.7-1")
async def test_the_service_of_1_0_is_that_of_the_text(rpcs: Rpcs) -> None:
    assert await described_methods(rpcs.channel, V1_0_SERVICE) == METHODS


@pytest.mark.requirement("R-10.1-3")
async def test_a_message_written_by_hand_is_understood(rpcs: Rpcs) -> None:
    # proto3: a tag is the number of a field times 8, and 2 for what has a length.
    part = b"\x0a\x05hello"
    sent = b"\x0a\x03m-0" + b"\x20\x01" + b"\x2a%c%b" % (len(part), part)
    call = rpcs.channel.unary_unary(f"/{V1_0_SERVICE}/SendMessage")
    answer: bytes = await call(b"\x12%c%b" % (len(sent), sent))
    assert answer[:1] == b"\x0a"  # 1: task
    assert b"\x08\x03" in answer  # TaskStatus, 1: state, completed
    assert b"\x22\x07" + part in answer  # Artifact, 4: parts


async def test_fields_nobody_knows_are_passed_over(rpcs: Rpcs) -> None:
    request, answer = await rpcs.messages("ListTasks")
    unknown = b"\xa2\x06\x03new" + b"\xa8\x06\x01"  # 100 and 101
    call = rpcs.channel.unary_unary(f"/{V1_0_SERVICE}/ListTasks", None, answer.FromString)
    assert (await call(request(page_size=7).SerializeToString() + unknown)).page_size == 7


@pytest.mark.requirement("R-4.4.6-2")
async def test_the_card_names_host_and_port_of_both_services() -> None:
    async with serving(make_agent(), advertise=("grpc",)) as served, Grpc(served.url) as wire:
        card = (await wire.http.get("/.well-known/agent-card.json")).json()
    found = [item for item in card["supportedInterfaces"] if item["protocolBinding"] == "GRPC"]
    assert [(item["protocolVersion"], item["url"]) for item in found] == [
        ("1.0", served.url.removeprefix("http://")),
        ("0.3", served.url.removeprefix("http://")),
    ]


@pytest.fixture
def authority(tmp_path: Path) -> bytes:
    """Put certificates into the test's folder and return the one that signed them."""
    return Path(write_files(tmp_path).ca).read_bytes()


@pytest.mark.requirement("R-10.1-1")
async def test_a_port_of_its_own_speaks_grpc_under_tls(tmp_path: Path, authority: bytes) -> None:
    # The shared port under TLS is shown where it is made.
    tls = read_tls(f"{tmp_path}/server.pem", f"{tmp_path}/server_key.pem")
    async with serving(make_agent()) as served:
        port = await served.app.grpc.listen("127.0.0.1", 0, tls)
        url = f"https://127.0.0.1:{port}"
        async with Rpcs(url, authority=authority) as client:
            answer, _ = await client.unary("SendMessage", {"message": message("hi")})
            assert answer["task"]["artifacts"][0]["parts"] == [{"text": "hi"}]
        async with Rpcs(url) as plain:
            with pytest.raises(StatusError, match="UNAVAILABLE"):
                await plain.unary("ListTasks", {})


# --- metadata -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-10.2-1", "R-10.2-2", "R-10.2-4", "R-10.2-5")
@pytest.mark.parametrize(
    ("service", "version", "is_served"),
    [
        (V1_0_SERVICE, "1.0", True),
        (V1_0_SERVICE, "1.0.3", True),
        (V1_0_SERVICE, "2.0", False),
        # R-3.6.2-3: none means 0.3.
        (V1_0_SERVICE, "", False),
        (V1_0_SERVICE, "0.3", False),
        (V0_3_SERVICE, "", True),
        (V0_3_SERVICE, "0.3", True),
        (V0_3_SERVICE, "0.2.5", True),
        # 0.x reference, 6.2
        (V0_3_SERVICE, "1.0", False),
    ],
)
async def test_the_version_is_read_from_metadata(
    strict_agent: Served, service: str, version: str, *, is_served: bool
) -> None:
    metadata = [("a2a-version", version)] if version else []
    async with Rpcs(strict_agent.url, service) as client:
        if is_served:
            await client.unary("ListTasks", {}, metadata)
            return
        with pytest.raises(StatusError) as caught:
            await client.unary("ListTasks", {}, metadata)
    assert caught.value.name == "FAILED_PRECONDITION"
    info = caught.value.status["details"][0]
    assert info["reason"] == "VERSION_NOT_SUPPORTED"
    assert info["metadata"]["requestedVersion"] == (version or "0.3")


@pytest.mark.parametrize("service", [V1_0_SERVICE, V0_3_SERVICE])
@pytest.mark.parametrize("version", ["1.0", "0.3", "0.2", "latest", ""])
async def test_leniently_the_service_tells_the_version(
    served: Served, service: str, version: str
) -> None:
    async with Rpcs(served.url, service) as client:
        await client.unary("ListTasks", {}, [("a2a-version", version)])
        with pytest.raises(StatusError, match="FAILED_PRECONDITION"):
            await client.unary("ListTasks", {}, [("a2a-version", "2.0")])


@pytest.mark.requirement("R-10.2-1", "R-10.2-4")
@pytest.mark.parametrize(
    ("service", "name"), [(V1_0_SERVICE, "a2a-extensions"), (V0_3_SERVICE, "x-a2a-extensions")]
)
async def test_activated_extensions_are_told_in_initial_metadata(
    extended_agent: Served, service: str, name: str
) -> None:
    async with Rpcs(extended_agent.url, service) as client:
        named = [(name, f"{TIMES},https://ext.example/unknown"), (name, TRACE)]
        _, headers = await client.unary("ListTasks", {}, named)
        assert headers == {name: f"{TIMES},{TRACE}"}
        assert (await client.unary("ListTasks", {})).headers == {}


async def test_a_stream_tells_its_extensions_and_the_number_of_its_first_frame(
    extended_agent: Served,
) -> None:
    async with Rpcs(extended_agent.url) as client:
        named = [("a2a-extensions", TIMES)]
        async with client.stream("SendStreamingMessage", {"message": message()}, named) as stream:
            assert stream.headers == {"a2a-extensions": TIMES, "last-event-id": "1"}
            (task, *_) = [frame async for frame in stream]
        # A cursor shows the task as it was then, and what has followed.
        params, cursor = {"id": task["task"]["id"]}, [("last-event-id", "3")]
        async with client.stream("SubscribeToTask", params, cursor) as stream:
            assert stream.headers == {"last-event-id": "3"}
            assert [next(iter(frame)) async for frame in stream] == ["task", "statusUpdate"]


@pytest.mark.parametrize("cursor", ["0", "-1", "99", "abc", "", "1.0", "9" * 30, "4,4"])
async def test_a_cursor_we_did_not_give_out_counts_as_none(
    wire: Grpc, gate: Gate, cursor: str
) -> None:
    started = await wire.start(to("hold", gate.name))
    await gate.reached()
    stream = wire.subscribe_to_task(started["id"], headers={"Last-Event-ID": cursor})
    async with stream as events:
        assert (await anext(events)).result == {"task": await wire.get_task(started["id"])}


async def test_a_direct_answer_has_no_number(rpcs: Rpcs) -> None:
    async with rpcs.stream("SendStreamingMessage", {"message": to("reply")}) as stream:
        assert stream.headers == {}
        assert [list(frame) async for frame in stream] == [["message"]]


async def test_the_tenant_is_a_field_of_the_request(extended_agent: Served) -> None:
    async with Grpc(extended_agent.url) as wire:
        task = await wire.task(message(), tenant="acme")
        assert (await wire.get_task(task["id"], tenant="acme")) == task
        with pytest.raises(Exception, match="TASK_NOT_FOUND"):
            await wire.get_task(task["id"])
        with pytest.raises(Exception, match="is not a tenant served here"):
            await wire.list_tasks(tenant="nobody")


# --- statuses -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-10.6-1", "R-10.6-2", "R-10.6-3", "R-10.6-4")
@pytest.mark.parametrize("error", WAYS)
async def test_an_error_is_a_status_with_an_error_info(wire: Grpc, error: str) -> None:
    # The client compares code and message of the trailer with those of the call itself.
    problem = await refusal(WAYS[error](wire))
    assert list(problem.body) == ["code", "message", "details"]
    assert problem.code == code_of(ERRORS[error].name)
    assert problem.message
    assert problem.details[0]["@type"] == ERROR_INFO
    assert problem.info["reason"] == ERRORS[error].reason
    assert problem.info["domain"] == "a2a-protocol.org"


@pytest.mark.requirement("R-10.6-1")
@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({}, "message"),
        # What is empty is not there.
        ({"message": message(messageId="")}, "message.messageId"),
        ({"message": message(parts=[])}, "message.parts"),
        ({"message": message(role="ROLE_UNSPECIFIED")}, "message.role"),
        # A number that has no name.
        ({"message": message(role=7)}, "message.role"),
        ({"message": message(parts=[{"text": "a"}, {"filename": "x"}])}, "message.parts[1]"),
        (
            {"message": message(), "configuration": {"historyLength": -1}},
            "configuration.historyLength",
        ),
    ],
)
async def test_what_is_wrong_is_named_with_its_path(wire: Grpc, params: Json, field: str) -> None:
    problem = await refusal(wire.call("SendMessage", params))
    assert (problem.code, problem.reason) == (code_of("INVALID_ARGUMENT"), "INVALID_PARAMS")
    ((named, description),) = problem.violations
    assert named == field
    assert problem.message == f"Invalid parameters: {field} {description}"
    assert [detail["@type"] for detail in problem.details] == [ERROR_INFO, BAD_REQUEST]


@pytest.mark.parametrize(
    ("rpc", "field", "value", "violation"),
    [
        # protobuf has numbers that JSON has not, and times that are none.
        (
            "SendMessage",
            "message",
            b"\x0a\x01m\x20\x01\x2a\x03\x0a\x01x\x32\x10\x0a\x0e\x0a\x01n\x12\x09\x11"
            b"\x00\x00\x00\x00\x00\x00\xf8\x7f",
            ("message.metadata", "holds a number that JSON does not have"),
        ),
        (
            "ListTasks",
            "status_timestamp_after",
            b"\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
            ("statusTimestampAfter", "is not a time between the years 1 and 9999"),
        ),
    ],
)
async def test_what_json_cannot_say_is_refused(
    rpcs: Rpcs, rpc: str, field: str, value: bytes, violation: tuple[str, str]
) -> None:
    request, _ = await rpcs.messages(rpc)
    made = request()
    getattr(made, field).ParseFromString(value)
    with pytest.raises(StatusError) as caught:
        await rpcs.raw(rpc, made.SerializeToString())
    assert caught.value.name == "INVALID_ARGUMENT"
    (found,) = caught.value.status["details"][1]["fieldViolations"]
    assert (found["field"], found["description"]) == violation


@pytest.mark.parametrize("service", [V1_0_SERVICE, V0_3_SERVICE])
@pytest.mark.parametrize("data", [b"\xff", b"\x0a\x7f", b"\x0a\x01\xff"])
async def test_bytes_that_are_no_message_are_refused(
    served: Served, service: str, data: bytes
) -> None:
    # Not a tag, cut short, not UTF-8 (the first field is a text, or a message).
    async with Rpcs(served.url, service) as client:
        with pytest.raises(StatusError) as caught:
            await client.raw("GetTask", data)
    assert caught.value.name == "INVALID_ARGUMENT"
    assert caught.value.status["details"][0]["reason"] == "INVALID_REQUEST"


async def test_a_busy_agent_says_when_to_come_back(gate: Gate) -> None:
    limits: dict[str, Any] = {
        "max_running_turns": 1,
        "max_waiting_turns": 0,
        "shutdown_grace_seconds": 0,
    }
    async with serving(make_agent(), **limits) as served, Grpc(served.url) as wire:
        await wire.start(to("hold", gate.name))
        await gate.reached()
        problem = await refusal(wire.send_message(message()))
    assert (problem.code, problem.reason) == (code_of("UNAVAILABLE"), "UNAVAILABLE")
    assert problem.detail("type.googleapis.com/google.rpc.RetryInfo")["retryDelay"] == "1s"


@pytest.mark.parametrize(
    "path",
    [
        f"/{V1_0_SERVICE}/Nothing",
        f"/{V1_0_SERVICE}/GetAgentCard",  # 0.3's
        f"/{V0_3_SERVICE}/SubscribeToTask",  # 1.0's
        "/a2a.v2.A2AService/SendMessage",
    ],
)
async def test_a_method_that_is_none_is_not_implemented(rpcs: Rpcs, path: str) -> None:
    service, _, rpc = path[1:].rpartition("/")
    rpcs.service = service
    with pytest.raises(StatusError, match="UNIMPLEMENTED"):
        await rpcs.raw(rpc, b"")


async def test_an_exception_is_not_leaked(wire: Grpc, caplog: pytest.LogCaptureFixture) -> None:
    for call in (
        wire.send_message(to("reply_and_fail")),
        drain(wire.send_streaming_message(to("reply_and_fail"))),
    ):
        problem = await refusal(call)
        assert problem.code == code_of("INTERNAL")
        assert problem.message == f"The agent failed. Error id: {problem.metadata['errorId']}"
        assert problem.metadata["errorId"] in caplog.text


# --- sizes --------------------------------------------------------------------------------------


async def test_large_messages_travel_whole_both_ways(rpcs: Rpcs) -> None:
    # gRPC's own limit is 4 MiB.
    text = "ä" * 3_000_000
    answer, _ = await rpcs.unary("SendMessage", {"message": message(text)})
    assert answer["task"]["artifacts"][0]["parts"] == [{"text": text}]
    async with rpcs.stream("SendStreamingMessage", {"message": message(text)}) as stream:
        frames = [frame async for frame in stream]
    assert frames[2]["artifactUpdate"]["artifact"]["parts"] == [{"text": text}]


async def test_a_message_beyond_the_limit_is_refused() -> None:
    async with serving(make_agent(), max_body_bytes=1000) as served, Rpcs(served.url) as client:
        with pytest.raises(StatusError, match="RESOURCE_EXHAUSTED"):
            await client.unary("SendMessage", {"message": message("x" * 1000)})
        assert (await client.unary("ListTasks", {})).value["totalSize"] == 0


# --- how calls end ------------------------------------------------------------------------------


async def test_a_deadline_ends_the_call_and_not_the_task(wire: Grpc, gate: Gate) -> None:
    await wire.list_tasks()  # The time is for the call, not for the connection.
    params = {"message": to("hold", gate.name, contextId=gate.name)}
    with pytest.raises(StatusError, match="DEADLINE_EXCEEDED"):
        await wire.rpcs.unary("SendMessage", params, patience_seconds=0.4)
    await gate.reached()
    gate.open()
    assert await ended(wire, gate.name) == "TASK_STATE_COMPLETED"


async def test_a_deadline_ends_the_stream_and_not_the_task(wire: Grpc, gate: Gate) -> None:
    await wire.list_tasks()
    seen: list[str] = []

    async def follow() -> None:
        params = {"message": to("hold", gate.name, contextId=gate.name)}
        call = wire.rpcs.stream("SendStreamingMessage", params, patience_seconds=0.4)
        async with call as stream:
            async for frame in stream:
                seen.extend(frame)

    with pytest.raises(StatusError, match="DEADLINE_EXCEEDED"):
        await follow()
    assert seen[0] == "task"
    await gate.reached()
    gate.open()
    assert await ended(wire, gate.name) == "TASK_STATE_COMPLETED"


async def test_a_client_that_cancels_in_the_middle_leaves_the_task_running(
    wire: Grpc, served: Served, gate: Gate
) -> None:
    before = runtime_of(served.app).open_streams
    async with wire.send_streaming_message(to("hold", gate.name, contextId=gate.name)) as events:
        assert (await anext(events)).kind == "task"
        await gate.reached()
    async with asyncio.timeout(5):
        while runtime_of(served.app).open_streams > before:  # noqa: ASYNC110 - nobody is told when one leaves
            await asyncio.sleep(0)
    (task,) = (await wire.list_tasks(contextId=gate.name))["tasks"]
    assert task["status"]["state"] == "TASK_STATE_WORKING"
    gate.open()
    assert await ended(wire, gate.name) == "TASK_STATE_COMPLETED"


async def ended(wire: Grpc, context: str) -> str:
    """Wait for the end of the one task of a context, and return its state."""
    (task,) = (await wire.list_tasks(contextId=context))["tasks"]
    async with wire.subscribe_to_task(task["id"], headers={"Last-Event-ID": "1"}) as events:
        *_, last = [event async for event in events]
    assert last.state
    return last.state


async def test_calls_at_once_share_a_connection(rpcs: Rpcs, gate: Gate) -> None:
    async with rpcs.stream("SendStreamingMessage", {"message": to("hold", gate.name)}) as stream:
        calls = (rpcs.unary("SendMessage", {"message": message(str(n))}) for n in range(50))
        answers = await asyncio.gather(*calls)
        gate.open()
        *_, last = [frame async for frame in stream]
    texts = [answer.value["task"]["artifacts"][0]["parts"][0]["text"] for answer in answers]
    assert texts == [str(number) for number in range(50)]
    assert last["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
