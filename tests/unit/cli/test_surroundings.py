import sys
from pathlib import Path

import pytest

from dragoman.cli.surroundings import Surroundings


@pytest.mark.parametrize(
    ("called", "program"),
    [
        ("/usr/bin/dragoman", "dragoman"),
        ("/usr/local/bin/a2a", "a2a"),
        ("/venv/dragoman/__main__.py", "dragoman"),
        ("pytest", "dragoman"),
    ],
)
def test_the_program_is_named_as_it_was_called(
    called: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [called])
    assert Surroundings.of_process().program == program


def test_settings_are_where_all_implementations_have_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert Surroundings.of_process().settings_folder == tmp_path / ".config" / "a2a-cli"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert Surroundings.of_process().settings_folder == tmp_path / "xdg" / "a2a-cli"
    assert Surroundings.of_process().own_folder == tmp_path / "xdg" / "dragoman"


def test_it_runs_where_the_process_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert Surroundings.of_process().folder == tmp_path
