"""dragoman push tail: what has changed between two looks at a store."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.cli.commands.push_tail import changes, look
from dragoman.stores.sqlite.maintenance import SQLiteMaintenance, changing
from dragoman.stores.sqlite.webhooks import WebhookRows
from dragoman.stores.webhooks import WebhookKey
from tests.cli.calling import Cli
from tests.support.cli.pushing import NOW_MS, SECRETS, Pushing


@pytest.fixture
def pushing(tmp_path: Path) -> Pushing:
    return Pushing(tmp_path / "tasks.db")


class Watch:
    """What was seen while something was done."""

    def __init__(self, pushing: Pushing) -> None:
        self._pushing = pushing
        self._keeper = SQLiteMaintenance(pushing.path)
        self._before = look(self._keeper, None)
        self.seen: list[tuple[str, str, int]] = []

    def end(self) -> None:
        after = look(self._keeper, None)
        prefix = f"{self._pushing.task_id}/"
        self.seen = [
            (each.what, each.name.removeprefix(prefix), each.event)
            for each in changes(self._before, after)
        ]


@contextmanager
def watching(pushing: Pushing) -> Generator[Watch]:
    watch = Watch(pushing)
    yield watch
    watch.end()


def test_where_nothing_happens_nothing_is_seen(pushing: Pushing) -> None:
    pushing.register("a")
    with watching(pushing) as watch:
        pass
    assert watch.seen == []


def test_webhooks_come_and_go(pushing: Pushing) -> None:
    pushing.register("a")
    with watching(pushing) as watch:
        with changing(pushing.path) as connection:
            WebhookRows(connection).remove(WebhookKey(pushing.task_id, "a"))
        pushing.register("b")
    assert watch.seen == [("registered", "b", 0), ("removed", "a", 0)]


def test_what_arrives_is_seen(pushing: Pushing) -> None:
    pushing.register("a")
    with watching(pushing) as watch:
        pushing.deliver("a", 3)
    assert watch.seen == [("told", "a", 3)]


def test_what_is_tried_in_vain_is_seen_each_time(pushing: Pushing) -> None:
    pushing.register("a")
    for _ in range(2):
        with watching(pushing) as watch:
            pushing.fail("a")
        assert watch.seen == [("retrying", "a", 1)]


def test_what_is_given_up_is_seen_and_not_taken_for_told(pushing: Pushing) -> None:
    pushing.register("a")
    with watching(pushing) as watch:
        pushing.bury("a", 2)
    assert watch.seen == [("dead", "a/2", 2)]


def test_a_letter_that_is_sent_again_is_seen(pushing: Pushing) -> None:
    pushing.register("a")
    letter = pushing.bury("a", 2)
    with watching(pushing) as watch, changing(pushing.path) as connection:
        WebhookRows(connection).retry([letter], NOW_MS)
    assert watch.seen == [("queued", "a/2", 2)]
    with watching(pushing) as watch:
        pushing.fail("a")
    # It is the letter that is tried, and nothing newer.
    assert watch.seen == [("retrying", "a", 2)]


def test_the_command_tells_it_as_it_happens(pushing: Pushing, tmp_path: Path) -> None:
    pushing.register("a")
    command = [
        *(sys.executable, "-m", "dragoman", "push", "tail", "--store", "sqlite:///tasks.db"),
        *("--interval", "20ms", "--max-events", "1", "-o", "json"),
    ]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        # It says so when it has looked for the first time.
        assert process.stderr.readline() == "Webhooks: 1\n"
        pushing.deliver("a", 1)
        out, _ = process.communicate(timeout=15)
    finally:
        process.kill()
    assert process.returncode == 0
    seen = json.loads(out)
    assert (seen["what"], seen["event"], seen["host"]) == ("told", 1, "hooks.example")
    assert not [secret for secret in SECRETS if secret in out]


def test_a_store_that_is_not_there_is_told(tmp_path: Path) -> None:
    result = Cli(tmp_path)("push", "tail")
    assert result.code == 2
    assert "there is no database" in result.err
