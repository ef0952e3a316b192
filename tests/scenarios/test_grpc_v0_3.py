"""A2A 0.3 over gRPC, and 0.2 with it: names, frames, files and errors of ``a2a.v1``."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from itertools import count
from typing import TYPE_CHECKING, Final

import pytest

from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import Grpc
from tests.scenarios.grpc_binding import V0_3_SERVICE, Rpcs, StatusError, described_methods
from tests.scenarios.old_forms import GRAMMAR_PROTO, Blob, Saying
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from tests.scenarios.agents import Gate
    from tests.scenarios.old_forms import Piece, Seen
    from tests.support.wire import Json

_ids = count(1)

# Section 4.4; ListTasks came later.
METHODS: Final = {
    "SendMessage": ("SendMessageRequest", "SendMessageResponse"),
    "SendStreamingMessage": ("SendMessageRequest", "stream StreamResponse"),
    "GetTask": ("GetTaskRequest", "Task"),
    "ListTasks": ("ListTasksRequest", "ListTasksResponse"),
    "CancelTask": ("CancelTaskRequest", "Task"),
    "TaskSubscription": ("TaskSubscriptionRequest", "stream StreamResponse"),
    "CreateTaskPushNotificationConfig": (
        "CreateTaskPushNotificationConfigRequest",
        "TaskPushNotificationConfig",
    ),
    "GetTaskPushNotificationConfig": (
        "GetTaskPushNotificationConfigRequest",
        "TaskPushNotificationConfig",
    ),
    "ListTaskPushNotificationConfig": (
        "ListTaskPushNotificationConfigRequest",
        "ListTaskPushNotificationConfigResponse",
    ),
    "GetAgentCard": ("GetAgentCardRequest", "AgentCard"),
    "DeleteTaskPushNotificationConfig": ("DeleteTaskPushNotificationConfigRequest", "Empty"),
}


@pytest.fixture
async def rpcs(served: Served) -> AsyncIterator[Rpcs]:
    """A client of the service of 0.3."""
    async with Rpcs(served.url, V0_3_SERVICE) as client:
        yield client


@pytest.fixture(scope="module")
async def promising() -> AsyncIterator[Served]:
    """An agent whose card promises a fuller one, and which does not stream."""
    async with serving(make_agent(extended_card=True, streaming=False)) as agent:
        yield agent


def saying(skill: str, *pieces: Piece, task_id: str = "", **configuration: object) -> Json:
    """Return the request of a send."""
    said = Saying(skill, pieces)
    message = GRAMMAR_PROTO.write_message(said, messageId=f"m-{next(_ids)}", taskId=task_id)
    return {"message": message} | ({"configuration": configuration} if configuration else {})


async def send(rpcs: Rpcs, skill: str, *pieces: Piece, task_id: str = "") -> Seen:
    """Send a message that is answered with a task, and return that."""
    answer, _ = await rpcs.unary("SendMessage", saying(skill, *pieces, task_id=task_id))
    kind, task = GRAMMAR_PROTO.unwrap(answer)
    assert kind == "task"
    return GRAMMAR_PROTO.read_task(task)


async def refusal(call: Awaitable[object]) -> tuple[str, str]:
    """Await a call that is refused; return the status and the name that SDKs know it by."""
    with pytest.raises(StatusError) as caught:
        await call
    name, separator, words = caught.value.message.partition(": ")
    assert (separator, bool(words)) == (": ", True)
    return caught.value.name, name


# --- the service --------------------------------------------------------------------------------


async def test_the_service_is_that_of_the_text(rpcs: Rpcs) -> None:
    assert await described_methods(rpcs.channel, V0_3_SERVICE) == METHODS


async def test_a_task_is_called_by_its_resource_name(rpcs: Rpcs) -> None:
    asked = await send(rpcs, "ask", "trip")
    name = f"tasks/{asked.id}"
    got, _ = await rpcs.unary("GetTask", {"name": name})
    assert GRAMMAR_PROTO.read_task(got) == asked
    canceled, _ = await rpcs.unary("CancelTask", {"name": name})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELLED"  # Double L, the same number.


@pytest.mark.parametrize("name", ["", "tasks/", "t-1", "task/t-1", "/tasks/t-1"])
async def test_what_is_no_resource_name_is_refused(rpcs: Rpcs, name: str) -> None:
    async def follow() -> None:
        async with rpcs.stream("TaskSubscription", {"name": name}):
            pass

    for call in (
        rpcs.unary("GetTask", {"name": name}),
        rpcs.unary("CancelTask", {"name": name}),
        follow(),
    ):
        assert await refusal(call) == ("INVALID_ARGUMENT", "InvalidParamsError")


async def test_a_question_is_answered(rpcs: Rpcs) -> None:
    asked = await send(rpcs, "ask", "trip")
    assert (asked.state, asked.said) == ("input-required", ["Which city?"])
    answered = await send(rpcs, "ask", "Rome", task_id=asked.id)
    assert (answered.id, answered.results) == (asked.id, [["trip: Rome"]])


async def test_a_send_may_be_answered_with_a_message(rpcs: Rpcs) -> None:
    answer, _ = await rpcs.unary("SendMessage", saying("reply", "hi"))
    kind, message = GRAMMAR_PROTO.unwrap(answer)
    assert (kind, GRAMMAR_PROTO.read_message(message)) == ("message", ["You said hi."])


# --- configuration (section 5.10) ---------------------------------------------------------------


async def test_a_send_with_a_configuration_waits_only_if_told_so(rpcs: Rpcs, gate: Gate) -> None:
    # blocking cannot be left open in a message: false and unset are the same bytes.
    params = saying("hold", gate.name, acceptedOutputModes=["text/plain"])
    answer, _ = await rpcs.unary("SendMessage", params)
    assert answer["task"]["status"]["state"] in ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    gate.open()


async def test_a_send_that_is_to_wait_waits(rpcs: Rpcs, gate: Gate) -> None:
    for params in (saying("hold", gate.name), saying("hold", gate.name, blocking=True)):
        async with asyncio.TaskGroup() as group:
            sending = group.create_task(rpcs.unary("SendMessage", params))
            await gate.reached()
            gate.open()
        assert sending.result().value["task"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize(("length", "told"), [(0, 3), (1, 1), (9, 3)])
async def test_a_length_of_zero_is_no_length(rpcs: Rpcs, length: int, told: int) -> None:
    asked = await send(rpcs, "ask", "trip")
    await send(rpcs, "ask", "Rome", task_id=asked.id)
    got, _ = await rpcs.unary("GetTask", {"name": f"tasks/{asked.id}", "historyLength": length})
    assert len(got["history"]) == told


# --- streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("skill", "state"),
    [("echo", "completed"), ("fail", "failed"), ("reject", "rejected"), ("ask", "input-required")],
)
async def test_a_stream_ends_with_a_status_that_says_so(rpcs: Rpcs, skill: str, state: str) -> None:
    async with rpcs.stream("SendStreamingMessage", saying(skill, "hello")) as stream:
        first, *between, last = [GRAMMAR_PROTO.read_step(frame) async for frame in stream]
    assert (first.kind, first.state) == ("task", "submitted")
    assert (last.kind, last.state, last.is_final) == ("status", state, True)
    assert not any(step.is_final for step in between)


async def test_a_task_is_followed_while_it_works(rpcs: Rpcs, gate: Gate) -> None:
    answer, _ = await rpcs.unary("SendMessage", saying("chunks", gate.name, historyLength=1))
    await gate.reached()
    params = {"name": f"tasks/{answer['task']['id']}"}
    async with rpcs.stream("TaskSubscription", params) as stream:
        assert GRAMMAR_PROTO.read_step(await anext(stream)).state == "working"
        gate.open(3)
        steps = [GRAMMAR_PROTO.read_step(frame) async for frame in stream]
    assert [step.pieces for step in steps][:3] == [["one "], ["two "], ["three"]]
    assert (steps[-1].state, steps[-1].is_final) == ("completed", True)


async def test_a_task_that_has_ended_is_shown_to_followers(rpcs: Rpcs) -> None:
    # Section 5.9; a cursor is nothing that 0.3 knows.
    sent = await send(rpcs, "echo", "hello")
    params = {"name": f"tasks/{sent.id}"}
    async with rpcs.stream("TaskSubscription", params, [("last-event-id", "1")]) as stream:
        task, last = [GRAMMAR_PROTO.read_step(frame) async for frame in stream]
    assert (task.raw, last.state, last.is_final) == (sent.raw, "completed", True)


# --- files (sections 4.4 and 5.7) ---------------------------------------------------------------

CONTENT: Final = b"\x00\x01\x02\xff"


async def test_file_content_is_base64_text(rpcs: Rpcs) -> None:
    # As the Python, Java and Go SDKs have it.
    blob = Blob(CONTENT, "dot.png", "image/png")
    sent = await send(rpcs, "mirror", blob)
    assert sent.results == [[blob]]
    task, _ = await rpcs.unary("GetTask", {"name": f"tasks/{sent.id}"})
    assert GRAMMAR_PROTO.read_task(task).results == [[blob]]


async def test_file_content_that_is_raw_comes_back_raw(rpcs: Rpcs, served: Served) -> None:
    # As the JavaScript SDK has it.
    file = {"fileWithBytes": b64encode(CONTENT).decode(), "mimeType": "image/png"}
    params = saying("mirror", "")
    params["message"]["content"] = [{"file": file}]
    sent = (await rpcs.unary("SendMessage", params)).value["task"]
    assert sent["artifacts"][0]["parts"] == [{"file": file}]
    got, _ = await rpcs.unary("GetTask", {"name": f"tasks/{sent['id']}"})
    assert got == sent
    async with Grpc(served.url) as new:
        task = await new.get_task(sent["id"])
    raw = {"raw": b64encode(CONTENT).decode(), "mediaType": "image/png"}
    assert task["artifacts"][0]["parts"] == [raw]


# --- errors -------------------------------------------------------------------------------------


async def test_an_error_is_known_by_the_name_before_its_text(rpcs: Rpcs) -> None:
    ended = await send(rpcs, "echo", "hello")
    name = {"name": f"tasks/{ended.id}"}
    nobody = {"name": "tasks/t-unknown"}
    missing = ("NOT_FOUND", "TaskNotFoundError")
    assert await refusal(rpcs.unary("GetTask", nobody)) == missing
    assert await refusal(rpcs.unary("CancelTask", nobody)) == missing
    assert await refusal(send(rpcs, "echo", "hello", task_id="t-unknown")) == missing
    assert await refusal(rpcs.unary("CancelTask", name)) == (
        "FAILED_PRECONDITION",
        "TaskNotCancelableError",
    )
    assert await refusal(send(rpcs, "echo", "hello", task_id=ended.id)) == (
        "UNIMPLEMENTED",
        "UnsupportedOperationError",
    )
    assert await refusal(send(rpcs, "echo", Blob(b"x", "", "audio/x"))) == (
        "UNIMPLEMENTED",
        "ContentTypeNotSupportedError",
    )
    assert await refusal(send(rpcs, "reply_badly", "hello")) == (
        "INTERNAL",
        "InvalidAgentResponseError",
    )
    assert await refusal(rpcs.unary("SendMessage", {})) == (
        "INVALID_ARGUMENT",
        "InvalidParamsError",
    )
    assert await refusal(rpcs.unary("GetAgentCard", {})) == (
        "UNIMPLEMENTED",
        "UnsupportedOperationError",
    )


async def test_an_error_has_the_details_of_1_0_as_well(rpcs: Rpcs) -> None:
    params = saying("echo", "hello")
    params["message"]["content"] = [{"text": "a"}, {}]
    with pytest.raises(StatusError) as caught:
        await rpcs.unary("SendMessage", params)
    info, request = caught.value.status["details"]
    assert (info["reason"], info["domain"]) == ("INVALID_PARAMS", "a2a-protocol.org")
    assert request["fieldViolations"][0]["field"] == "message.content[1]"


async def test_an_agent_without_streams_or_a_fuller_card_says_so(promising: Served) -> None:
    async def follow() -> None:
        async with client.stream("SendStreamingMessage", saying("echo", "hello")):
            pass

    async with Rpcs(promising.url, V0_3_SERVICE) as client:
        assert (await refusal(follow()))[1] == "UnsupportedOperationError"
        _, name = await refusal(client.unary("GetAgentCard", {}))
        assert name == "AuthenticatedExtendedCardNotConfiguredError"


# --- webhooks, and the short names of 0.2 -------------------------------------------------------


@pytest.mark.parametrize(
    ("rpc", "params"),
    [
        (
            "CreateTaskPushNotificationConfig",
            {
                "parent": "tasks/{id}",
                "configId": "c",
                "config": {"pushNotificationConfig": {"url": "https://client.example/hook"}},
            },
        ),
        ("GetTaskPushNotificationConfig", {"name": "tasks/{id}/pushNotificationConfigs/c"}),
        ("ListTaskPushNotificationConfig", {"parent": "tasks/{id}"}),
        ("DeleteTaskPushNotificationConfig", {"name": "tasks/{id}/pushNotificationConfigs/c"}),
    ],
)
async def test_webhooks_are_not_supported(rpcs: Rpcs, rpc: str, params: Json) -> None:
    asked = await send(rpcs, "ask", "trip")
    params = {
        name: value.replace("{id}", asked.id) if isinstance(value, str) else value
        for name, value in params.items()
    }
    # Section 3.9: 0.2.2 to 0.2.4 have the same messages under shorter names.
    for name in (rpc, rpc.removesuffix("Config")):
        _, error = await refusal(rpcs.unary(name, params))
        assert error == "PushNotificationNotSupportedError"
