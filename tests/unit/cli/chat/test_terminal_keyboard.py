"""The keyboard on a real terminal: editing is the business of readline, which wants one."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.cli.commands import environment
from tests.support.terminal import CTRL_C, CTRL_D, Terminal, on_terminal

PROGRAM = """\
from dragoman.cli.chat.terminal import Keyboard

keyboard = Keyboard(lambda line: ["/attach"] if line == "/at" else [])
while True:
    try:
        line = keyboard.read("you> ", is_kept=True)
        if line == "pin":
            line = keyboard.read_secret("pin: ")
        elif line == "unkept":
            line = keyboard.read("field: ")
        print("got", [line], flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    except EOFError:
        print("the end", flush=True)
        break
"""

UP = "\x1b[A"


@pytest.fixture
def terminal(tmp_path: Path) -> Generator[Terminal]:
    variables = environment(TERM="xterm", HOME=str(tmp_path), INPUTRC="/dev/null")
    with on_terminal([sys.executable, "-c", PROGRAM], tmp_path, variables) as running:
        running.expect("you> ")
        yield running


def test_a_line_can_be_edited(terminal: Terminal) -> None:
    terminal.enter("hexx\b\bllo!\x01\x04\x04he")
    terminal.expect(r"got \['hello!'\]")


def test_lines_come_back_from_the_history(terminal: Terminal) -> None:
    for line in ("one", "two"):
        terminal.enter(line)
        terminal.expect(rf"got \['{line}'\]")
    terminal.enter(UP + UP)
    terminal.expect(r"got \['one'\]")


def test_answers_to_fields_are_not_kept(terminal: Terminal) -> None:
    terminal.enter("unkept")
    terminal.expect("field: ")
    terminal.enter("private")
    terminal.expect(r"got \['private'\]")
    terminal.enter(UP)
    terminal.expect("field: ")


def test_a_word_is_completed(terminal: Terminal) -> None:
    terminal.enter("/at\t")
    terminal.expect(r"got \['/attach ?'\]")


def test_a_secret_is_not_shown(terminal: Terminal) -> None:
    terminal.enter("pin")
    terminal.expect("pin: ")
    terminal.enter("1234")
    terminal.expect(r"got \['1234'\]")
    assert terminal.screen.count("1234") == 1


def test_ctrl_c_and_ctrl_d_are_told(terminal: Terminal) -> None:
    terminal.type("half a line")
    terminal.expect("half a line")
    terminal.type(CTRL_C)
    terminal.expect("interrupted\n.*you> ")
    terminal.type(CTRL_D)
    terminal.expect("the end")
    assert terminal.wait() == 0


def test_nothing_is_left_on_the_disk(terminal: Terminal, tmp_path: Path) -> None:
    terminal.enter("one")
    terminal.expect(r"got \['one'\]")
    terminal.type(CTRL_D)
    assert terminal.wait() == 0
    assert list(tmp_path.rglob("*")) == []
