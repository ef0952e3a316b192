"""SKILL: the one file that tells other agents how to use the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import dragoman
from dragoman.cli.command import COMMANDS
from tests.cli.calling import Cli

PACKAGE = Path(dragoman.__file__).parent


def test_skill_001_there_is_one_and_it_is_lean(alone: Cli) -> None:
    assert [path.name for path in PACKAGE.rglob("SKILL.md")] == ["SKILL.md"]
    text = alone("skill").out
    assert len(text.splitlines()) < 60
    head = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert head is not None
    members = dict(line.split(": ", 1) for line in head[1].splitlines())
    assert re.fullmatch(r"[a-z][a-z-]{0,63}", members["name"])
    assert 1 <= len(members["description"]) <= 1024
    assert len(members["compatibility"]) <= 500


def test_skill_001_it_defers_to_the_help_and_lists_no_commands(alone: Cli) -> None:
    text = alone("skill").out
    assert "dragoman help" in text
    named = [one.name for one in COMMANDS if f"dragoman {one.name}" in text]
    assert len(named) < len(COMMANDS) / 3


def test_skill_001_what_it_shows_is_there(alone: Cli) -> None:
    """Each option that it names exists."""
    known = alone("help", "send").out + alone("help", "task", "get").out
    for flag in set(re.findall(r"--[a-z][a-z-]+", alone("skill").out)):
        assert flag in known
    for variable in set(re.findall(r"A2ACLI_[A-Z_]+", alone("skill").out)):
        assert variable in known


def test_skill_002_it_is_no_specification(alone: Cli) -> None:
    text = alone("skill").out
    assert not re.search(r"\b(MUST|SHOULD|SHALL|MAY|REQUIRED)\b", text)
    assert "A2ACLI_ERR" not in text


@pytest.mark.parametrize("scope", ["user", "project"])
def test_skill_001_it_is_installed_where_agents_look(
    alone: Cli, tmp_path: Path, scope: str
) -> None:
    home = tmp_path / "home"
    result = alone("skill", "install", "--scope", scope, HOME=str(home))
    root = home if scope == "user" else alone.folder
    path = root / ".agents" / "skills" / "dragoman" / "SKILL.md"
    assert result.field("Installed") == str(path)
    assert path.read_text() == alone("skill").out
    # Again is no mistake, but what somebody has changed is not lost.
    assert alone("skill", "install", "--scope", scope, HOME=str(home)).code == 0
    path.write_text("mine")
    assert alone("skill", "install", "--scope", scope, HOME=str(home)).code == 2
    assert path.read_text() == "mine"
    replaced = alone("skill", "install", "--scope", scope, "--overwrite", HOME=str(home))
    assert replaced.code == 0
    assert path.read_text() == alone("skill").out
