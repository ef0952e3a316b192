"""The reference says what the commands say of themselves.

After a change, write its tables anew with ``UPDATE_DOCS=1 make test ARGS=tests/cli``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli.command import COMMANDS
from dragoman.cli.errors import EXIT_CODES
from tests.cli.calling import Cli

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"

MEANINGS = {
    "A2ACLI_ERR_USAGE": "a wrong argument, option or combination",
    "A2ACLI_ERR_CARD_NOT_FOUND": "there is no card where one was looked for",
    "A2ACLI_ERR_CARD_INVALID": "there is one, but it is not as it must be",
    "A2ACLI_ERR_UNREACHABLE": "no connection could be made, or it was lost",
    "A2ACLI_ERR_CREDENTIALS_MISSING": "the agent wants credentials, and none were given",
    "A2ACLI_ERR_AUTH_FAILED": "the agent refuses the credentials",
    "A2ACLI_ERR_TIMEOUT": "`--timeout` is over, or the agent does not answer",
    "A2ACLI_ERR_INTERNAL": "anything else",
    "DRAGOMAN_ERR_INTERRUPTED": "Ctrl-C, or SIGTERM",
}


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have help printed so wide that each option has one line."""
    monkeypatch.setenv("COLUMNS", "1000")


def table(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def commands(_: Cli) -> str:
    rows = [
        f"| `dragoman {command.name}` | {command.summary} |"
        for command in COMMANDS
        if command.name != "serve"
    ]
    return table("| command | |", rows)


def codes(_: Cli) -> str:
    rows = [f"| `{code}` | {MEANINGS[code]} | {EXIT_CODES[code]} |" for code in EXIT_CODES]
    return table("| code | meaning | exit code |", rows)


def options_of(command: str, title: str = "options") -> Callable[[Cli], str]:
    def generate(cli: Cli) -> str:
        listed = (
            cli("help", *command.split()).out.partition(f"\n{title}:\n")[2].partition("\n\n")[0]
        )
        found = re.findall(r"^  (\S.*?)\s{2,}(\S.*)$", listed, re.MULTILINE)
        rows = [
            f"| `{option.replace('|', chr(92) + '|')}` | {meaning} |"
            for option, meaning in found
            if not option.startswith(("-h,", "--version"))
        ]
        return table("| option | meaning |", rows)

    return generate


@pytest.mark.parametrize(
    ("name", "generate"),
    [
        ("commands", commands),
        ("codes", codes),
        ("agent-options", options_of("version", "options of all commands to agents")),
        ("card-get-options", options_of("card get")),
        ("send-options", options_of("send")),
        ("task-get-options", options_of("task get")),
        ("task-list-options", options_of("task list")),
        ("task-download-options", options_of("task download")),
        ("task-push-config-create-options", options_of("task push-config create")),
        ("task-inspect-options", options_of("task inspect")),
        ("db-check-options", options_of("db check")),
        ("db-erase-options", options_of("db erase")),
        ("conformance-options", options_of("conformance")),
        ("task-push-config-listen-options", options_of("task push-config listen")),
        ("push-list-options", options_of("push list")),
        ("push-retry-options", options_of("push retry")),
        ("push-tail-options", options_of("push tail")),
        ("keys-rotate-push-key-options", options_of("keys rotate-push-key")),
        ("auth-login-options", options_of("auth login")),
        ("demo-server-options", options_of("demo-server")),
        ("skill-options", options_of("skill")),
    ],
)
def test_the_page_says_what_the_command_line_says(
    alone: Cli, name: str, generate: Callable[[Cli], str]
) -> None:
    before, start, rest = PAGE.read_text().partition(f"<!-- {name}:start -->\n")
    found, end, after = rest.partition(f"<!-- {name}:end -->")
    assert start, f"there is no start of {name}"
    assert end, f"there is no end of {name}"
    wanted = f"\n{generate(alone)}\n\n"
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(f"{before}{start}{wanted}{end}{after}")
    else:
        assert found == wanted
