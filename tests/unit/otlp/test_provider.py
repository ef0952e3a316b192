from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    TraceState,
)

from dragoman.errors import UsageError
from dragoman.otlp import OtlpProvider
from dragoman.otlp.provider import OtlpTracer
from dragoman.otlp.span import RecordedSpan, Scope
from dragoman.telemetry import Telemetry
from tests.support.collector import Collector
from tests.support.tracing import Traced

STATE = TraceState([("vendor", "x")])
NOTHING = Context()


@pytest.fixture
def taken() -> list[RecordedSpan]:
    """The spans that have ended."""
    return []


@pytest.fixture
def tracer(taken: list[RecordedSpan]) -> OtlpTracer:
    return OtlpTracer(Scope("tests"), taken.append, now_ns=lambda: 7)


def within(flags: int, *, is_remote: bool = True) -> Context:
    """Return a context whose span somebody else has begun."""
    context = SpanContext(
        0xAB, 0xCD, is_remote=is_remote, trace_flags=TraceFlags(flags), trace_state=STATE
    )
    return trace.set_span_in_context(NonRecordingSpan(context), NOTHING)


def recorded(span: Span) -> RecordedSpan:
    assert isinstance(span, RecordedSpan)
    return span


def test_without_a_parent_a_trace_begins(tracer: OtlpTracer) -> None:
    one, other = (recorded(tracer.start_span("root", NOTHING)) for _ in range(2))
    context = one.get_span_context()
    assert context.is_valid
    assert context.trace_flags == TraceFlags.SAMPLED
    assert not context.is_remote
    assert one.parent is None
    assert context.trace_id != other.get_span_context().trace_id
    assert context.span_id != other.get_span_context().span_id


def test_what_a_span_is_begun_with_is_kept(tracer: OtlpTracer) -> None:
    link = Link(SpanContext(1, 2, is_remote=True), {"why": "because"})
    span = recorded(
        tracer.start_span("work", NOTHING, SpanKind.CLIENT, {"a": 1}, [link], start_time=3)
    )
    assert (span.name, span.kind, span.start_ns) == ("work", SpanKind.CLIENT, 3)
    assert span.attributes == {"a": 1}
    assert span.links == [(link.context, {"why": "because"})]
    assert recorded(tracer.start_span("now", NOTHING)).start_ns == 7


@pytest.mark.parametrize("flags", [0x01, 0x03])
def test_a_trace_that_its_beginner_keeps_is_kept(taken: list[RecordedSpan], flags: int) -> None:
    # Whatever part of our own traces we keep; and flags that we do not know go on.
    tracer = OtlpTracer(Scope("tests"), taken.append, ratio=0.0)
    span = recorded(tracer.start_span("work", within(flags)))
    context = span.get_span_context()
    assert (context.trace_id, context.trace_flags) == (0xAB, flags)
    assert context.trace_state == STATE
    assert not context.is_remote
    assert span.parent is not None
    assert (span.parent.span_id, span.parent.is_remote) == (0xCD, True)


def test_a_trace_that_its_beginner_does_not_keep_is_not_kept(
    tracer: OtlpTracer, taken: list[RecordedSpan]
) -> None:
    span = tracer.start_span("work", within(0))
    assert not span.is_recording()
    span.end()
    assert taken == []
    context = span.get_span_context()
    # Those it calls are told whose trace they are in, and that it is not kept.
    assert (context.trace_id, context.trace_flags, context.trace_state) == (0xAB, 0, STATE)
    assert context.span_id not in (0, 0xCD)


def test_a_part_of_the_traces_is_kept_and_the_same_as_with_the_sdk(
    taken: list[RecordedSpan],
) -> None:
    tracer = OtlpTracer(Scope("tests"), taken.append, ratio=0.25)
    spans = [tracer.start_span("root", NOTHING) for _ in range(400)]
    assert 0 < sum(span.is_recording() for span in spans) < 400
    reference = TraceIdRatioBased(0.25)
    for span in spans:
        context = span.get_span_context()
        decision = reference.should_sample(NOTHING, context.trace_id, "root").decision
        assert span.is_recording() == (decision is Decision.RECORD_AND_SAMPLE)
        assert context.trace_flags.sampled == span.is_recording()


@pytest.mark.parametrize(("ratio", "kept"), [(0.0, 0), (1.0, 50)])
def test_none_or_all_may_be_kept(taken: list[RecordedSpan], ratio: float, kept: int) -> None:
    tracer = OtlpTracer(Scope("tests"), taken.append, ratio=ratio)
    for _ in range(50):
        tracer.start_span("root", NOTHING).end()
    assert len(taken) == kept


def test_ids_do_not_depend_on_the_seed_of_others(tracer: OtlpTracer) -> None:
    found: set[int] = set()
    for _ in range(2):
        random.seed(1)
        found.add(tracer.start_span("root", NOTHING).get_span_context().trace_id)
    assert len(found) == 2


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_has_ids_of_its_own(tracer: OtlpTracer) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, str(tracer.start_span("a", NOTHING).get_span_context().span_id).encode())
        os._exit(0)
    os.waitpid(child, 0)
    own = tracer.start_span("a", NOTHING).get_span_context().span_id
    assert int(os.read(reader, 100)) != own
    os.close(reader)
    os.close(writer)


