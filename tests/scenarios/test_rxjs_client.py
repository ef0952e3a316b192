"""Our client against a server that says what the RxJS agent's protocol design has it say."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, Literal

import pytest

from dragoman import A2AError, RemoteAgent, TaskState, connect
from dragoman.client.retry import RetryPolicy
from dragoman.errors import InternalError, InvalidParamsError, PermissionDeniedError
from dragoman.errors import TaskNotFoundError as NotFound
from dragoman.model.cards import AgentInterface
from dragoman.net.asgi import Receive, Scope, Send
from tests.scenarios.authority import listening
from tests.support.wire import Json

VECTORS: Final = Path(__file__).resolve().parents[1] / "vectors" / "rxjs"
ONCE: Final = RetryPolicy(attempts=1)


def answer_in(vector: str, place: int) -> Json:
    """Return the answer of an example."""
    return json.loads((VECTORS / f"{vector}.json").read_text())["exchanges"][place]["answer"]


class Script:
    """Gives one answer after the other, whatever it is asked, and keeps what it was asked."""

    def __init__(self, *answers: Json) -> None:
        self._answers = list(answers)
        self.asked: list[Json] = []
        self.heard: list[dict[bytes, bytes]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        sent: Json = json.loads(body)
        self.asked.append(sent)
        self.heard.append(dict(scope["headers"]))
        answer = self._answers.pop(0)
        kind = b"application/json" if "json" in answer else b"text/event-stream"
        await send(
            {
                "type": "http.response.start",
                "status": answer.get("status", 200),
                "headers": [(b"content-type", kind)],
            }
        )
        if "json" in answer:
            told = {**answer["json"], "id": sent.get("id")}
            await send({"type": "http.response.body", "body": json.dumps(told).encode()})
            return
        for event in answer["events"]:
            told = {**event, "id": sent["id"]} if "jsonrpc" in event else event
            line = b"data: %b\n\n" % json.dumps(told).encode()
            await send({"type": "http.response.body", "body": line, "more_body": True})
        if answer.get("stays_open"):
            while (await receive())["type"] != "http.disconnect":
                pass
        else:
            await send({"type": "http.response.body", "body": b""})


@asynccontextmanager
async def talking_to(
    script: Script,
    *,
    profile: Literal["", "rxjs"] = "",
    binding: str = "JSONRPC",
    tools: tuple[Callable[..., object], ...] = (),
) -> AsyncGenerator[RemoteAgent]:
    async with listening(script) as url:
        place = f"{url}/api/a2a" if binding == "JSONRPC" else url
        interface = AgentInterface(url=place, protocol_binding=binding, protocol_version="0.3")
        async with connect(interface, retry=ONCE, profile=profile, tools=tools) as agent:
            yield agent


@pytest.mark.parametrize(
    ("place", "text"),
    [(0, "Analysis: Sales increased, by 15%"), (1, "Based on the analysis, sales increased 15%")],
)
async def test_chunks_are_joined(place: int, text: str) -> None:
    script = Script(answer_in("stream", place))
    async with talking_to(script) as agent:
        reply = await agent.send("Analyze sales data and generate report")
    assert (reply.state, reply.text) == (TaskState.COMPLETED, text)
    sent = script.asked[0]
    assert (sent["jsonrpc"], sent["method"]) == ("2.0", "message/stream")
    assert sent["params"]["message"]["kind"] == "message"
    assert b"text/event-stream" in script.heard[0][b"accept"]


async def test_other_agents_at_work_are_told_of() -> None:
    script = Script(answer_in("sub-agent", 0))
    async with talking_to(script) as agent, agent.stream("Analyze sales and report") as events:
        told = [event.text async for event in events if event.text]
    assert told == ["Invoking data analyzer...", "Received analysis results, generating report..."]


async def test_a_call_for_another_task_refers_to_it() -> None:
    script = Script(answer_in("sub-agent", 1))
    async with talking_to(script) as agent:
        await agent.send("Analyze Q4 sales data", reference_task_ids=["main-123"])
    assert script.asked[0]["params"]["message"]["referenceTaskIds"] == ["main-123"]


async def test_a_request_for_input_is_answered_by_its_id() -> None:
    script = Script(answer_in("client-tool", 0), answer_in("client-tool", 1))
    async with talking_to(script) as agent:
        reply = await agent.send("Use the interface")
        request = reply.input_request
        assert request is not None
        assert (request.request_id, request.sensitive) == ("input-1", True)
        assert (request.prompt, reply.text) == ("Enter API key:", "Please provide your API key")
        done = await reply.answer("secret-key-123")
    assert done.state is TaskState.COMPLETED
    message = script.asked[1]["params"]["message"]
    assert message["parts"] == [
        {"kind": "tool-result", "toolUseId": "input-1", "result": {"value": "secret-key-123"}}
    ]
    assert (message["taskId"], message["kind"]) == ("task-789", "message")


async def test_in_the_profile_an_answer_refers_to_its_task() -> None:
    script = Script(answer_in("client-tool", 0), answer_in("client-tool", 1))
    async with talking_to(script, profile="rxjs") as agent:
        reply = await agent.send("Use the interface")
        await reply.answer("secret-key-123")
    assert script.asked[1]["params"]["message"]["referenceTaskIds"] == ["task-789"]


def _asking(**members: object) -> Json:
    """Return a stream in which the agent asks for a tool."""
    message = {"kind": "message", "role": "agent", "messageId": "m", **members}
    status = {"state": "input-required", "message": message}
    first = answer_in("client-tool", 0)["events"][:2]
    asked = {"kind": "status-update", "taskId": "task-789", "contextId": "ctx-1", "final": False}
    event = {"jsonrpc": "2.0", "id": 1, "result": {**asked, "status": status}}
    return {"stays_open": True, "events": [*first, event]}


TEXT: Final = {"kind": "text", "text": "Please read"}
USE: Final = {"kind": "tool-use", "toolUseId": "u-1", "name": "read_file", "input": {"path": "a"}}
CALL: Final = {
    "id": "u-1",
    "type": "function",
    "function": {"name": "read_file", "arguments": '{"path": "a"}'},
}


@pytest.mark.parametrize(
    "asking",
    [
        _asking(parts=[TEXT, USE]),
        _asking(parts=[TEXT], toolCalls=[CALL]),
        _asking(
            parts=[TEXT],
            toolCalls=[{**CALL, "function": {"name": "read_file", "arguments": {"path": "a"}}}],
        ),
    ],
    ids=["a part", "a call", "a call with an object"],
)
async def test_a_tool_is_run_and_its_result_sent(asking: Json) -> None:
    async def read_file(path: str) -> str:
        """Read a file."""
        return f"content of {path}"

    script = Script(asking, answer_in("client-tool", 1))
    async with talking_to(script, tools=(read_file,)) as agent:
        reply = await agent.send("Read it")
    assert reply.state is TaskState.COMPLETED
    (declared,) = script.asked[0]["params"]["tools"]
    assert (declared["name"], declared["description"]) == ("read_file", "Read a file.")
    assert script.asked[1]["params"]["message"]["parts"] == [
        {"kind": "tool-result", "toolUseId": "u-1", "result": "content of a"}
    ]


async def test_a_task_is_followed_by_getting_it() -> None:
    ended = {"events": [{"jsonrpc": "2.0", "result": {**_done("completed")}}]}
    answer = answer_in("resubscription", 1)
    script = Script({"events": [*answer["events"], *ended["events"]]})
    async with talking_to(script, profile="rxjs") as agent:
        told = [str(event) async for event in agent.task("task-123").stream()]
    assert script.asked[0]["method"] == "tasks/get"
    assert script.asked[0]["params"] == {"taskId": "task-123"}
    assert told[1:] == ["[working] Processing...", "[completed]"]


def _done(state: str) -> Json:
    status = {"state": state, "timestamp": "2025-10-30T10:00:15Z"}
    return {
        "kind": "status-update",
        "taskId": "task-123",
        "contextId": "ctx-1",
        "status": status,
        "final": True,
    }


async def test_a_stream_that_goes_on_without_an_answer_is_followed() -> None:
    script = Script(answer_in("timeouts-continue", 0))
    async with talking_to(script) as agent, agent.stream("Do not wait") as events:
        told = [event.text async for event in events if event.state is TaskState.WORKING]
    assert "Continuing without client input..." in told


async def test_the_failed_status_counts_and_not_the_error_before_it() -> None:
    script = Script(answer_in("timeouts-fail", 0))
    async with talking_to(script) as agent, agent.stream("Do not wait") as events:
        states = [event.state async for event in events]
        reply = events.reply
    assert states[-1] is TaskState.FAILED
    assert reply.text == "No answer"


async def test_other_states_and_artifacts_are_read() -> None:
    script = Script(answer_in("samples", 0))
    async with talking_to(script) as agent, agent.stream("Hello!") as events:
        states = [event.state async for event in events]
        text = events.reply.text
    assert (states[0], text) == (TaskState.SUBMITTED, "Result content here...")


async def test_a_failure_after_the_stream_has_begun_is_raised() -> None:
    script = Script(answer_in("samples", 1))
    async with talking_to(script) as agent:
        with pytest.raises(InternalError, match="Internal error") as caught:
            await agent.send("Hello!")
    assert caught.value.metadata["error"] == "it broke"


async def test_a_failure_on_a_route_is_raised() -> None:
    script = Script(answer_in("samples", 2))
    async with talking_to(script, binding="HTTP+JSON") as agent:
        with pytest.raises(A2AError, match="it broke"):
            await agent.send("Hello!")


async def test_bare_objects_are_read_on_a_route() -> None:
    script = Script(answer_in("rest", 0))
    async with talking_to(script, binding="HTTP+JSON") as agent:
        reply = await agent.send("Analyze sales data")
    assert reply.text == "Based on the analysis, sales increased 15%"


async def test_trace_ids_are_read_as_metadata() -> None:
    script = Script(answer_in("tracing", 0))
    async with talking_to(script, binding="HTTP+JSON") as agent, agent.stream("x") as events:
        updates = [event.value.status_update async for event in events]
    told = [each.metadata for each in updates if each is not None and each.metadata]
    assert told == [{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "53995c3f42cd8ad8"}]


ERRORS: Final[list[tuple[str, int, type[A2AError]]]] = [
    ("errors", 0, NotFound),  # -32001, with the task in its data
    ("samples", 3, NotFound),  # -32004, by the table
    ("errors", 5, InvalidParamsError),
    ("security", 1, PermissionDeniedError),
]


@pytest.mark.parametrize(("vector", "place", "kind"), ERRORS)
async def test_an_error_is_known_by_what_it_says(
    vector: str, place: int, kind: type[A2AError]
) -> None:
    async with talking_to(Script(answer_in(vector, place))) as agent:
        with pytest.raises(kind):
            await agent.task("task-999").get()


async def test_a_timeout_is_not_taken_for_a_missing_task() -> None:
    events = answer_in("timeouts-fail", 0)["events"]
    answer: dict[str, Any] = {"events": [events[0], events[-2]]}
    async with talking_to(Script(answer)) as agent:
        with pytest.raises(InternalError, match="Input timeout") as caught:
            await asyncio.wait_for(agent.send("Do not wait"), 10)
    assert caught.value.metadata["code"] == "-32001"
