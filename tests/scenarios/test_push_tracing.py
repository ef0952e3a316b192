"""Webhooks are told in which trace that was done of which they are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman import Agent, Context, connect, telemetry
from dragoman.model.push import TaskPushNotificationConfig
from tests.durability.waiting import until
from tests.scenarios.webhooks import INNER
from tests.support.receivers import ReceiverProcess, Request
from tests.support.serving import serving
from tests.support.tracing import Traced

FIRST = "0af7651916cd43dd8448eb211c80319c"
SECOND = "4bf92f3577b34da6a3ce929d0e0e4736"


def headers(trace: str) -> dict[str, str]:
    return {"traceparent": f"00-{trace}-b7ad6b7169203331-01", "tracestate": "vendor=its-own"}


def trace_of(request: Request) -> str:
    return request.headers["traceparent"].split("-")[1]


def agent() -> Agent:
    """Return an agent whose tasks have turns of two kinds."""
    made = Agent("Patient", "Waits.")

    @made.skill
    async def wait(ctx: Context, text: str) -> str:
        """Ask, and go on later."""
        return f"{text} {await ctx.ask('And?')}"

    @made.skill
    async def work(text: str) -> str:
        """Do it."""
        return text

    return made


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> Traced:
    """Have everything traced."""
    found = Traced()
    monkeypatch.setattr(telemetry, "active", found.telemetry)
    return found


def hook(receiver: ReceiverProcess) -> TaskPushNotificationConfig:
    return TaskPushNotificationConfig(url=f"{receiver.url}/secret-path")


async def test_a_webhook_is_told_of_the_trace(traced: Traced, tmp_path: Path) -> None:
    with ReceiverProcess(tmp_path) as receiver:
        async with serving(agent(), **INNER) as served:
            async with connect(served.url, headers=headers(FIRST)) as client:
                await client.send("hello", skill="work", push=hook(receiver))
            await until(lambda: any(one.state == "COMPLETED" for one in receiver.requests()))
    requests = receiver.requests()
    spans = traced.named("send notification")
    assert len(spans) == len(requests)
    assert {trace_of(one) for one in requests} == {FIRST}
    assert {one.headers["tracestate"] for one in requests} == {"vendor=its-own"}
    # Each names the very attempt, which is part of the request that brought the message.
    sent = {f"{span.context.span_id:016x}" for span in spans if span.context}
    assert {one.headers["traceparent"].split("-")[2] for one in requests} == sent
    assert {traced.parent_of(span) for span in spans} == {"a2a.SendStreamingMessage"}
    told = [span.attributes and span.attributes["messaging.message.id"] for span in spans]
    assert told == [one.id for one in requests]
    assert "secret-path" not in "".join(span.to_json() for span in traced.spans)


async def test_what_is_told_after_a_restart_is_of_the_same_trace(
    traced: Traced, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    receiver = ReceiverProcess(tmp_path)
    async with (
        serving(agent(), store=store, shutdown_grace_seconds=0, **INNER) as served,
        connect(served.url, headers=headers(FIRST)) as client,
    ):
        # Nobody listens at that port yet.
        await client.send("hello", skill="work", push=hook(receiver))
        await until(lambda: bool(traced.named("send notification")))
    failed = traced.named("send notification")[0]
    assert failed.attributes is not None
    assert failed.attributes["error.type"] == "Unanswered"
    with receiver:
        async with serving(agent(), store=store, **INNER):
            await until(lambda: any(one.state == "COMPLETED" for one in receiver.requests()))
    assert {trace_of(one) for one in receiver.requests()} == {FIRST}


async def test_each_turn_tells_of_its_own_trace(traced: Traced, tmp_path: Path) -> None:
    made = agent()

    @made.skill
    async def talk(ctx: Context, text: str) -> str:
        """Wait until there is another message, which begins a turn of its own."""
        if text == "one":
            await until(lambda: bool(traced.named("a2a.SendMessage")[1:]))
        return text

    with ReceiverProcess(tmp_path) as receiver:
        async with serving(made, push_events=("states", "artifacts"), **INNER) as served:
            async with connect(served.url, headers=headers(FIRST)) as client:
                begun = await client.start("one", skill="talk", push=hook(receiver))
            async with connect(served.url, headers=headers(SECOND)) as client:
                await client.start("two", task_id=begun.task_id)
            await until(lambda: any(one.state == "COMPLETED" for one in receiver.requests()))
    said = {
        part["text"]: trace_of(one)
        for one in receiver.requests()
        if (update := one.body.get("artifactUpdate"))
        for part in update["artifact"]["parts"]
    }
    assert said == {"one": FIRST, "two": SECOND}


async def test_without_a_provider_nothing_is_told_of_traces(tmp_path: Path) -> None:
    with ReceiverProcess(tmp_path) as receiver:
        async with serving(agent(), **INNER) as served:
            async with connect(served.url, headers=headers(FIRST)) as client:
                await client.send("hello", skill="work", push=hook(receiver))
            await until(lambda: any(one.state == "COMPLETED" for one in receiver.requests()))
    assert not any("traceparent" in one.headers for one in receiver.requests())


async def test_what_began_before_there_was_a_provider_begins_a_trace_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    with ReceiverProcess(tmp_path) as receiver:
        async with (
            serving(agent(), store=store, shutdown_grace_seconds=0, **INNER) as served,
            connect(served.url) as client,
        ):
            asked = await client.send("hello", skill="wait", push=hook(receiver))
        traced = Traced()
        monkeypatch.setattr(telemetry, "active", traced.telemetry)
        async with serving(agent(), store=store, **INNER) as served:
            async with connect(served.url, headers=headers(SECOND)) as client:
                await client.task(asked.task_id).send("two")
            await until(lambda: any(one.state == "COMPLETED" for one in receiver.requests()))
    last = next(one for one in receiver.requests() if one.state == "COMPLETED")
    assert trace_of(last) not in {FIRST, SECOND}
    assert all(span.parent is None for span in traced.named("send notification"))
