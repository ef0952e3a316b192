import json
import logging
import re
from collections.abc import Generator

import pytest

from dragoman import telemetry
from dragoman.cli.serving.logs import set_up_logging, tell_replica
from tests.support.tracing import Traced


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Generator[None]:
    """Put back what ``set_up_logging`` replaces in the whole process."""
    root, uvicorn = logging.getLogger(), logging.getLogger("uvicorn.error")
    handlers, level, uvicorn_level = root.handlers[:], root.level, uvicorn.level
    root.handlers.clear()
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    uvicorn.setLevel(uvicorn_level)


def test_a_line_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("info", "text")
    logging.getLogger("dragoman.test").warning("%d tasks", 3)
    line = capsys.readouterr().err
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z warning dragoman\.test: 3 tasks\n", line
    )


def test_a_line_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("info", "json")
    logging.getLogger("dragoman.test").warning('say "%s"\n', "hi")
    (line,) = capsys.readouterr().err.splitlines()
    entry = json.loads(line)
    assert set(entry) == {"time", "level", "logger", "message"}
    assert (entry["level"], entry["logger"], entry["message"]) == (
        "warning",
        "dragoman.test",
        'say "hi"\n',
    )


def test_a_line_names_the_trace_it_belongs_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tracing = Traced().telemetry
    monkeypatch.setattr(telemetry, "active", tracing)
    with tracing.span("work", {}):
        trace_id, span_id = tracing.ids()
        for form in ("text", "json"):
            set_up_logging("info", form)
            logging.getLogger("dragoman.test").warning("within")
    logging.getLogger("dragoman.test").warning("after")
    text, within, after = capsys.readouterr().err.splitlines()
    assert text.endswith(f"dragoman.test: within [trace {trace_id}]")
    entry = json.loads(within)
    assert (entry["trace_id"], entry["span_id"]) == (trace_id, span_id)
    assert "trace_id" not in json.loads(after)


def broken() -> None:
    raise ValueError("broken")


def fail() -> None:
    try:
        broken()
    except ValueError:
        logging.getLogger("dragoman.test").exception("it failed")


def test_a_traceback_for_people_follows_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("info", "text")
    fail()
    first, second, *_, last = capsys.readouterr().err.splitlines()
    assert first.endswith("error   dragoman.test: it failed")
    assert second == "Traceback (most recent call last):"
    assert last == "ValueError: broken"


def test_a_traceback_for_machines_is_in_the_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_logging("info", "json")
    fail()
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["exception"].endswith("ValueError: broken")


@pytest.mark.parametrize(
    ("level", "logged"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_what_is_less_serious_is_not_logged(
    capsys: pytest.CaptureFixture[str], level: str, logged: list[str]
) -> None:
    set_up_logging(level, "text")
    logger = logging.getLogger("dragoman.test")
    for name in ("debug", "info", "warning", "error"):
        logger.log(logging.getLevelNamesMapping()[name.upper()], name)
    assert [line.rpartition(" ")[2] for line in capsys.readouterr().err.splitlines()] == logged


@pytest.mark.parametrize(("level", "count"), [("info", 0), ("debug", 1)])
def test_uvicorn_tells_of_its_start_only_to_who_wants_to_know(
    capsys: pytest.CaptureFixture[str], level: str, count: int
) -> None:
    set_up_logging(level, "text")
    logging.getLogger("uvicorn.error").info("Application startup complete.")
    assert len(capsys.readouterr().err.splitlines()) == count


def test_one_of_several_servers_names_itself_in_every_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for form in ("text", "json"):
        set_up_logging("info", form)
        tell_replica("r-1")
        logging.getLogger("dragoman.test").info("hello")
    text, machine = capsys.readouterr().err.splitlines()
    assert text.endswith("info    [r-1] dragoman.test: hello")
    assert json.loads(machine)["replica"] == "r-1"
