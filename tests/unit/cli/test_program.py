import io
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.cli.program import run
from dragoman.cli.surroundings import Surroundings
from tests.cli.calling import Cli
from tests.support.cli.commands import environment


@pytest.fixture
def alone(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


def test_nothing_asked_for_shows_what_there_is(alone: Cli) -> None:
    result = alone()
    assert result.code == 0
    assert result.out.startswith("usage: dragoman ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("-o", "json", "send"),
        ("-ojson", "send"),
        ("--output=json", "send"),
        ("send", "--nonsense", "-o", "json"),
        ("send", "-o", "JSON"),
    ],
)
def test_a_mistake_is_told_in_the_form_that_was_asked_for(
    alone: Cli, arguments: tuple[str, ...]
) -> None:
    result = alone(*arguments)
    assert (result.code, result.error["code"]) == (2, "A2ACLI_ERR_USAGE")


def test_a_mistake_is_compact_with_stream(alone: Cli) -> None:
    assert alone("send", "-o", "json", "--stream").out.count("\n") == 1


def test_a_file_may_ask_for_the_form(alone: Cli) -> None:
    (alone.folder / ".env").write_text("A2ACLI_OUTPUT=json")
    assert alone("nonsense").error["code"] == "A2ACLI_ERR_USAGE"


@pytest.mark.parametrize("arguments", [("send", "-o"), ("send", "-o", "xml"), ("send", "--", "-o")])
def test_a_form_that_is_not_known_leaves_text(alone: Cli, arguments: tuple[str, ...]) -> None:
    result = alone(*arguments)
    assert result.code == 2
    assert result.err.startswith("Error: ")


def test_a_file_that_cannot_be_read_is_told_but_keeps_no_help_away(alone: Cli) -> None:
    (alone.folder / "broken.json").write_text("{")
    assert alone("send", "x", "--config", "broken.json").code == 2
    assert alone("send", "--config", "broken.json", "--help").code == 0


def test_what_is_wrong_with_us_is_told_with_a_trace_only_if_asked(
    alone: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("of ours")

    monkeypatch.setattr("dragoman.cli.commands.send.build_request", broken)
    quiet = alone("send", "x", "-o", "json")
    assert (quiet.code, quiet.error["code"]) == (1, "A2ACLI_ERR_INTERNAL")
    assert quiet.error["message"] == "ZeroDivisionError: of ours"
    assert "Traceback" not in quiet.err
    assert "Traceback" in alone("send", "x", "--debug").err


def test_an_interruption_is_told(alone: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dragoman.cli.commands.send.build_request", interrupted)
    result = alone("send", "x", "-o", "json")
    assert (result.code, result.error["code"]) == (130, "DRAGOMAN_ERR_INTERRUPTED")


def test_the_name_it_was_called_by_is_told(tmp_path: Path) -> None:
    stdout = io.BytesIO()
    surroundings = Surroundings(
        program="a2a",
        environment={},
        folder=tmp_path,
        settings_folder=tmp_path,
        stdin=io.BytesIO(),
        stdout=stdout,
        stderr=io.BytesIO(),
    )
    assert run(["help"], surroundings) == 0
    assert stdout.getvalue().startswith(b"usage: a2a ")


def test_a_command_without_an_agent_loads_no_client(tmp_path: Path) -> None:
    program = (
        "import sys; from dragoman.cli import main; main(['config', 'show']); "
        "print(*{'httpx2', 'grpc', 'uvicorn', 'asyncio'} & set(sys.modules), file=sys.stderr)"
    )
    output = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert output.stderr.split() == []
