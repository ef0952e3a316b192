from pathlib import Path

import pytest

from dragoman.cli.chat.terminal import completions


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("/t", ["/task", "/tasks"]),  # a command
        ("", []),  # nothing is proposed for nothing
        ("t", []),  # nor for a message
        ("/skill c", ["convert", "count"]),  # a skill of the card
        ("/skill x", []),
        ("/attach ", ["folder/", "notes.txt"]),  # files, but not hidden ones
        ("/attach .h", [".hidden"]),  # unless they are asked for
        ("/save fo", ["folder/"]),  # a folder goes on
        ("/attach folder/", ["folder/inner.csv"]),
        ("/attach none/", []),
        ("/task n", []),  # takes no file
    ],
)
def test_the_last_word_is_completed(tmp_path: Path, line: str, found: list[str]) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("folder/inner.csv", "notes.txt", ".hidden"):
        (tmp_path / name).touch()
    proposed = completions(
        line,
        commands=["/attach", "/save", "/task", "/tasks"],
        skills=["convert", "count", "help"],
        folder=tmp_path,
    )
    assert proposed == found


def test_a_skill_s_id_cannot_steer_the_terminal(tmp_path: Path) -> None:
    assert completions("/skill ", commands=(), skills=["a\x1b[2J"], folder=tmp_path) == ["a[2J"]
