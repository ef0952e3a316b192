"""What Tab proposes in a chat: commands, files and the skills of the agent."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from dragoman.cli.views.labels import cleaned

__all__ = ("completions",)


def completions(
    line: str, *, commands: Iterable[str], skills: Iterable[str], folder: Path
) -> Sequence[str]:
    """Return what the last word of a line may become.

    Args:
        commands: their names, with the slash.
        folder: where paths begin that are not absolute.
    """
    command, blank, rest = line.partition(" ")
    if not blank:
        # What does not begin with a slash is a message, in which nothing is proposed.
        return [name for name in commands if command and name.startswith(command)]
    word = rest.rpartition(" ")[2]
    if command == "/skill":
        return [cleaned(skill) for skill in skills if skill.startswith(word)]
    return _paths(word, folder) if command in ("/attach", "/save") else []


def _paths(word: str, folder: Path) -> list[str]:
    above, slash, begun = word.rpartition("/")
    place = folder / Path(above + slash).expanduser()
    try:
        found = sorted(os.scandir(place), key=lambda entry: entry.name)
    except OSError:
        return []
    return [
        f"{above}{slash}{entry.name}{'/' if entry.is_dir() else ''}"
        for entry in found
        if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
    ]
