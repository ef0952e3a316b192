import pytest

from tests.cli.calling import Cli


@pytest.mark.parametrize(
    ("shell", "entry"),
    [
        ("bash", '    "task push-config") echo "create get list delete listen -h --help" ;;\n'),
        ("zsh", '    "--status") echo "submitted working completed failed canceled '),
        ("fish", "        case '--output'\n            echo 'text json jsonl'\n"),
        ("powershell", "        '--file' = '@files'\n"),
    ],
)
def test_what_may_follow_is_in_the_script(cli: Cli, shell: str, entry: str) -> None:
    assert entry in cli("completion", shell).out


def test_aliases_are_not_proposed(cli: Cli) -> None:
    assert "--polling-interval" not in cli("completion", "bash").out
