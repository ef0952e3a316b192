"""One trace through agents that call each other, whatever they speak."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import pytest

from dragoman import Agent, Context, Peer, connect, telemetry
from dragoman.model.push import TaskPushNotificationConfig
from tests.durability.waiting import find, until
from tests.scenarios.webhooks import INNER
from tests.support.serving import free_port, serving
from tests.support.tracing import Traced

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Traced:
    """Have everything traced."""
    found = Traced()
    monkeypatch.setattr(telemetry, "active", found.telemetry)
    return found


def flights() -> Agent:
    """Return an agent that is called."""
    agent = Agent("Flights", "Finds flights.")

    @agent.skill
    async def find(ctx: Context, text: str) -> str:
        """Find one."""
        return await ctx.step(str.upper, text, name="look up")

    return agent


def travel(peer: Peer) -> Agent:
    """Return an agent that calls another."""
    agent = Agent("Travel", "Plans.")

    @agent.skill
    async def plan(ctx: Context, text: str) -> str:
        """Plan."""
        return (await ctx.call(peer, text)).text

    return agent


@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
async def test_a_trace_goes_through_all_who_have_a_part(
    traced: Traced, version: str, binding: str
) -> None:
    async with serving(flights()) as called:
        peer = Peer(called.url, name="Flights", version=version, binding=binding)
        async with serving(travel(peer)) as served:
            headers = {"traceparent": PARENT}
            async with connect(served.url, headers=headers, version=version) as client:
                assert (await client.send("rome")).text == "ROME"
    names = {
        "a2a.SendStreamingMessage",
        "invoke_agent plan",
        "invoke_agent Flights",
        "invoke_agent find",
        "step look up",
    }
    spans = [span for span in traced.spans if span.name in names]
    assert {f"{span.context.trace_id:032x}" for span in spans if span.context} == {TRACE}
    parents = {span.name: traced.parent_of(span) for span in spans if "Send" not in span.name}
    assert parents == {
        "invoke_agent plan": "a2a.SendStreamingMessage",
        "invoke_agent Flights": "invoke_agent plan",
        "invoke_agent find": "a2a.SendStreamingMessage",
        "step look up": "invoke_agent find",
    }
    asked = {traced.parent_of(span) for span in traced.named("a2a.SendStreamingMessage")}
    # The first was asked by somebody whose spans are not here.
    assert asked == {"", "invoke_agent Flights"}


@pytest.mark.parametrize(
    "header", ["", "garbage", f"ff-{TRACE}-b7ad6b7169203331-01", f"00-{'0' * 32}-{'0' * 16}-01"]
)
async def test_what_is_no_trace_is_no_trouble(traced: Traced, header: str) -> None:
    async with serving(flights()) as called, connect(called.url) as client:
        client_headers = {"traceparent": header}
        async with connect(called.url, headers=client_headers) as other:
            assert (await other.send("rome")).text == "ROME"
        assert (await client.send("rome")).text == "ROME"
    assert len(traced.named("invoke_agent find")) == 2


async def test_a_failure_is_told_by_its_kind_alone(traced: Traced) -> None:
    agent = Agent("Broken", "Fails.")

    @agent.skill
    async def fail(text: str) -> str:
        """Fail."""
        raise ValueError(f"the secret is {text}")

    async with serving(agent) as served, connect(served.url) as client:
        await client.send("hunter2")
    span = traced.one("invoke_agent fail")
    assert span.attributes is not None
    assert span.attributes["error.type"] == "ValueError"
    assert not span.status.is_ok
    assert "hunter2" not in "".join(one.to_json() for one in traced.spans)


async def test_the_log_names_the_span_of_the_turn_that_failed(traced: Traced) -> None:
    agent = Agent("Broken", "Fails.")

    @agent.skill
    async def fail(text: str) -> str:
        """Fail."""
        raise ValueError(text)

    lines: list[tuple[str, tuple[str, str]]] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append((record.getMessage(), traced.telemetry.ids()))

    handler, logger = Lines(), logging.getLogger("dragoman.server.tasks.turns")
    logger.addHandler(handler)
    try:
        async with (
            serving(agent) as served,
            connect(served.url, headers={"traceparent": PARENT}) as client,
        ):
            await client.send("now")
    finally:
        logger.removeHandler(handler)
    span = traced.one("invoke_agent fail")
    assert span.attributes is not None
    assert span.attributes["a2a.task.state"] == "TASK_STATE_FAILED"
    assert span.context is not None
    ((line, ids),) = lines
    assert "failed (error id" in line
    assert ids == (TRACE, f"{span.context.span_id:016x}")


async def test_what_is_refused_is_measured_as_what_it_is(traced: Traced, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(flights(), store=store) as served, connect(served.url) as client:
        await client.send("rome")
        with pytest.raises(Exception, match="not found"):
            await client.task("nobody").get()
        measured = traced.measured()
    outcomes = {(one["rpc.method"], one["a2a.outcome"]) for one in measured["rpc.server.duration"]}
    assert ("SendStreamingMessage", "ok") in outcomes
    assert ("GetTask", "TASK_NOT_FOUND") in outcomes
    states = {one["a2a.task.state"] for one in measured["a2a.tasks"]}
    assert "TASK_STATE_COMPLETED" in states
    assert {"dragoman.commit.size", "a2a.streams", "a2a.tasks.live"} <= measured.keys()


async def test_a_duration_has_its_trace_as_an_example(traced: Traced) -> None:
    async with (
        serving(flights()) as served,
        connect(served.url, headers={"traceparent": PARENT}) as client,
    ):
        await client.send("rome")
    assert TRACE in traced.example_traces("rpc.server.duration")


async def test_turns_at_work_and_those_that_wait_are_counted(traced: Traced) -> None:
    agent, gate = Agent("Slow", "Takes its time."), asyncio.Event()

    @agent.skill
    async def wait(text: str) -> str:
        """Wait."""
        await gate.wait()
        return text

    async with serving(agent, max_running_turns=2) as served, connect(served.url) as client:
        begun = [await client.start(text) for text in "abc"]
        during = await asyncio.to_thread(traced.gauges)
        gate.set()
        for one in begun:
            await client.task(one.task_id).wait()
        await until(lambda: traced.gauges()["dragoman.turns.running"] == 0)
        after = await asyncio.to_thread(traced.gauges)
    assert (during["dragoman.turns.running"], during["dragoman.turns.waiting"]) == (2, 1)
    assert (after["dragoman.turns.running"], after["dragoman.turns.waiting"]) == (0, 0)


async def test_what_webhooks_wait_for_is_measured(traced: Traced) -> None:
    # Nobody listens there.
    hook = TaskPushNotificationConfig(url=f"http://127.0.0.1:{free_port()}/")
    async with (
        serving(flights(), shutdown_grace_seconds=0, **INNER) as served,
        connect(served.url) as client,
    ):
        before = await asyncio.to_thread(traced.gauges)
        await client.send("rome", push=hook)

        async def look() -> dict[str, float] | None:
            found = await asyncio.to_thread(traced.gauges)
            return found if found["dragoman.push.oldest"] > 0 else None

        during = await find(look)
    assert (before["dragoman.push.pending"], before["dragoman.push.oldest"]) == (0, 0)
    assert during["dragoman.push.pending"] == 1
    assert during["dragoman.push.dead_letters"] == 0


async def test_side_by_side_calls_are_spans_of_the_same_turn(traced: Traced) -> None:
    agent = Agent("Both", "Does two things.")

    @agent.skill
    async def both(ctx: Context, text: str) -> str:
        """Do two things at once."""

        async def take(name: str) -> str:
            await asyncio.sleep(0)
            return name

        return "".join(await ctx.gather(*(ctx.step(take, each, name=each) for each in text)))

    async with serving(agent) as served, connect(served.url) as client:
        assert (await client.send("ab")).text == "ab"
    for name in ("step a", "step b"):
        assert traced.parent_of(traced.one(name)) == "invoke_agent both"


async def test_a_turn_that_is_run_again_goes_on_with_its_trace(
    traced: Traced, tmp_path: Path
) -> None:
    agent = Agent("Patient", "Waits.")

    @agent.skill
    async def wait(ctx: Context, text: str) -> str:
        """Ask, and go on later."""
        return f"{text} {await ctx.ask('And?')}"

    store = f"sqlite:///{tmp_path}/tasks.db"
    async with (
        serving(agent, store=store, shutdown_grace_seconds=0) as served,
        connect(served.url, headers={"traceparent": PARENT}) as client,
    ):
        asked = await client.send("one")
    async with serving(agent, store=store) as served, connect(served.url) as client:
        reply = await client.task(asked.task_id).send("two")
        assert reply.text == "one two"
    spans = traced.named("invoke_agent wait")
    assert len(spans) == 2
    assert {f"{span.context.trace_id:032x}" for span in spans if span.context} == {TRACE}


async def test_events_tell_of_their_trace_if_that_is_wanted(traced: Traced) -> None:
    async with (
        serving(flights(), trace_metadata=True) as served,
        connect(served.url, headers={"traceparent": PARENT}) as client,
    ):
        events = [event async for event in client.stream("rome")]
    marked = [update for event in events if (update := event.value.artifact_update) is not None]
    assert [update.metadata and update.metadata["traceId"] for update in marked] == [TRACE]
    span = traced.one("invoke_agent find")
    assert span.context is not None
    assert marked[0].metadata == {"traceId": TRACE, "spanId": f"{span.context.span_id:016x}"}


async def test_events_of_what_is_not_traced_tell_nothing() -> None:
    async with serving(flights(), trace_metadata=True) as served, connect(served.url) as client:
        events = [event async for event in client.stream("rome")]
    assert [e.value.artifact_update.metadata for e in events if e.value.artifact_update] == [None]
