"""Every example of the RxJS agent's protocol design, sent to our server as it is written there.

A vector is one conversation: the agent it needs, and exchanges, each with where it comes from, the
request, and the answer of the example. Our agent does other work than that of the example, so what
is compared is its shape (``has_shape``). Where an example leaves something out (``[...]``) or has
comments in its JSON, the vector has content and no comments. ``names`` tells what stands in a
request for something that only our server knows.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final, cast

import httpx2
import pytest

from dragoman import Agent, Context, Evidence, Principal, telemetry
from dragoman.errors import UsageError
from dragoman.model.security import HTTPAuthSecurityScheme, SecurityScheme
from dragoman.model.tasks import TaskState
from tests.scenarios.webhooks import INNER as WEBHOOKS
from tests.scenarios.webhooks import TOKEN, hooked
from tests.support.serving import serving
from tests.support.tracing import Traced
from tests.support.wire import Json, frames

VECTORS: Final = Path(__file__).resolve().parents[1] / "vectors" / "rxjs"
NAMES: Final = tuple(path.stem for path in sorted(VECTORS.glob("*.json")))

SAMPLES: Final = "samples"
"""What our server does not say, and our client reads."""

_SAID: Final = frozenset(
    {"kind", "state", "role", "final", "append", "lastChunk", "code", "jsonrpc", "sensitive", "id"}
)
"""Members whose values are the protocol's, and not the example's."""

_IDS: Final = frozenset({"taskId", "contextId", "messageId", "artifactId", "requestId"})


async def reports(ctx: Context, text: str) -> None:
    """Stream a result in chunks."""
    name = await ctx.artifact("Analysis: ")
    await ctx.artifact("Sales increased", artifact_id=name, append=True)
    await ctx.artifact(f", {text}", artifact_id=name, append=True, last_chunk=True)


async def delegates(ctx: Context, text: str) -> None:
    """Tell of others at work."""
    await ctx.say(f"Invoking data analyzer for {text}...")
    await ctx.say("Received analysis results, generating report...")


async def asks_for_a_key(ctx: Context, text: str) -> None:
    """Ask for a secret."""
    key = await ctx.ask(f"Please provide your API key to {text}", sensitive=True)
    assert key == "secret-key-123"


async def waits(ctx: Context, text: str) -> None:
    """Tell that it works, and never end."""
    await ctx.say(f"Processing {text}")
    await asyncio.Event().wait()


async def goes_on(ctx: Context, text: str) -> None:
    """Do without a tool."""
    assert await ctx.use_tool("look", timeout=0.05, default=text) == text


async def gives_up(ctx: Context, text: str) -> None:
    """Not do without a tool."""
    assert text
    await ctx.use_tool("look", timeout=0.05)


class Tokens:
    """Takes the token of the examples."""

    name = "bearer"
    challenge = "Bearer"
    scheme = SecurityScheme(
        http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer", bearer_format="JWT")
    )

    async def authenticate(self, evidence: Evidence) -> Principal | None:
        """Know one caller."""
        if evidence.headers.get(b"authorization") != "Bearer <token>":
            return None
        return Principal(owner="somebody")


def agent_for(behaviour: str) -> Agent:
    """Return the agent that a vector needs."""
    if behaviour != "guarded":
        agent = Agent("Recorded", "Answers what was asked of others.")
        agent.skill(globals()[behaviour])
        return agent
    agent = Agent("Guarded", "Does not answer everybody.", auth=[Tokens()])

    @agent.skill
    def talk(text: str) -> str:
        """Talk."""
        return text

    @agent.skill(id="admin-tools", scopes=["admin"])
    def administer(text: str) -> str:
        """Administer."""
        return text

    return agent


def has_shape(ours: Any, theirs: Any, place: str = "") -> None:
    """Check that an answer has all that the example has, and the same where that is protocol."""
    name = place.rpartition(".")[2]
    assert type(ours) is type(theirs) or {type(ours), type(theirs)} == {int, float}, place
    if isinstance(theirs, dict):
        for member, value in cast("Json", theirs).items():
            assert member in ours, f"{place}.{member}"
            has_shape(ours[member], value, f"{place}.{member}")
    elif isinstance(theirs, list):
        assert len(cast("list[Any]", ours)) >= len(cast("list[Any]", theirs)), place
        for mine, one in zip(cast("list[Any]", ours), cast("list[Any]", theirs), strict=False):
            has_shape(mine, one, f"{place}.")
    elif name in _SAID and place not in (".result.id", ".id"):
        assert ours == theirs, place
    elif name in _IDS:
        assert ours, place


class Replay:
    """One conversation with one server; remembers what only that server knows."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self._known: dict[str, str] = {}
        self._open: list[httpx2.Response] = []

    async def exchange(self, recorded: Json) -> None:
        """Send a request, and compare the answer."""
        request = self._named(recorded["request"], recorded.get("names", {}))
        expected: Json = recorded["answer"]
        body: Json = request.get("json", {})
        sent = self._http.build_request(
            request["method"],
            request["path"],
            headers=request["headers"],
            content=json.dumps(body) if body else None,
        )
        response = await self._http.send(sent, stream=True)
        self._open.append(response)
        assert response.status_code == expected.get("status", 200), await response.aread()
        for name, value in expected.get("headers", {}).items():
            found = response.headers[name]
            assert found.isdecimal() if value.isdecimal() else found == value
        if "json" in expected:
            assert response.headers["content-type"] == "application/json"
            self._compare_one(json.loads(await response.aread()), expected["json"], body)
        else:
            await self._compare_events(response, expected, body)

    async def aclose(self) -> None:
        """End the streams that are still open."""
        for response in self._open:
            await response.aclose()

    async def _compare_events(self, response: httpx2.Response, expected: Json, body: Json) -> None:
        assert response.headers["content-type"].startswith("text/event-stream")
        events: list[Json] = expected["events"]
        told: list[Json] = []
        async for frame in frames(response):
            assert not frame.event
            told.append(frame.data)
            if expected.get("stays_open") and len(told) == len(events):
                break
        assert [_name(each) for each in told] == [_name(each) for each in events]
        for ours, theirs in zip(told, events, strict=True):
            self._compare_one(ours, theirs, body)
            result = ours.get("result", ours)
            assert "error" in ours or next(iter(result)) == "kind"
            self._note(result)
        if expected.get("traced"):
            trace_id = events[1]["metadata"]["traceId"]
            assert told[1]["metadata"]["traceId"] == trace_id

    def _compare_one(self, ours: Json, theirs: Json, body: Json) -> None:
        has_shape(ours, theirs)
        if "jsonrpc" in theirs:
            assert ours["id"] == body.get("id")
        if "error" in theirs:
            assert ours["error"]["message"] == theirs["error"]["message"]

    def _note(self, result: Json) -> None:
        self._known["task"] = result.get("taskId") or result.get("id", "")
        asked = result.get("status", {}).get("message", {}).get("inputRequest")
        if asked is not None:
            self._known["request"] = asked["requestId"]

    def _named(self, request: Json, names: dict[str, str]) -> Json:
        text = json.dumps(request)
        for theirs, ours in names.items():
            text = text.replace(json.dumps(theirs), json.dumps(self._known[ours]))
        return json.loads(text)


