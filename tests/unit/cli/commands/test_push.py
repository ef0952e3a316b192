"""dragoman push list, retry and drop, on a store as a server leaves it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from dragoman.stores.sqlite.lock import FileLock
from tests.cli.calling import Cli
from tests.support.cli.pushing import SECRETS, Pushing
from tests.support.postgres import new_database
from tests.unit.stores.postgres.test_maintenance import leave_letters


@pytest.fixture
def pushing(tmp_path: Path) -> Pushing:
    return Pushing(tmp_path / "tasks.db")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path, "--store", "sqlite:///tasks.db")


# --- list ---------------------------------------------------------------------------------------


def test_a_store_without_webhooks_has_none_to_show(cli: Cli, pushing: Pushing) -> None:
    assert pushing.task_id
    result = cli("push", "list")
    assert (result.code, result.out) == (0, "Webhooks: 0\nAll dead letters: 0\n")
    assert cli("push", "list", "-o", "json").json == {
        "webhooks": [],
        "deadLetters": [],
        "total": {"webhooks": 0, "deadLetters": 0},
    }


def test_what_a_webhook_waits_for_and_why_is_shown(cli: Cli, pushing: Pushing) -> None:
    pushing.register("a")
    pushing.bury("a", 1)
    pushing.fail("a")
    result = cli("push", "list")
    name = f"{pushing.task_id}/a"
    assert result.field("Webhook") == name
    assert result.fields("Host") == ["hooks.example", "hooks.example"]
    assert result.field("Told up to event") == "1"
    assert result.field("Dead letter") == f"{name}/1"
    assert result.fields("Attempts") == [
        "1 in vain: HTTP status 503",
        "4 in vain: HTTP status 410",
    ]
    assert result.fields("Dead letters") == ["1"]
    assert result.field("All dead letters") == "1"
    document = cli("push", "list", "-o", "json").json
    (webhook,) = document["webhooks"]
    (letter,) = document["deadLetters"]
    assert (webhook["webhook"], webhook["pending"], webhook["deadLetters"]) == (name, True, 1)
    assert (webhook["attempts"], webhook["finding"]) == (1, "HTTP status 503")
    assert (letter["letter"], letter["event"], letter["queued"]) == (f"{name}/1", 1, False)


def test_no_secret_is_shown(cli: Cli, pushing: Pushing) -> None:
    pushing.register("a")
    pushing.bury("a", 1)
    for form in ("text", "json"):
        result = cli("push", "list", "-v", "-o", form)
        assert not [secret for secret in SECRETS if secret in result.out + result.err]


def test_only_what_is_asked_for_is_shown(cli: Cli, pushing: Pushing) -> None:
    pushing.register("a", "one.example")
    pushing.register("b", "two.example")
    pushing.bury("b", 1)
    listed = cli("push", "list", "--host", "two.example", "-o", "json").json
    assert [each["id"] for each in listed["webhooks"]] == ["b"]
    assert [each["id"] for each in listed["deadLetters"]] == ["b"]
    assert cli("push", "list", "--host", "one.example", "-o", "json").json["deadLetters"] == []


def test_quiet_webhooks_can_be_left_out(cli: Cli, pushing: Pushing) -> None:
    pushing.register("busy")
    pushing.register("quiet")
    pushing.deliver("quiet", 1_000)
    assert len(cli("push", "list", "-o", "json").json["webhooks"]) == 2
    (shown,) = cli("push", "list", "--pending", "-o", "json").json["webhooks"]
    assert shown["id"] == "busy"


def test_all_are_counted_however_few_are_shown(cli: Cli, pushing: Pushing) -> None:
    for name in ("a", "b", "c"):
        pushing.register(name)
    for seq in (1, 2, 3):
        pushing.bury("a", seq)
    result = cli("push", "list", "--limit", "1")
    assert result.field("Webhooks") == "3 (1 shown)"
    assert result.field("All dead letters") == "3 (1 shown)"


# --- retry, drop --------------------------------------------------------------------------------


def test_a_letter_is_sent_again_by_its_name(cli: Cli, pushing: Pushing) -> None:
    pushing.register("a")
    pushing.bury("a", 1)
    pushing.bury("a", 2)
    pushing.deliver("a", 1_000)
    assert not pushing.is_pending("a")
    result = cli("push", "retry", f"{pushing.task_id}/a/1")
    assert (result.code, result.out) == (0, "Queued: 1\n")
    assert pushing.letters() == {1: True, 2: False}
    # The server finds it when it next looks.
    assert pushing.is_pending("a")
    assert cli("push", "list").fields("Queued") == ["to be sent again"]
    # Whoever says so again changes nothing.
    assert cli("push", "retry", f"{pushing.task_id}/a/1", "-o", "json").json == {"queued": 0}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (["--host", "one.example"], {1: True, 2: False}),
        (["--host", "nowhere.example"], {1: False, 2: False}),
        (["--all"], {1: True, 2: True}),
    ],
)
def test_letters_are_sent_again_by_their_host_or_all(
    cli: Cli, pushing: Pushing, choice: list[str], expected: dict[int, bool]
) -> None:
    pushing.register("a", "one.example")
    pushing.register("b", "two.example")
    pushing.bury("a", 1)
    pushing.bury("b", 2)
    assert cli("push", "retry", *choice).code == 0
    assert pushing.letters() == expected


def test_what_is_dropped_is_gone(cli: Cli, pushing: Pushing) -> None:
    pushing.register("a")
    for seq in (1, 2, 3):
        pushing.bury("a", seq)
    names = [f"{pushing.task_id}/a/{seq}" for seq in (1, 3)]
    assert cli("push", "drop", *names).out == "Dropped: 2\n"
    assert pushing.letters() == {2: False}
    assert cli("push", "drop", "--all", "-o", "json").json == {"dropped": 1}
    assert pushing.letters() == {}


@pytest.mark.parametrize("command", ["retry", "drop"])
def test_a_letter_that_is_not_there_is_told_and_nothing_is_changed(
    cli: Cli, pushing: Pushing, command: str
) -> None:
    pushing.register("a")
    pushing.bury("a", 1)
    name = f"{pushing.task_id}/a"
    result = cli("push", command, f"{name}/1", f"{name}/7")
    assert result.code == 2
    assert f"there is no dead letter {name}/7" in result.err
    assert pushing.letters() == {1: False}


def test_a_server_may_be_using_the_store(cli: Cli, pushing: Pushing) -> None:
    pushing.register("a")
    pushing.bury("a", 1)
    lock = FileLock(pushing.path)
    lock.acquire()
    try:
        assert cli("push", "list").code == 0
        assert cli("push", "retry", "--all").code == 0
        assert pushing.letters() == {1: True}
    finally:
        lock.release()


@pytest.mark.parametrize("command", [["list"], ["retry", "--all"], ["drop", "--all"]])
def test_a_store_that_is_not_there_is_told(tmp_path: Path, command: list[str]) -> None:
    result = Cli(tmp_path)("push", *command)
    assert result.code == 2
    assert "there is no database" in result.err
    assert not list(tmp_path.iterdir())


# --- on PostgreSQL ------------------------------------------------------------------------------


def test_a_store_on_postgresql_is_looked_after_alike(tmp_path: Path) -> None:
    url = new_database()
    asyncio.run(leave_letters(url, "a", "b"))
    cli = Cli(tmp_path, "--store", url)
    listed = cli("push", "list", "-o", "json").json
    assert [each["letter"] for each in listed["deadLetters"]] == ["a/a/1", "b/b/1"]
    assert listed["total"] == {"webhooks": 2, "deadLetters": 2}
    assert cli("push", "retry", "a/a/1").out == "Queued: 1\n"
    assert cli("push", "drop", "--all").out == "Dropped: 2\n"
    assert cli("push", "list", "-o", "json").json["deadLetters"] == []
