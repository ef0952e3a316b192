"""How often and how much at once: on every version and binding, with what each says of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import httpx2
import pytest

from dragoman import connect
from dragoman.testing.clock import FakeClock
from tests.scenarios.agents import GATES, Gate, make_agent, to
from tests.scenarios.bindings import Binding, Grpc, HttpJson, JsonRpc, RefusedError, drain, expect
from tests.scenarios.guarding import (
    KEY_HEADER,
    LINES,
    Ask,
    Keys,
    Line,
    call_of,
    guarded_agent,
    hear,
    keyed,
)
from tests.support.serving import serving

RETRY_INFO: Final = "type.googleapis.com/google.rpc.RetryInfo"
ADA: Final = {KEY_HEADER: "key-of-ada"}
BOB: Final = {KEY_HEADER: "key-of-bob"}

# What each binding says to one who asks too often: DESIGN section 6, and 3.6 of the 0.x reference.
CODES: Final = {"JSON-RPC": -31429, "gRPC": 8}


def code_of(line: Line) -> int:
    if line.version == "1.0" and line.binding == "HTTP+JSON":
        return 429
    return CODES.get(line.binding, -31429)


def called(agent_url: str, **headers: str) -> httpx2.AsyncClient:
    """Return a client of HTTP."""
    return httpx2.AsyncClient(
        base_url=agent_url, headers={"A2A-Version": "1.0", **headers}, timeout=15, trust_env=False
    )


# --- rates --------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
async def test_who_asks_too_often_hears_it_in_his_own_words(line: Line) -> None:
    limit = {"GetTask": "2/min"}
    async with (
        serving(guarded_agent(), rate_limit_per_operation=limit) as agent,
        line.connect(agent.url) as wire,
    ):
        name, params = call_of(wire, Ask("GetTask", task_id="t-1"))
        heard = [await hear(wire, name, params, keyed("key-of-ada")) for _ in range(3)]
        # There is no such task; that is an answer, and counts.
        assert code_of(line) not in {one.code for one in heard[:2]}
        assert heard[2].code == code_of(line)
        assert "the limit for you for GetTask is reached; try again in" in heard[2].body
        if not isinstance(wire, Grpc):
            assert heard[2].http == 429
        # Others are not concerned.
        assert (await hear(wire, name, params, keyed("key-of-bob"))).code == heard[0].code


async def test_0_1_has_a_number_of_its_own() -> None:
    (line,) = (one for one in LINES if one.version == "0.1")
    limit = {"SendMessage": "1/min"}
    async with (
        serving(guarded_agent(), rate_limit_per_operation=limit) as agent,
        line.connect(agent.url) as wire,
    ):
        wish = Ask("SendMessage", skill="whoami")
        heard = [await hear(wire, *call_of(wire, wish), keyed("key-of-ada")) for _ in range(2)]
    assert (heard[0].code, heard[1].code, heard[1].http) == (None, -32010, 429)


@pytest.mark.parametrize("kind", [JsonRpc, HttpJson, Grpc])
async def test_the_refusal_tells_when_to_come_back_and_one_may_then(kind: type[Binding]) -> None:
    clock = FakeClock()
    async with (
        serving(make_agent(), clock=clock, rate_limit="10/min") as agent,
        kind(agent.url) as wire,
    ):
        await wire.task(to("echo"))
        problem = await expect("RateLimitedError", wire.list_tasks())
        # ListTasks weighs 5, and one comes back every 6 seconds.
        assert problem.detail(RETRY_INFO)["retryDelay"] in ("30s", "30.000s")
        assert problem.metadata == {
            "limit": "10",
            "remaining": "0",
            "reset": str(clock.now_ms() // 1000 + 60),
        }
        if kind is not Grpc:
            assert problem.http == 429
            assert problem.headers["retry-after"] == "30"
            assert problem.headers["x-ratelimit-remaining"] == "0"
        clock.advance(29)
        await expect("RateLimitedError", wire.list_tasks())
        clock.advance(1)
        assert (await wire.list_tasks())["totalSize"] == 1


@pytest.mark.parametrize("kind", [JsonRpc, HttpJson, Grpc])
async def test_every_answer_tells_what_is_left(kind: type[Binding]) -> None:
    clock = FakeClock()
    async with (
        serving(make_agent(), clock=clock, rate_limit="100/min") as agent,
        kind(agent.url) as wire,
    ):
        listed = await wire.respond("ListTasks", {})
        assert {name: listed.headers[f"x-ratelimit-{name}"] for name in ("limit", "remaining")} == {
            "limit": "100",
            "remaining": "95",
        }
        assert listed.headers["x-ratelimit-reset"] == str(clock.now_ms() // 1000 + 3)
        # A stream counts once, at its start.
        streamed = await wire.respond("SendStreamingMessage", {"message": to("echo")})
        assert streamed.headers["x-ratelimit-remaining"] == "85"
        if kind is not Grpc:
            missing = await wire.respond("GetTask", {"id": "none"})
            assert missing.headers["x-ratelimit-remaining"] == "84"


async def test_our_client_waits_and_asks_again() -> None:
    async with serving(make_agent(), rate_limit="10/s") as served, connect(served.url) as agent:
        for text in ("one", "two"):
            # Each send costs all there is: the second is refused, and told when to come back.
            assert (await agent.send(text)).text == text


async def test_without_a_limit_nothing_is_told() -> None:
    async with serving(make_agent()) as agent, called(agent.url) as client:
        answer = await client.get("/tasks")
        assert not [name for name in answer.headers if name.startswith("x-ratelimit")]


async def test_requests_are_counted_by_address_before_anything_is_read() -> None:
    async with (
        serving(guarded_agent(), rate_limit_per_address="3/min") as agent,
        called(agent.url) as client,
    ):
        # Whoever it is, whatever it is: the card, a bad request, no credentials.
        card = await client.get("/.well-known/agent-card.json")
        assert (card.status_code, card.headers["x-ratelimit-remaining"]) == (200, "2")
        assert (await client.get("/tasks")).status_code == 401
        assert (await client.post("/", content=b"nonsense", headers=ADA)).status_code == 200
        for path in ("/tasks", "/.well-known/agent-card.json", "/v1/tasks/x", "/a2a"):
            refused = await client.get(path, headers=ADA)
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) in range(1, 21)
        # Whether the server lives is asked often, by those who run it.
        assert (await client.get("/healthz")).status_code == 200


async def test_behind_a_trusted_proxy_each_caller_has_its_own_address() -> None:
    settings: dict[str, Any] = {"rate_limit_per_address": "1/min", "allow_anonymous": True}
    async with serving(make_agent(), **settings) as agent, called(agent.url) as client:
        for address in ("203.0.113.1", "203.0.113.2", "2001:db8::1"):
            headers = {"X-Forwarded-For": f"192.0.2.1, {address}"}
            assert (await client.get("/tasks", headers=headers)).status_code == 200
            assert (await client.get("/tasks", headers=headers)).status_code == 429
        # Another address of the same caller.
        same = {"X-Forwarded-For": "2001:db8::2"}
        assert (await client.get("/tasks", headers=same)).status_code == 429


async def test_who_tries_out_credentials_is_stopped() -> None:
    async with (
        serving(guarded_agent(), rate_limit_refusals="3/min") as agent,
        called(agent.url) as client,
    ):
        for number in range(3):
            guess = {KEY_HEADER: f"guess-{number}"}
            assert (await client.get("/tasks", headers=guess)).status_code == 401
        # The right key would not be heard any more: it may have been guessed.
        stopped = await client.get("/tasks", headers=ADA)
        assert stopped.status_code == 429
        assert "bad credentials" in stopped.json()["error"]["message"]


async def test_who_asks_what_to_show_has_not_tried_anything() -> None:
    async with (
        serving(guarded_agent(), rate_limit_refusals="1/min") as agent,
        called(agent.url) as client,
    ):
        for _ in range(5):
            assert (await client.get("/tasks")).status_code == 401
        assert (await client.get("/tasks", headers=ADA)).status_code == 200


async def test_by_default_some_wrong_keys_do_no_harm_and_many_do() -> None:
    async with serving(guarded_agent()) as agent, called(agent.url) as client:
        wrong = {KEY_HEADER: "wrong"}
        statuses = [(await client.get("/tasks", headers=wrong)).status_code for _ in range(70)]
    assert statuses[:60] == [401] * 60
    assert statuses[-1] == 429


# --- at once ------------------------------------------------------------------------------------


@pytest.fixture
async def gates() -> AsyncIterator[list[Gate]]:
    """Gates at which skills wait for this test."""
    made = [Gate() for _ in range(3)]
    GATES.update({gate.name: gate for gate in made})
    yield made
    for gate in made:
        gate.open(10)
        del GATES[gate.name]


@pytest.mark.parametrize("kind", [JsonRpc, HttpJson, Grpc])
async def test_a_caller_may_have_so_many_streams_open(
    kind: type[Binding], gates: list[Gate]
) -> None:
    async with (
        serving(make_agent(), max_streams_per_owner=2, shutdown_grace_seconds=0) as agent,
        kind(agent.url) as wire,
    ):
        async with AsyncExitStack() as opened:
            for gate in gates[:2]:
                await opened.enter_async_context(
                    wire.send_streaming_message(to("silence", gate.name))
                )
                await gate.reached()
            with pytest.raises(RefusedError) as caught:
                async with wire.send_streaming_message(to("silence", gates[2].name)):
                    pass
            assert "2 streams at once" in caught.value.problem.message
            assert caught.value.problem.reason == "RATE_LIMITED"
            assert caught.value.problem.detail(RETRY_INFO)
            # Everything else goes on.
            assert (await wire.task(to("echo")))["status"]["state"] == "TASK_STATE_COMPLETED"
        # A stream that is left gives its place back, as soon as the server notices.
        await _until_served(lambda: drain(wire.send_streaming_message(to("echo"))))


async def _until_served(call: Callable[[], Awaitable[object]]) -> None:
    """Repeat a call until it is not refused any more."""
    async with asyncio.timeout(10):
        while True:
            with suppress(RefusedError):
                await call()
                return
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", [JsonRpc, HttpJson, Grpc])
async def test_a_known_caller_may_have_so_many_turns_at_work(
    kind: type[Binding], gates: list[Gate]
) -> None:
    agent = make_agent(auth=[Keys()])
    async with (
        serving(agent, max_turns_per_owner=2, shutdown_grace_seconds=0) as served,
        kind(served.url, {"A2A-Version": "1.0", **ADA}) as wire,
        kind(served.url, {"A2A-Version": "1.0", **BOB}) as other,
    ):
        for gate in gates[:2]:
            await wire.start(to("silence", gate.name))
            await gate.reached()
        problem = await expect("RateLimitedError", wire.start(to("silence", gates[2].name)))
        assert "You have 2 turns at work or waiting at once" in problem.message
        await other.task(to("echo"))
        gates[0].open(5)
        await _until_served(lambda: wire.task(to("echo")))
