"""``dragoman serve --otlp``: real servers, each in a process of its own, and a real collector."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Generator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.support.collector import Collector, until
from tests.support.postgres import new_database
from tests.support.serving import AgentProcess

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"

FLIGHTS = '''\
import logging

from opentelemetry import trace

from dragoman import Agent, Context

agent = Agent("Flights", "Finds flights.")
tracer = trace.get_tracer("flights", "2.0")


@agent.skill
async def find(ctx: Context, text: str) -> str:
    """Find one."""
    trace.get_current_span().set_attribute("flights.to", text)
    with tracer.start_as_current_span("look up", attributes={"n": 1}) as span:
        span.add_event("found")
        logging.getLogger("flights").warning("looking")
    return text.upper()
'''

TRAVEL = '''\
from dragoman import Agent, Context, Peer

agent = Agent("Travel", "Plans.")
flights = Peer("{url}", name="Flights")


@agent.skill
async def plan(ctx: Context, text: str) -> str:
    """Plan."""
    return (await ctx.call(flights, text)).text
'''


@pytest.fixture
def collector() -> Generator[Collector]:
    with Collector() as found:
        yield found


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    path = tmp_path / "flights.py"
    path.write_text(FLIGHTS)
    return path


def served(agent: Path, collector: Collector, *options: str) -> AgentProcess:
    return AgentProcess(agent, "--store", "memory:", "--otlp", collector.url, *options)


def send(process: AgentProcess, text: str, **headers: str) -> str:
    """Have a message answered; return the answer."""
    message = {"messageId": f"m-{text}", "role": "ROLE_USER", "parts": [{"text": text}]}
    connection = HTTPConnection("127.0.0.1", process.port, timeout=15)
    connection.request(
        "POST",
        "/message:send",
        json.dumps({"message": message}),
        {"Content-Type": "application/a2a+json", "A2A-Version": "1.0", **headers},
    )
    task: dict[str, Any] = json.load(connection.getresponse())["task"]
    connection.close()
    return task["artifacts"][0]["parts"][0]["text"]


@pytest.mark.timeout(60)
def test_agents_that_call_each_other_are_one_trace(
    collector: Collector, flights: Path, tmp_path: Path
) -> None:
    travel = tmp_path / "travel.py"
    with served(flights, collector, "--log-format", "json") as called:
        travel.write_text(TRAVEL.replace("{url}", called.url))
        with served(travel, collector) as caller:
            assert send(caller, "rome", traceparent=PARENT, tracestate="v=1") == "ROME"
            assert caller.stop() == 0
        assert called.stop() == 0
    assert {span["traceId"] for span in collector.spans} == {TRACE}
    assert {span["traceState"] for span in collector.spans} == {"v=1"}
    parents = {span["name"]: collector.parent_of(span) for span in collector.spans}
    child = next(name for name in parents if name.startswith("a2a.Send") and parents[name])
    assert parents == {
        # Asked by somebody whose spans are not here.
        "a2a.SendMessage": "",
        "invoke_agent plan": "a2a.SendMessage",
        "invoke_agent Flights": "invoke_agent plan",
        child: "invoke_agent Flights",
        "invoke_agent find": child,
        "look up": "invoke_agent find",
    }
    assert collector.one("a2a.SendMessage")["parentSpanId"] == "b7ad6b7169203331"
    # What the skill has done by itself.
    assert collector.attributes_of("invoke_agent find")["flights.to"] == "rome"
    assert collector.attributes_of("look up") == {"n": "1"}
    assert [event["name"] for event in collector.one("look up")["events"]] == ["found"]
    assert {resource["service.name"] for resource in collector.resources} == {"Travel", "Flights"}
    # Log lines name the span they were written in.
    (line,) = [line for line in "".join(called.output).splitlines() if "looking" in line]
    assert json.loads(line)["trace_id"] == TRACE
    assert json.loads(line)["span_id"] == collector.one("look up")["spanId"]


@pytest.mark.timeout(60)
def test_what_happened_while_the_collector_was_away_comes_later(flights: Path) -> None:
    collector = Collector()
    with collector:
        pass  # From now on it has a port at which nobody listens.
    with served(flights, collector) as process:
        for number in range(5):
            assert send(process, f"a{number}") == f"A{number}"
        process.wait_for("does not take spans")
        with collector:
            until(lambda: collector.names.count("a2a.SendMessage") == 5)
            assert send(process, "b") == "B"
            until(lambda: collector.names.count("a2a.SendMessage") == 6)
            assert process.stop() == 0
    output = "".join(process.output)
    # Once each, however often it was tried.
    assert output.count("does not take spans") == 1
    assert output.count("takes spans again; 0 were lost") == 1


@pytest.mark.timeout(60)
def test_a_collector_that_does_not_answer_holds_nobody_up(
    collector: Collector, flights: Path
) -> None:
    collector.is_held = True
    with served(flights, collector) as process:
        assert send(process, "a") == "A"
        until(lambda: collector.requests == 1)
        assert send(process, "b") == "B"
        began = time.monotonic()
        # It is waited for, but not until it gives up by itself: that would be ten seconds.
        assert process.stop(signal.SIGINT) == 0
        assert time.monotonic() - began < 9
    assert "spans were not sent to" in "".join(process.output)


@pytest.mark.timeout(60)
def test_a_collector_that_is_away_does_not_delay_the_stop(flights: Path) -> None:
    with Collector() as collector:
        pass  # From now on it has a port at which nobody listens.
    with served(flights, collector) as process:
        assert send(process, "a") == "A"
        process.wait_for("does not take spans")
        assert send(process, "b") == "B"
        began = time.monotonic()
        assert process.stop() == 0
        # The SDK alone would go on for some seconds.
        assert time.monotonic() - began < 4
    output = "".join(process.output)
    assert output.count("does not take spans") == 1
    assert output.count("6 spans were not sent to") == 1
    assert "Traceback" not in output


@pytest.mark.timeout(60)
def test_a_collector_that_refuses_is_told_of_once(collector: Collector, flights: Path) -> None:
    collector.usual = (500, {}, b"broken")
    with served(flights, collector) as process:
        for number in range(3):
            assert send(process, f"a{number}") == f"A{number}"
            until(lambda number=number: collector.requests > number)
        assert process.stop() == 0
    output = "".join(process.output)
    assert output.count("does not take spans") == 1
    assert "code: 500" in output
    assert output.count("9 spans were not sent to") == 1


@pytest.mark.timeout(60)
def test_the_environment_can_say_all_of_it(collector: Collector, flights: Path) -> None:
    process = AgentProcess(flights, "--store", "memory:")
    process.start(
        DRAGOMAN_OTLP=collector.url,
        OTEL_SERVICE_NAME="planes",
        OTEL_EXPORTER_OTLP_HEADERS="api-key=secret",
        OTEL_TRACES_SAMPLER_ARG="0",
    )
    with process:
        send(process, "not-kept")
        send(process, "kept", traceparent=PARENT)
        assert process.stop() == 0
    assert {span["traceId"] for span in collector.spans} == {TRACE}
    assert collector.resources[0]["service.name"] == "planes"
    assert collector.headers[0]["api-key"] == "secret"


@pytest.mark.timeout(60)
def test_each_worker_sends_its_own(collector: Collector, flights: Path) -> None:
    options = ("--store", new_database(), "--workers", "2", "--otlp", collector.url)
    with AgentProcess(flights, *options) as process:
        number = 0

        def have_both_sent() -> bool:
            nonlocal number
            number += 1
            send(process, f"a{number}")
            return len({each["service.instance.id"] for each in collector.resources}) == 2

        until(have_both_sent)
        assert process.stop() == 0
    # None is lost, and none is sent by two.
    assert collector.names.count("a2a.SendMessage") == number
    assert len({span["spanId"] for span in collector.spans}) == len(collector.spans)


@pytest.mark.timeout(60)
def test_an_agent_with_a_provider_of_its_own_is_not_served_with_the_option(
    collector: Collector, tmp_path: Path
) -> None:
    agent = tmp_path / "own.py"
    agent.write_text(
        "from opentelemetry import trace\n"
        "from dragoman import Agent\n"
        "from opentelemetry.sdk.trace import TracerProvider\n"
        "trace.set_tracer_provider(TracerProvider())\n"
        'agent = Agent("Own", "Sends by itself.")\n'
        "@agent.skill\n"
        "async def echo(text: str) -> str:\n"
        "    return text\n"
    )
    process = served(agent, collector)
    with pytest.raises(AssertionError, match="OpenTelemetry has a tracer provider already"):
        process.start()