def _name(event: Json) -> tuple[str, str, bool]:
    result = event.get("result", event)
    if "error" in event:
        return "error", event["error"]["message"], True
    state = result.get("status", {}).get("state", "")
    return result["kind"], state, result.get("final", False)


@pytest.mark.parametrize("vector", [name for name in NAMES if name != SAMPLES])
async def test_an_example_works_as_it_is_written(
    vector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded: Json = json.loads((VECTORS / f"{vector}.json").read_text())
    if vector == "tracing":
        monkeypatch.setattr(telemetry, "active", Traced().telemetry)
    limits: Json = {"rate_limit": "100/min"} if vector == "security" else {}
    async with (
        serving(
            agent_for(recorded["agent"]), profiles=["rxjs"], shutdown_grace_seconds=0, **limits
        ) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=10) as http,
    ):
        replay = Replay(http)
        try:
            for exchange in recorded["exchanges"]:
                await replay.exchange(exchange)
        finally:
            await replay.aclose()


# --- what no example shows ----------------------------------------------------------------------

TOOL: Final = {
    "name": "look",
    "description": "Look.",
    "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
}


async def looks(ctx: Context, text: str) -> str:
    """Use a tool."""
    return str(await ctx.use_tool("look", {"at": text}))


class Peer:
    """A client that speaks the profile, or does not say so."""

    def __init__(self, http: httpx2.AsyncClient, path: str = "/api/a2a") -> None:
        self._http = http
        self._path = path

    async def call(self, method: str, request_id: object = 1, **params: object) -> Json:
        body = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        # Who names no kind of answer and gets a task by taskId follows it.
        headers = {"Accept": "application/json"}
        return (await self._http.post(self._path, json=body, headers=headers)).json()

    async def task(self, method: str, **params: object) -> Json:
        answer = await self.call(method, **params)
        assert "result" in answer, answer
        return answer["result"]


