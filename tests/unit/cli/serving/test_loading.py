import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from dragoman.cli.serving.loading import load_agent
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


def refusal(reference: str) -> list[str]:
    """Return the lines that are told of a file that cannot be loaded."""
    with pytest.raises(UsageError) as caught:
        load_agent(reference)
    return str(caught.value).splitlines()


@pytest.mark.parametrize("reference", ["bot.py", "bot"])
@pytest.mark.parametrize(
    ("source", "error"),
    [
        # What is wrong in the user's own code is the user's to see, not to be explained away.
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
        ("import no_such_package\n", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("agent = Agent('x')\n", "NameError: name 'Agent' is not defined"),
        ("from dragoman import Agent; Agent(colour=1)\n", "TypeError: Agent.__init__() got an"),
        # Also when what is missing is called almost like the module.
        ("import bo\n", "ModuleNotFoundError: No module named 'bo'"),
    ],
)
def test_an_error_in_the_users_file_is_shown_from_there_on(
    folder: Path, reference: str, source: str, error: str
) -> None:
    (folder / "bot.py").write_text(source)
    first, second, place, *_, last = refusal(reference)
    assert first == f"{reference} cannot be loaded"
    # Nothing of ours stands before it, and nothing of Python's own.
    assert second == "Traceback (most recent call last):"
    assert place == f'  File "{folder}/bot.py", line 1, in <module>'
    assert last.startswith(error)


@pytest.mark.parametrize("reference", ["bot.py", "bot"])
def test_a_file_that_cannot_be_parsed_is_shown_where_it_breaks(
    folder: Path, reference: str
) -> None:
    (folder / "bot.py").write_text("def broken(:\n")
    first, place, *_, last = refusal(reference)
    assert first == f"{reference} cannot be loaded"
    assert place == f'  File "{folder}/bot.py", line 1'
    assert last == "SyntaxError: invalid syntax"


def test_an_error_in_a_neighbour_is_shown_with_the_way_there_and_its_cause(folder: Path) -> None:
    (folder / "bot.py").write_text("import names\n")
    (folder / "names.py").write_text(
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n"
        "    raise RuntimeError('none') from error\n"
    )
    lines = refusal("bot.py")
    assert [line.strip() for line in lines if line.startswith("  File")] == [
        f'File "{folder}/names.py", line 2, in <module>',
        f'File "{folder}/bot.py", line 1, in <module>',
        f'File "{folder}/names.py", line 4, in <module>',
    ]
    assert "ZeroDivisionError: division by zero" in lines
    assert lines[-1] == "RuntimeError: none"


def test_what_we_refuse_in_the_users_file_is_one_line(folder: Path) -> None:
    (folder / "bot.py").write_text("from dragoman import Agent\n\nagent = Agent('')\n")
    assert refusal("bot.py") == ["an Agent needs a name"]


def test_who_debugs_sees_the_whole_traceback(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "bot.py").write_text("1 / 0\n")
    with caplog.at_level("DEBUG", logger="dragoman.cli.serving.loading"):
        refusal("bot.py")
    assert "bot.py cannot be loaded" in caplog.text
    assert "exec_module" in caplog.text
