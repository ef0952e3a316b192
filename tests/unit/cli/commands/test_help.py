import pytest

import dragoman
from tests.cli.calling import Cli


@pytest.mark.parametrize(
    ("topic", "shown"),
    [
        ("", "usage: dragoman ["),
        ("task", "usage: dragoman task ["),
        ("task push-config delete", "usage: dragoman task push-config delete ["),
        ("serve", "usage: dragoman serve ["),
    ],
)
def test_every_command_can_be_explained(cli: Cli, topic: str, shown: str) -> None:
    assert cli("help", *topic.split()).out.startswith(shown)


def test_a_command_that_is_none_is_told_with_those_there_are(cli: Cli) -> None:
    result = cli("help", "task", "nonsense")
    assert result.code == 2
    assert "there is no command 'task nonsense'" in result.err
    assert "task subscribe" in result.err


def test_the_version_is_told_to_machines(cli: Cli) -> None:
    found = cli("version", "-o", "json").json
    assert (found["name"], found["version"]) == ("dragoman", dragoman.__version__)