def words(text: str, **members: object) -> Json:
    return {
        "kind": "message",
        "role": "user",
        "messageId": f"m-{text}",
        "parts": [{"kind": "text", "text": text}],
        **members,
    }


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    """Clients of an agent that needs a tool, served in the profile."""
    agent = agent_for("looks")
    async with (
        serving(agent, profiles=["rxjs"], shutdown_grace_seconds=0) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=10) as client,
    ):
        yield client


def use_in(task: Json) -> Json:
    """Return the part that asks for a tool, as it came."""
    return task["status"]["message"]["parts"][1]


async def test_only_who_declares_tools_gets_parts_that_are_tools(http: httpx2.AsyncClient) -> None:
    task = await Peer(http).task("message/send", message=words("Rome"), tools=[TOOL])
    assert task["status"]["state"] == "input-required"
    use = use_in(task)
    assert (use["kind"], use["name"], use["input"]) == ("tool-use", "look", {"at": "Rome"})
    assert task["status"]["message"]["inputRequest"]["requestId"] == use["toolUseId"]
    # A client of plain 0.3, which would choke on a kind of part that it does not know.
    seen = await Peer(http, "/").task("tasks/get", id=task["id"])
    assert use_in(seen) == {"kind": "data", "data": use}
    # And who has begun the task goes on to see it as it was begun.
    assert use_in(await Peer(http).task("tasks/get", taskId=task["id"])) == use


async def test_a_webhook_is_told_in_the_form_that_it_was_registered_in() -> None:
    served = serving(agent_for("looks"), profiles=["rxjs"], shutdown_grace_seconds=0, **WEBHOOKS)
    async with (
        served as agent,
        hooked() as hook,
        httpx2.AsyncClient(base_url=agent.url, trust_env=False, timeout=10) as client,
    ):
        peer = Peer(client)
        config = {"pushNotificationConfig": {"url": hook.url, "token": TOKEN}}
        task = await peer.task(
            "message/send", message=words("Rome"), tools=[TOOL], configuration=config
        )
        told = [await hook.next(), await hook.next(), await hook.next()]
        assert told[-1].state is TaskState.INPUT_REQUIRED
        post = hook.posts[-1]
        # It is the task as its client sees it, parts that are tools included.
        assert post.body == await peer.task("tasks/get", taskId=task["id"])
        assert use_in(post.body)["kind"] == "tool-use"
        assert post.headers["content-type"] == "application/json"
        # Who gives a webhook no name calls it as the task, as in 0.3.
        shown = await peer.task("tasks/pushNotificationConfig/get", id=task["id"])
        assert shown["pushNotificationConfig"]["id"] == task["id"]


async def test_a_task_is_resumed_by_results(http: httpx2.AsyncClient) -> None:
    peer = Peer(http)
    task = await peer.task("message/send", message=words("Rome"), tools=[{"function": TOOL}])
    result = {"toolCallId": use_in(task)["toolUseId"], "toolName": "look", "success": True}
    done = await peer.task("tasks/resume", taskId=task["id"], toolResults=[{**result, "result": 7}])
    assert done["status"]["state"] == "completed"
    assert done["artifacts"][0]["parts"][0]["text"] == "7"


