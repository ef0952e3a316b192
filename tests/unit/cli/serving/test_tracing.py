from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.serving.tracing import (
    check_environment,
    check_tracing,
    endpoint_of,
    ratio_of,
    tracing,
)
from dragoman.errors import UsageError
from tests.support.cli.commands import AGENT, call
from tests.support.collector import Collector


def run(program: str, *arguments: str) -> str:
    """Return the output of a program: a provider is there for good, so each has its own process."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


TRACED = """
import sys
from dragoman import telemetry
from dragoman.cli.serving.tracing import check_tracing, tracing
check_tracing(sys.argv[1])
assert telemetry.look() is None
with tracing(sys.argv[1], "Echo"):
    with telemetry.look().span("work", {}):
        pass
"""


def test_what_runs_meanwhile_is_traced_and_sent_at_the_end() -> None:
    with Collector() as collector:
        run(TRACED, collector.url)
    assert collector.names == ["work"]
    assert collector.resources[0]["service.name"] == "Echo"


CHECKED = """
import sys
from dragoman.cli.serving.tracing import check_tracing
# Threads take turns so rarely that whoever does not wait for one finds it alive.
sys.setswitchinterval(5)
for _ in range(5):
    check_tracing(sys.argv[1])
"""


def test_a_check_says_nothing_and_sends_nothing() -> None:
    with Collector() as collector:
        done = subprocess.run(
            [sys.executable, "-c", CHECKED, collector.url],
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert collector.requests == 0


UNTRACED = """
import sys
from dragoman.cli.serving.tracing import check_tracing, tracing
check_tracing("")
with tracing("", "Echo"):
    assert "opentelemetry" not in sys.modules
"""


def test_without_an_address_nothing_is_even_imported() -> None:
    run(UNTRACED)


OTHER = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
from dragoman.cli.serving.tracing import check_tracing, tracing
from dragoman.errors import UsageError
for attempt in (check_tracing, lambda url: tracing(url, "Echo").__enter__()):
    try:
        attempt("http://127.0.0.1:4318")
    except UsageError as error:
        print(error)
"""


def test_a_provider_that_is_there_wins_and_the_option_is_an_error() -> None:
    lines = run(OTHER).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("otlp: OpenTelemetry has a tracer provider") for line in lines)


