from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.serving.tracing import check_tracing, tracing
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


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dragoman.otlp")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
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