@pytest.mark.parametrize("place", ["taskId", "referenceTaskIds"])
async def test_an_answer_that_does_not_fit_is_refused(http: httpx2.AsyncClient, place: str) -> None:
    peer = Peer(http)
    task = await peer.task("message/send", message=words("Rome"), tools=[TOOL])
    named = {place: task["id"] if place == "taskId" else [task["id"]]}

    async def answer(use_id: str) -> Json:
        part = {"kind": "tool-result", "toolUseId": use_id, "result": "seen"}
        return await peer.call("message/send", message=words(use_id, parts=[part], **named))

    assert (await answer("nobody"))["error"]["code"] == -32602
    use_id = use_in(task)["toolUseId"]
    assert (await answer(use_id))["result"]["status"]["state"] == "completed"


async def test_an_answer_to_a_task_that_is_not_there_begins_none(http: httpx2.AsyncClient) -> None:
    part = {"kind": "tool-result", "toolUseId": "u", "result": 1}
    message = words("late", parts=[part], referenceTaskIds=["task-999"])
    error = (await Peer(http).call("message/send", message=message))["error"]
    assert (error["code"], error["data"]["taskId"]) == (-32001, "task-999")
    assert error["data"]["reason"] == "task-not-found"


async def test_a_failed_tool_ends_the_stream_with_its_own_number(http: httpx2.AsyncClient) -> None:
    peer = Peer(http)
    task = await peer.task("message/send", message=words("Rome"), tools=[TOOL])
    part = {"kind": "tool-result", "toolUseId": use_in(task)["toolUseId"], "error": "blind"}
    body = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "message/stream",
        "params": {"message": words("x", parts=[part], referenceTaskIds=[task["id"]])},
    }
    async with http.stream("POST", "/api/a2a", json=body) as response:
        told = [frame.data async for frame in frames(response)]
    # Before the end: a client of the profile stops there.
    assert told[-1]["result"]["status"]["state"] == "failed"
    assert told[-1]["result"]["final"] is True
    error = told[-2]["error"]
    assert (told[-2]["id"], error["code"]) == (0, -32002)
    assert error["data"]["taskId"] == task["id"]


async def test_the_first_stream_goes_on_when_the_answer_comes(http: httpx2.AsyncClient) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "message/stream",
        "params": {"message": words("Rome"), "tools": [TOOL]},
    }
    async with http.stream("POST", "/api/a2a", json=body) as response:
        told: list[Json] = []
        async for frame in frames(response):
            result = frame.data["result"]
            told.append(result)
            if result.get("status", {}).get("state") == "input-required":
                part = {"kind": "tool-result", "toolUseId": use_in(result)["toolUseId"]}
                answer = words("x", parts=[{**part, "result": "seen"}], taskId=result["taskId"])
                await Peer(http).task("message/send", message=answer)
    states = [each["status"]["state"] for each in told if each["kind"] == "status-update"]
    assert states == ["working", "input-required", "working", "completed"]


async def test_bad_tools_are_refused(http: httpx2.AsyncClient) -> None:
    answer = await Peer(http).call("message/send", message=words("x"), tools=[TOOL, TOOL])
    error = answer["error"]
    assert (error["code"], error["message"]) == (-32602, "Invalid params")
    assert "Duplicate tool names: look" in error["data"]["reason"]


async def test_an_unknown_profile_is_refused() -> None:
    with pytest.raises(UsageError, match="profiles"):
        async with serving(agent_for("reports"), profiles=["esperanto"]):
            pass


async def test_without_the_profile_there_is_plain_0_3() -> None:
    async with (
        serving(agent_for("asks_for_a_key")) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=10) as client,
    ):
        task = await Peer(client).task("message/send", message=words("x"), tools=[TOOL])
        assert task["status"]["message"]["inputRequest"]["sensitive"] is True
        error = (await Peer(client).call("tasks/resume", taskId=task["id"]))["error"]
        assert error["code"] == -32601