@pytest.mark.parametrize(
    "missing",
    [
        # Nothing of it, the API alone, all but the exporter.
        "opentelemetry",
        "opentelemetry.sdk.trace",
        "opentelemetry.exporter.otlp.proto.http.trace_exporter",
        "requests",
    ],
)
def test_without_the_library_the_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.delitem(sys.modules, "dragoman.cli.serving.span_export", raising=False)
    for name in [name for name in sys.modules if name.startswith(f"{missing}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError, match=r"pip install 'dragoman\[telemetry\]'"):
        check_tracing("http://127.0.0.1:4318")


def test_a_wrong_address_is_told_before_anything_is_done() -> None:
    with pytest.raises(UsageError, match=r"^otlp: 'nowhere' is no address of a collector"):
        check_tracing("nowhere")
    with pytest.raises(UsageError, match=r"^otlp: "), tracing("nowhere", "Echo"):
        pass


def test_the_command_tells_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(AGENT)
    done = call(tmp_path, "serve", "bot.py", "--port", "0", "--otlp", "collector:4318")
    assert done.returncode == 2
    assert done.stderr == (
        "dragoman: error: otlp: 'collector:4318' is no address of a collector: "
        "give one such as http://collector:4318\n"
    )


@pytest.mark.parametrize(
    ("variable", "value", "told"),
    [
        ("OTEL_TRACES_SAMPLER_ARG", "2", "OTEL_TRACES_SAMPLER_ARG must be"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x", "OTEL_EXPORTER_OTLP_HEADERS must"),
        ("OTEL_RESOURCE_ATTRIBUTES", "x", "OTEL_RESOURCE_ATTRIBUTES must"),
        # What the SDK refuses by itself.
        ("OTEL_BSP_MAX_QUEUE_SIZE", "-1", "otlp: max_queue_size must be"),
        ("OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER", "x", "otlp: Requested component"),
    ],
)
def test_what_is_wrong_in_the_environment_is_told_at_once(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, told: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError, match=f"^{told}"):
        check_tracing("http://127.0.0.1:4318")


# --- addresses and variables ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://collector:4318", "http://collector:4318/v1/traces"),
        ("https://collector.example/", "https://collector.example/v1/traces"),
        # Behind a prefix, as some vendors have it.
        ("https://v.example/otlp/", "https://v.example/otlp/v1/traces"),
        # The whole address, as other tools want it.
        ("http://[::1]:4318/v1/traces", "http://[::1]:4318/v1/traces"),
    ],
)
def test_an_address_is_read(url: str, expected: str) -> None:
    assert endpoint_of(url) == expected


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("collector:4318", "is no address of a collector"),
        ("grpc://collector:4317", "is no address of a collector"),
        ("http://", "is no address of a collector"),
        ("http://collector:port", "is no address"),
        ("http://collector:99999", "is no address"),
        ("http://[::1", "is no address"),
        ("http://collector:4318/?a=b", "must end with its path"),
        ("http://collector:4318/#a", "must end with its path"),
        ("http://collector/a b", "characters that an address cannot have"),
        ("http://cöllector/", "characters that an address cannot have"),
    ],
)
def test_what_is_no_address_is_told(url: str, told: str) -> None:
    with pytest.raises(UsageError, match=r"^otlp: ") as caught:
        endpoint_of(url)
    assert told in str(caught.value)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(UsageError, match="OTEL_EXPORTER_OTLP_HEADERS") as caught:
        endpoint_of("https://me:hunter2@collector.example")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "api-key=secret",
        "authorization=Basic%20dXNlcg==, x-tenant = a%2Cb ,",
        "authorization=Basic dXNlcg==",
        "empty=",
    ],
)
def test_headers_are_taken(text: str) -> None:
    check_environment({"OTEL_EXPORTER_OTLP_HEADERS": text})


@pytest.mark.parametrize(
    "variable", ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"]
)
@pytest.mark.parametrize(
    "text",
    [
        "hunter2",
        "=hunter2",
        "a b=hunter2",
        "a%0D%0Ab=hunter2",
        "a=hunter2%0D%0Ab:c",
        # The SDK would leave these out, and log them.
        "a=hunter2;b",
        'a="hunter2"',
    ],
)
def test_headers_that_cannot_be_are_told_without_their_values(variable: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"^{variable}") as caught:
        check_environment({variable: text})
    assert "hunter2" not in str(caught.value)


def test_attributes_that_cannot_be_read_are_told() -> None:
    check_environment({"OTEL_RESOURCE_ATTRIBUTES": "service.name=a,deployment.environment.name=b"})
    with pytest.raises(UsageError, match=r"^OTEL_RESOURCE_ATTRIBUTES must be a list"):
        check_environment({"OTEL_RESOURCE_ATTRIBUTES": "production"})


@pytest.mark.parametrize(
    ("text", "expected"), [("", None), ("0", 0.0), (" 0.25 ", 0.25), ("1", 1.0)]
)
def test_a_ratio_is_read(text: str, expected: float | None) -> None:
    assert ratio_of({"OTEL_TRACES_SAMPLER_ARG": text}) == expected


def test_whoever_names_a_sampler_leaves_the_ratio_to_it() -> None:
    named = {"OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5"}
    assert ratio_of(named) is None


@pytest.mark.parametrize("text", ["1.1", "-0.1", "nan", "a tenth"])
def test_what_is_no_ratio_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1"):
        ratio_of({"OTEL_TRACES_SAMPLER_ARG": text})
