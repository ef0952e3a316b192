import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from dragoman.cli.loading import load_agent
from dragoman.errors import UsageError

ONE = 'from dragoman import Agent\n\nagent = Agent("One")\n'
OTHER_NAME = 'from dragoman import Agent\n\ndesk = Agent("Desk")\n'
ALIAS = f"{OTHER_NAME}front = desk\n"
SEVERAL = f'{OTHER_NAME}shop = Agent("Shop")\n'
SEVERAL_AND_DEFAULT = f'{SEVERAL}agent = Agent("Default")\n'
NONE = "x = 1\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """Work in a folder of its own; what is loaded from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("source", "reference", "name"),
    [
        # A file: its agent, or the only one it has, under however many names.
        (ONE, "bot.py", "One"),
        (OTHER_NAME, "bot.py", "Desk"),
        (ALIAS, "bot.py", "Desk"),
        (SEVERAL_AND_DEFAULT, "bot.py", "Default"),
        # A file and a name.
        (SEVERAL, "bot.py:shop", "Shop"),
        (ONE, "./bot.py:agent", "One"),
        (ONE, "bot.py:", "One"),
        # A module in the working directory, with and without a name.
        (ONE, "bot", "One"),
        (SEVERAL, "bot:desk", "Desk"),
    ],
)
def test_an_agent_is_found(folder: Path, source: str, reference: str, name: str) -> None:
    (folder / "bot.py").write_text(source)
    assert load_agent(reference).name == name


def test_a_file_may_be_anywhere(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("elsewhere") / "bot.py"
    path.write_text(ONE)
    assert folder not in path.parents
    assert load_agent(str(path)).name == "One"


def test_a_module_may_be_in_a_package(folder: Path) -> None:
    (folder / "team").mkdir()
    (folder / "team" / "bot.py").write_text(ONE)
    assert load_agent("team.bot:agent").name == "One"


def test_a_file_may_import_its_neighbours(folder: Path) -> None:
    (folder / "names.py").write_text('NAME = "Neighbour"\n')
    (folder / "bot.py").write_text(
        "from names import NAME\nfrom dragoman import Agent\n\nagent = Agent(NAME)\n"
    )
    assert load_agent("bot.py").name == "Neighbour"


@pytest.mark.parametrize(
    ("source", "reference", "told"),
    [
        # None at all; then how to make one is told.
        (NONE, "bot.py", 'bot.py has no Agent; make one: agent = Agent("Name", "What it does.")'),
        # More than one; then how to name them is told.
        (SEVERAL, "bot.py", "bot.py has several agents; say which: bot.py:desk or bot.py:shop"),
        # Not under this name, or not an agent.
        (SEVERAL, "bot.py:x", "bot.py has no Agent called 'x'; agents in it: desk, shop"),
        (NONE, "bot.py:x", "bot.py has no Agent called 'x'; agents in it: none"),
        (NONE, "bot:agent", "bot has no Agent called 'agent'; agents in it: none"),
        # Nowhere.
        (NONE, "robot.py", "there is no file robot.py"),
        (NONE, "robots/bot", "there is no file robots/bot"),
        (NONE, "robot", "there is no file or module 'robot'"),
        (NONE, "robots.bot:agent", "there is no file or module 'robots.bot'"),
    ],
)
def test_what_is_not_found_is_told_with_what_to_do(
    folder: Path, source: str, reference: str, told: str
) -> None:
    (folder / "bot.py").write_text(source)
    with pytest.raises(UsageError) as caught:
        load_agent(reference)
    assert str(caught.value) == told


def test_a_file_that_is_not_python_is_told(folder: Path) -> None:
    (folder / "bot.txt").write_text(ONE)
    with pytest.raises(UsageError, match=r"bot\.txt is not a Python file"):
        load_agent("./bot.txt")


def test_a_folder_is_no_file(folder: Path) -> None:
    (folder / "bots").mkdir()
    with pytest.raises(UsageError, match="there is no file bots"):
        load_agent("bots")


@pytest.mark.parametrize("reference", ["bot.py", "bot"])
@pytest.mark.parametrize(
    ("source", "error"),
    [
        # What is wrong in the user's own code is the user's to see, not to be explained away.
        ("def broken(:\n", SyntaxError),
        ("1 / 0\n", ZeroDivisionError),
        ("import no_such_package\n", ModuleNotFoundError),
        # Also when what is missing is called almost like the module.
        ("import bo\n", ModuleNotFoundError),
    ],
)
def test_an_error_in_the_users_file_comes_through(
    folder: Path, reference: str, source: str, error: type[Exception]
) -> None:
    (folder / "bot.py").write_text(source)
    with pytest.raises(error):
        load_agent(reference)