async def test_who_comes_back_hears_how_the_task_stands_and_what_it_has_made() -> None:
    halfway, go_on = asyncio.Event(), asyncio.Event()
    agent = Agent("Reporter", "Reports.")

    @agent.skill
    async def report(ctx: Context) -> None:
        """Report in two pieces."""
        name = await ctx.artifact("one")
        halfway.set()
        await go_on.wait()
        await ctx.artifact(", two", artifact_id=name, append=True, last_chunk=True)

    async with (
        serving(agent, profiles=["rxjs"]) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=60) as http,
    ):
        sent = {"message": words("x"), "configuration": {"blocking": False}}
        task = await Peer(http).task("message/send", **sent)
        await halfway.wait()
        body = {"jsonrpc": "2.0", "id": 4, "method": "tasks/get", "params": {"taskId": task["id"]}}
        for is_over in (False, True):
            told: list[Json] = []
            async with http.stream("POST", "/api/a2a", json=body) as response:
                async for frame in frames(response):
                    told.append(frame.data["result"])
                    go_on.set()
            texts = [
                each["artifact"]["parts"][0]["text"]
                for each in told
                if each["kind"] == "artifact-update"
            ]
            assert told[0]["kind"] == ("artifact-update" if is_over else "status-update")
            assert "".join(texts) == "one, two"
            assert (told[-1]["status"]["state"], told[-1]["final"]) == ("completed", True)


async def test_an_agent_that_fails_is_an_error_of_http_on_the_route_to_send() -> None:
    agent = Agent("Broken", "Fails.")

    @agent.skill
    async def fail() -> str:
        """Fail."""
        raise ValueError("inner words")

    async with (
        serving(agent, profiles=["rxjs"]) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=60) as http,
    ):
        response = await http.post("/v1/message:send", json={"message": words("x")})
        error = response.json()["error"]
        assert (response.status_code, error["code"]) == (500, 500)
        assert error["message"]
        assert "inner words" not in response.text
        got = await http.get(f"/v1/tasks/{error['data']['taskId']}")
        assert got.json()["status"]["state"] == "failed"


async def test_a_parent_refers_to_its_children() -> None:
    child = Agent("Analyzer", "Analyzes.")

    @child.skill
    async def analyze(ctx: Context, text: str) -> str:
        """Analyze."""
        await ctx.say(f"analyzing {text}")
        return "done"

    async with serving(child) as other:
        parent = Agent("Reporter", "Reports.")

        @parent.skill
        async def report(ctx: Context, text: str) -> str:
            """Report."""
            return (await ctx.call(other.url, text)).text

        async with (
            serving(parent, profiles=["rxjs"]) as served,
            httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=60) as http,
            httpx2.AsyncClient(base_url=other.url, trust_env=False, timeout=60) as at_child,
        ):
            body = {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "message/stream",
                "params": {"message": words("sales")},
            }
            # As the client of the example does.
            relations: dict[str, list[str]] = {}
            async with http.stream("POST", "/api/a2a", json=body) as response:
                async for frame in frames(response):
                    told = frame.data["result"]
                    said = told.get("status", {}).get("message", {})
                    if told["kind"] == "status-update" and "referenceTaskIds" in said:
                        relations[told["taskId"]] = said["referenceTaskIds"]
            ((parent_id, children),) = relations.items()
            task = await Peer(at_child, "/").task("tasks/get", id=children[0])
            assert task["history"][0]["referenceTaskIds"] == [parent_id]


async def test_each_event_is_a_span_where_requests_are_traced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    traced = Traced()
    monkeypatch.setattr(telemetry, "active", traced.telemetry)
    async with (
        serving(agent_for("reports"), profiles=["rxjs"]) as served,
        httpx2.AsyncClient(base_url=served.url, trust_env=False, timeout=60) as http,
    ):
        task = await Peer(http).task("message/send", message=words("x"))
    spans = traced.named("a2a.event")
    # Working, three chunks, completed.
    assert [(span.attributes or {}).get("a2a.task.state", "") for span in spans] == [
        "TASK_STATE_WORKING",
        "",
        "",
        "",
        "TASK_STATE_COMPLETED",
    ]
    assert all((span.attributes or {})["a2a.task.id"] == task["id"] for span in spans)
    assert {traced.parent_of(span) for span in spans} == {"a2a.SendMessage", "invoke_agent reports"}


async def test_a_context_that_the_task_is_not_in_is_not_found(http: httpx2.AsyncClient) -> None:
    peer = Peer(http)
    task = await peer.task("message/send", message=words("Rome"), tools=[TOOL])
    other = words("x", taskId=task["id"], contextId="ctx-999")
    error = (await peer.call("message/send", message=other))["error"]
    assert (error["code"], error["message"]) == (-32003, "Context not found")
    assert error["data"]["reason"] == "context-not-found"
