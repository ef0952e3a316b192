import sys

import pytest

from dragoman.cli.command import COMMANDS, GROUPS, Command, build_parsers


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_a_body(command: Command) -> None:
    assert callable(command.load().run)


def test_every_group_has_commands_and_the_other_way_round() -> None:
    groups = {command.name.rpartition(" ")[0] for command in COMMANDS}
    groups |= {group.rpartition(" ")[0] for group in GROUPS}
    assert groups - {""} == set(GROUPS)


def test_there_is_a_parser_for_every_name() -> None:
    parsers = build_parsers("dragoman", [], lambda _: "")
    assert set(parsers) == {"", *GROUPS, *(command.name for command in COMMANDS)}
    assert parsers["task push-config create"].prog == "dragoman task push-config create"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_can_be_explained(command: Command) -> None:
    text = build_parsers("dragoman", [], lambda _: "")[command.name].format_help()
    assert text.startswith(f"usage: dragoman {command.name}")


def test_only_the_command_that_is_called_for_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "dragoman.cli.commands.task_download", raising=False)
    build_parsers("dragoman", [], lambda _: "")[""].parse_args(["version"])
    assert "dragoman.cli.commands.task_download" not in sys.modules
