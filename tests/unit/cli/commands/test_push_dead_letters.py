"""Which dead letters a command is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.cli.commands.push import letter_name, webhook_name
from dragoman.stores.sqlite.maintenance import SQLiteMaintenance
from dragoman.stores.webhooks import DeadLetter, LetterKey, Webhook, WebhookKey
from tests.cli.calling import Cli
from tests.support.cli.pushing import Pushing


@pytest.fixture
def pushing(tmp_path: Path) -> Pushing:
    return Pushing(tmp_path / "tasks.db")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path, "--store", "sqlite:///tasks.db")


def test_what_they_are_called() -> None:
    assert webhook_name(WebhookKey("t", "w/1")) == "t/w/1"
    assert letter_name(LetterKey("t", "w/1", 2)) == "t/w/1/2"


def test_all_are_found_page_by_page(pushing: Pushing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.stores.sqlite.maintenance._AT_ONCE", 2)
    for name in "abcde":
        pushing.register(name)
    for seq in (1, 2, 3, 4, 5):
        pushing.bury("a", seq)
    letters: list[DeadLetter] = []
    webhooks: list[Webhook] = []
    SQLiteMaintenance(pushing.path).read_webhooks(letters.append, webhooks.append)
    assert [each.key.id for each in webhooks] == [*"abcde"]
    assert [each.key.seq for each in letters] == [1, 2, 3, 4, 5]


def test_the_id_of_a_webhook_may_have_slashes(cli: Cli, pushing: Pushing) -> None:
    pushing.register("my/own")
    pushing.bury("my/own", 1)
    (letter,) = cli("push", "list", "-o", "json").json["deadLetters"]
    assert cli("push", "drop", letter["letter"]).out == "Dropped: 1\n"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "say which dead letters are meant"),
        (["--all", "--host", "a.example"], "say which dead letters are meant"),
        (["t/w/1", "--all"], "say which dead letters are meant"),
        (["t/w"], "'t/w' is no dead letter"),
        (["t/w/x"], "'t/w/x' is no dead letter"),
        (["/w/1"], "'/w/1' is no dead letter"),
    ],
)
def test_it_must_be_said_which_are_meant(
    cli: Cli, pushing: Pushing, arguments: list[str], told: str
) -> None:
    assert pushing.task_id
    result = cli("push", "drop", *arguments)
    assert result.code == 2
    assert told in result.err
