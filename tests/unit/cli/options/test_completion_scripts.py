import re

import pytest

from dragoman.cli.options.completion import SCRIPTS


@pytest.mark.parametrize("shell", SCRIPTS)
def test_every_script_has_room_for_what_is_filled_in(shell: str) -> None:
    names = set(re.findall(r"{{(\w+)}}", SCRIPTS[shell].text))
    assert {"program", "words", "values", "files"} <= names
    assert names <= {"program", "function", "words", "values", "files"}


@pytest.mark.parametrize("shell", SCRIPTS)
def test_an_entry_has_a_key_and_words(shell: str) -> None:
    assert SCRIPTS[shell].entry.count("%s") == 2
