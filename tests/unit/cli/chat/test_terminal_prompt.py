import io

import pytest
from rich.console import Console

from dragoman.cli.chat.forms import form_of
from dragoman.cli.chat.terminal import Prompt
from dragoman.cli.chat.view import View
from dragoman.model.parts import Part
from tests.support.cli.chatting import Line, Typed

FORM = form_of(
    [
        Part(
            data={
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "Who"},
                    "pin": {"type": "string", "format": "password"},
                },
                "required": ["name", "pin"],
            }
        )
    ]
)


class Prompted:
    """A prompt, and what the terminal shows."""

    def __init__(self, *lines: Line) -> None:
        self._file = io.StringIO()
        self.keyboard = Typed(*lines)
        self.prompt = Prompt(self.keyboard, View(Console(file=self._file)))

    @property
    def shown(self) -> str:
        return self._file.getvalue()


def test_an_entry_may_take_several_lines() -> None:
    asked = Prompted("one\\", "two")
    assert asked.prompt.enter("you") == "one\ntwo"
    assert asked.keyboard.prompts == ["you> ", "...> "]


def test_a_secret_is_one_line_whatever_is_in_it() -> None:
    asked = Prompted("one\\", "two")
    assert asked.prompt.enter("answer", is_secret=True) == "one\\"
    assert asked.keyboard.prompts == ["secret answer> "]


def test_ctrl_c_clears_what_is_entered() -> None:
    asked = Prompted('"""one', KeyboardInterrupt, "two")
    assert asked.prompt.enter("you") is None
    assert not asked.prompt.is_over
    assert "Ctrl-C again, Ctrl-D or /quit leaves\n" in asked.shown
    assert asked.prompt.enter("you") == "two"


def test_ctrl_c_twice_leaves() -> None:
    asked = Prompted(KeyboardInterrupt, "x", KeyboardInterrupt, KeyboardInterrupt)
    over: list[bool] = []
    for _ in range(4):
        asked.prompt.enter("you")
        over.append(asked.prompt.is_over)
    assert over == [False, False, False, True]


def test_the_end_of_the_input_leaves() -> None:
    asked = Prompted()
    assert asked.prompt.enter("you") is None
    assert asked.prompt.is_over


def test_a_form_asks_with_what_is_known_of_each_field() -> None:
    assert FORM is not None
    asked = Prompted("Ann", "1234")
    part = asked.prompt.fill(FORM)
    assert part is not None
    assert part.data == {"name": "Ann", "pin": "1234"}
    assert asked.keyboard.prompts == ["name: ", "secret pin: "]
    assert "Who\n" in asked.shown
    assert "1234" not in asked.shown


@pytest.mark.parametrize(("press", "is_over"), [(KeyboardInterrupt, False), (EOFError, True)])
def test_a_form_can_be_left(press: type[BaseException], is_over: bool) -> None:  # noqa: FBT001 - a case
    assert FORM is not None
    asked = Prompted("Ann", press)
    assert asked.prompt.fill(FORM) is None
    assert asked.prompt.is_over is is_over
    assert ("/form opens the form again" in asked.shown) is not is_over


@pytest.mark.parametrize(
    ("line", "agrees"),
    [("y", True), (" Yes ", True), ("", False), ("no", False), (KeyboardInterrupt, False)],
)
def test_only_yes_is_yes(line: Line, agrees: bool) -> None:  # noqa: FBT001 - a case
    asked = Prompted(line)
    assert asked.prompt.agrees("sure?") is agrees
    assert asked.keyboard.prompts == ["sure? [y/N] "]
    assert not asked.prompt.is_over