def test_a_span_is_current_while_its_block_runs(
    tracer: OtlpTracer, taken: list[RecordedSpan]
) -> None:
    with tracer.start_as_current_span("outer", kind=SpanKind.SERVER, attributes={"a": 1}) as outer:
        assert trace.get_current_span() is outer
        trace.get_current_span().set_attribute("b", 2)
        with tracer.start_as_current_span("inner"):
            pass
    assert not trace.get_current_span().is_recording()
    inner, same = taken
    assert same is outer
    assert inner.parent == outer.get_span_context()
    assert (same.kind, same.attributes) == (SpanKind.SERVER, {"a": 1, "b": 2})


def test_an_error_that_leaves_the_block_is_told_once(
    tracer: OtlpTracer, taken: list[RecordedSpan]
) -> None:
    with pytest.raises(ValueError, match="no"), tracer.start_as_current_span("work"):
        raise ValueError("no")
    (span,) = taken
    assert [event.name for event in span.events or ()] == ["exception"]
    assert (span.status, span.status_text) == (StatusCode.ERROR, "ValueError: no")


def test_an_error_is_not_told_if_that_is_not_wanted(
    tracer: OtlpTracer, taken: list[RecordedSpan]
) -> None:
    with (
        pytest.raises(ValueError, match="no"),
        tracer.start_as_current_span(
            "work", record_exception=False, set_status_on_exception=False, end_on_exit=False
        ) as span,
    ):
        raise ValueError("no")
    assert span.is_recording()
    assert taken == []
    assert (recorded(span).events, recorded(span).status) == (None, StatusCode.UNSET)


async def test_coroutines_can_be_decorated(tracer: OtlpTracer, taken: list[RecordedSpan]) -> None:
    @tracer.start_as_current_span("decorated")
    async def work() -> bool:
        await asyncio.sleep(0)
        return trace.get_current_span().is_recording()

    assert await work()
    assert await work()
    assert [span.name for span in taken] == ["decorated", "decorated"]


# --- the provider -----------------------------------------------------------------------------


@pytest.fixture
def collector() -> Generator[Collector]:
    with Collector() as found:
        yield found


def test_spans_reach_a_collector_with_who_has_made_them(collector: Collector) -> None:
    environ = {
        "OTEL_EXPORTER_OTLP_HEADERS": "api-key=secret",
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=tests",
    }
    provider = OtlpProvider(collector.url, service_name="Echo", environ=environ)
    tracer = provider.get_tracer("lib", "1.0", "https://schema.example", {"a": 1})
    tracer.start_span("work", NOTHING).end()
    provider.shutdown()
    assert collector.names == ["work"]
    assert collector.headers[0]["api-key"] == "secret"
    (resource,) = collector.resources
    assert resource.pop("service.instance.id")
    assert resource.pop("telemetry.sdk.version")
    assert resource == {
        "service.name": "Echo",
        "deployment.environment.name": "tests",
        "telemetry.sdk.name": "dragoman",
        "telemetry.sdk.language": "python",
    }
    (scope,) = collector.bodies[0]["resourceSpans"][0]["scopeSpans"]
    assert (scope["scope"]["name"], scope["scope"]["version"]) == ("lib", "1.0")
    assert scope["schemaUrl"] == "https://schema.example"
    assert provider.lost == 0


def test_after_shutdown_spans_are_dropped(collector: Collector) -> None:
    provider = OtlpProvider(collector.url, environ={})
    provider.shutdown()
    provider.get_tracer("lib").start_span("late", NOTHING).end()
    provider.shutdown()
    assert collector.requests == 0
    assert provider.lost == 1


def test_the_environment_says_which_part_is_kept(collector: Collector) -> None:
    provider = OtlpProvider(collector.url, environ={"OTEL_TRACES_SAMPLER_ARG": "0"})
    assert not provider.get_tracer("lib").start_span("work", NOTHING).is_recording()
    provider.shutdown()


@pytest.mark.parametrize(
    ("url", "environ", "told"),
    [
        ("nowhere", {}, "otlp: 'nowhere' is no address"),
        ("http://c:1", {"OTEL_TRACES_SAMPLER_ARG": "2"}, "OTEL_TRACES_SAMPLER_ARG must be"),
        ("http://c:1", {"OTEL_EXPORTER_OTLP_HEADERS": "x"}, "OTEL_EXPORTER_OTLP_HEADERS must"),
        ("http://c:1", {"OTEL_RESOURCE_ATTRIBUTES": "x"}, "OTEL_RESOURCE_ATTRIBUTES must"),
    ],
)
def test_what_is_wrong_is_told_at_once(url: str, environ: dict[str, str], told: str) -> None:
    with pytest.raises(UsageError, match=f"^{told}"):
        OtlpProvider(url, environ=environ)


PROGRAM = """
import sys
from opentelemetry import trace
from dragoman.otlp import OtlpProvider
trace.set_tracer_provider(OtlpProvider(sys.argv[1]))
with trace.get_tracer("program").start_as_current_span("work"):
    pass
assert "opentelemetry.sdk" not in sys.modules
"""


def test_a_program_that_ends_sends_its_last_spans(collector: Collector, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, collector.url],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert collector.names == ["work"]


def test_durations_have_its_spans_as_examples(collector: Collector) -> None:
    traced, provider = Traced(), OtlpProvider(collector.url, environ={})
    telemetry = Telemetry(provider, traced.meters)
    with telemetry.served("SendMessage", "1.0", {}):
        trace_id, _ = telemetry.ids()
        telemetry.took(1.0, "SendMessage", "1.0", "ok")
    provider.shutdown()
    assert traced.example_traces("rpc.server.duration") == {trace_id}
    assert collector.one("a2a.SendMessage")["traceId"] == trace_id
