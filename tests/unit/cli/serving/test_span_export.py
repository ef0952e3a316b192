"""The SDK as we set it up, against a real collector."""

from __future__ import annotations

import logging
import random
import ssl
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

from dragoman.cli.serving.span_export import SpanExport, UnseededIds
from dragoman.telemetry import Telemetry
from tests.support.collector import Collector, until
from tests.support.server.certificates import write_files
from tests.support.serving import free_port
from tests.support.tracing import Traced

NOTHING = Context()
SECONDS = 10.0


@pytest.fixture
def collector() -> Generator[Collector]:
    with Collector() as found:
        yield found


def export_to(collector: Collector, name: str = "Echo", ratio: float | None = None) -> SpanExport:
    return SpanExport(f"{collector.url}/v1/traces", name, ratio=ratio)


def make(export: SpanExport, name: str = "work") -> None:
    """Begin and end a span."""
    export.provider.get_tracer("lib").start_span(name, NOTHING).end()


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_spans_reach_a_collector_with_who_has_made_them(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=tests")
    export = export_to(collector)
    tracer = export.provider.get_tracer("lib", "1.0", "https://schema.example")
    tracer.start_span("work", NOTHING).end()
    export.shutdown(SECONDS)
    assert collector.names == ["work"]
    assert collector.paths == ["/v1/traces"]
    assert collector.headers[0]["content-type"] == "application/x-protobuf"
    assert collector.headers[0]["api-key"] == "secret"
    (resource,) = collector.resources
    assert resource.pop("service.instance.id")
    assert resource.pop("telemetry.sdk.version")
    assert resource == {
        "service.name": "Echo",
        "deployment.environment.name": "tests",
        "telemetry.sdk.name": "opentelemetry",
        "telemetry.sdk.language": "python",
    }
    (scope,) = collector.bodies[0]["resourceSpans"][0]["scopeSpans"]
    assert (scope["scope"]["name"], scope["scope"]["version"]) == ("lib", "1.0")
    assert scope["schemaUrl"] == "https://schema.example"


@pytest.mark.parametrize(
    ("attributes", "name", "expected"),
    [("", "", "Echo"), ("service.name=a", "", "a"), ("service.name=a", "b", "b")],
)
def test_the_environment_says_who_we_are(
    monkeypatch: pytest.MonkeyPatch,
    collector: Collector,
    attributes: str,
    name: str,
    expected: str,
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", attributes)
    monkeypatch.setenv("OTEL_SERVICE_NAME", name)
    export = export_to(collector)
    assert export.provider.resource.attributes["service.name"] == expected
    export.shutdown(SECONDS)


def test_spans_do_not_wait_long_for_others(collector: Collector) -> None:
    export = export_to(collector)
    make(export)
    began = time.monotonic()
    until(lambda: collector.names == ["work"])
    # The SDK's own pause is five seconds.
    assert time.monotonic() - began < 4
    export.shutdown(SECONDS)


def test_how_long_they_wait_is_up_to_the_environment(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    export = export_to(collector)
    began = time.monotonic()
    make(export)
    until(lambda: collector.names == ["work"])
    assert time.monotonic() - began < 0.9
    export.shutdown(SECONDS)


def test_after_shutdown_spans_are_dropped(collector: Collector) -> None:
    export = export_to(collector)
    export.shutdown(SECONDS)
    make(export)
    export.shutdown(SECONDS)
    assert collector.requests == 0


@pytest.mark.parametrize(("ratio", "kept"), [(0.0, 0), (1.0, 50), (None, 50)])
def test_a_part_of_the_traces_is_kept(collector: Collector, ratio: float | None, kept: int) -> None:
    export = export_to(collector, ratio=ratio)
    for _ in range(50):
        make(export)
    export.shutdown(SECONDS)
    assert len(collector.spans) == kept


@pytest.mark.parametrize("flags", [0x00, 0x01])
def test_a_trace_is_kept_if_its_beginner_keeps_it(collector: Collector, flags: int) -> None:
    state = TraceState([("vendor", "x")])
    begun = SpanContext(
        0xAB, 0xCD, is_remote=True, trace_flags=TraceFlags(flags), trace_state=state
    )
    context = trace.set_span_in_context(NonRecordingSpan(begun), NOTHING)
    # Whatever part of our own traces we keep.
    export = export_to(collector, ratio=1.0 - flags)
    span = export.provider.get_tracer("lib").start_span("work", context)
    assert span.get_span_context().trace_id == 0xAB
    span.end()
    export.shutdown(SECONDS)
    assert len(collector.spans) == flags


def test_durations_have_its_spans_as_examples(collector: Collector) -> None:
    traced, export = Traced(), export_to(collector)
    telemetry = Telemetry(export.provider, traced.meters)
    with telemetry.served("SendMessage", "1.0", {}):
        trace_id, _ = telemetry.ids()
        telemetry.took(1.0, "SendMessage", "1.0", "ok")
    export.shutdown(SECONDS)
    assert traced.example_traces("rpc.server.duration") == {trace_id}
    assert collector.one("a2a.SendMessage")["traceId"] == trace_id


def test_ids_do_not_depend_on_the_seed_of_others() -> None:
    ids, found = UnseededIds(), set[int]()
    for _ in range(2):
        random.seed(1)
        found |= {ids.generate_trace_id(), ids.generate_span_id()}
    assert len(found) == 4


# --- what goes wrong ----------------------------------------------------------------------------


def test_a_collector_that_was_busy_gets_them_later(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.answers = [(503, {"Retry-After": "0"}, b"later")] * 2
    export = export_to(collector)
    make(export)
    until(lambda: collector.names == ["work"])
    until(lambda: len(caplog.records) == 2)
    export.shutdown(SECONDS)
    failed, again = lines(caplog)
    # Once, and not for every attempt.
    assert failed.startswith(f"{collector.url} does not take spans: ")
    assert again == f"{collector.url} takes spans again; 0 were lost"
    assert {record.levelno for record in caplog.records} == {logging.WARNING}


@pytest.mark.parametrize("status", [307, 400, 500])
def test_a_refusal_is_told_of_once_and_what_is_lost_at_the_end(
    collector: Collector, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    # The SDK counts a redirect as success.
    other = f"{collector.url}/elsewhere"
    collector.answers = [(status, {"Location": other}, b"")] * 2
    export = export_to(collector)
    for number in range(3):
        make(export)
        until(lambda number=number: collector.requests == number + 1)
    until(lambda: len(caplog.records) == 2)
    export.shutdown(SECONDS)
    failed, again, at_the_end = lines(caplog)
    assert failed.startswith(f"{collector.url} does not take spans: ")
    assert str(status) in failed
    assert again == f"{collector.url} takes spans again; 2 were lost"
    assert at_the_end == f"2 spans were not sent to {collector.url}"
    assert collector.paths == ["/v1/traces"]


def test_a_collector_that_is_away_is_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    export = SpanExport(f"http://127.0.0.1:{free_port()}/v1/traces", "Echo")
    for _ in range(600):
        make(export)
    until(lambda: len(caplog.records) == 1)
    began = time.monotonic()
    export.shutdown(SECONDS)
    assert time.monotonic() - began < 3
    assert [line.startswith("600 spans were not sent to") for line in lines(caplog)] == [
        False,
        True,
    ]


def test_who_finds_it_away_at_the_end_gives_up_at_once() -> None:
    export = SpanExport(f"http://127.0.0.1:{free_port()}/v1/traces", "Echo")
    make(export)
    began = time.monotonic()
    export.shutdown(SECONDS)
    assert time.monotonic() - began < 3


def test_a_collector_that_does_not_answer_is_left(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    collector.is_held = True
    export = export_to(collector)
    make(export)
    until(lambda: collector.requests == 1)
    make(export)
    export.shutdown(0.1)
    assert lines(caplog) == [f"the last spans were not sent to {collector.url}: it is too slow"]


def test_other_lines_of_the_sdk_are_left_alone(
    collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    export = export_to(collector)
    name = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
    logging.getLogger(name).warning("of an exporter that the user has")
    make(export)
    export.shutdown(SECONDS)
    logging.getLogger(name).warning("of it again")
    assert lines(caplog) == ["of an exporter that the user has", "of it again"]


def test_credentials_are_never_logged(
    collector: Collector, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hunter2")
    caplog.set_level(logging.DEBUG)
    collector.answers = [(401, {}, b"no")]
    export = export_to(collector)
    make(export)
    until(lambda: collector.requests == 1)
    make(export)
    until(lambda: collector.names == ["work"])
    export.shutdown(SECONDS)
    assert collector.headers[0]["authorization"] == "Bearer hunter2"
    assert "hunter2" not in caplog.text


def test_a_collector_may_speak_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    files = write_files(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(files.server, files.server_key)
    with Collector(tls) as collector:
        stranger = export_to(collector)
        make(stranger)
        stranger.shutdown(SECONDS)
        assert "CERTIFICATE_VERIFY_FAILED" in lines(caplog)[0]
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", str(files.ca))
        # To the exporter's HTTP client these count for more.
        monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
        monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
        export = export_to(collector)
        make(export)
        export.shutdown(SECONDS)
    assert collector.names == ["work"]
