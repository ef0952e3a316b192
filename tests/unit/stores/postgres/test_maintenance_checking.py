from typing import Final

import pytest

from dragoman.stores.maintenance import Finding
from dragoman.stores.postgres.maintenance import RULES, PostgresMaintenance
from tests.support.stores.postgres.looking import ask
from tests.support.stores.postgres.populated import EXPECTED_TASKS, change, populated, task_of


@pytest.fixture
def url() -> str:
    return populated()


def check(url: str) -> list[Finding]:
    findings: list[Finding] = []
    PostgresMaintenance(url).check(findings.append, lambda _, __: None)
    return findings


def test_what_a_server_leaves_behind_is_in_order(url: str) -> None:
    told: list[tuple[int, int]] = []
    findings: list[Finding] = []
    PostgresMaintenance(url).check(findings.append, lambda done, total: told.append((done, total)))
    assert findings == []
    assert told == [(EXPECTED_TASKS, EXPECTED_TASKS)]


_NO_TASK: Final = ""

CORRUPTIONS: Final = {
    # The rules about a single task are shown with SQLite; here, that they are asked.
    "lost segment": ("log-gap", "count", "DELETE FROM events WHERE task_id = :count AND seq = 4"),
    "lost state": ("row-state", "ask", "UPDATE tasks SET state = 9 WHERE id = :ask"),
    "lost result": ("journal", "ask", "DELETE FROM journal WHERE task_id = :ask AND n = 1"),
    "lost snapshot": ("ended", "count", "UPDATE tasks SET head = NULL WHERE id = :count"),
    "late snapshot": ("snapshot", "ask", "UPDATE snapshots SET seq = 9 WHERE task_id = :ask"),
    "number": ("inbox", "hold", "UPDATE inbox SET n = 9 WHERE task_id = :hold"),
    # What belongs to nobody.
    "events": ("stray", "x", "INSERT INTO events VALUES ('x', 1, 1, '{}')"),
    "snapshots": ("stray", "x", "INSERT INTO snapshots VALUES ('x', 1, '', '', '')"),
    "journal": ("stray", "x", "INSERT INTO journal VALUES ('x', 1, '', '', '', 0)"),
    "inbox": ("stray", "x", "INSERT INTO inbox VALUES ('x', 1, '')"),
    "alias": ("alias", "x", "UPDATE aliases SET task_id = 'x'"),
    "alias of another": ("alias", "", "UPDATE aliases SET owner = 'mallory'"),
    "send": ("send", "x", "UPDATE sends SET task_id = 'x' WHERE task_id = :count"),
    # Webhooks, and what was given up.
    "webhooks": (
        "stray",
        "x",
        "INSERT INTO webhooks (task_id, id, tenant, owner, dialect, host, wants, created_ms, "
        "cursor, state, config) VALUES ('x', 'w', '', '', '', '', '', 0, 0, 0, '')",
    ),
    "webhook of another": ("webhook", "", "UPDATE webhooks SET owner = 'mallory'"),
    "webhook beyond the log": ("webhook", "", "UPDATE webhooks SET cursor = 99"),
    "webhook nobody knows of": ("webhook", "", "UPDATE tasks SET has_webhooks = false"),
    "webhook asleep": (
        "webhook",
        "",
        "UPDATE webhooks SET cursor = 0, state = 0, pending_since_ms = 0",
    ),
    "letter of the future": (
        "letter",
        "",
        "INSERT INTO dead_letters SELECT task_id, id, 99, 1, '', 0, false FROM webhooks",
    ),
    # The shards of a counter may hold anything, if only their sum is right.
    "counter": (
        "counter",
        _NO_TASK,
        "INSERT INTO counters VALUES ('', 'anonymous', 3, 31, 5)",
    ),
}


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_is_out_of_order_is_found(url: str, name: str) -> None:
    rule, whose, statement = CORRUPTIONS[name]
    task_id = task_of(url, whose) if whose in ("count", "ask", "hold") else whose
    change(url, statement)
    found = [each for each in check(url) if each.rule == rule]
    assert found, check(url)
    assert rule in RULES
    if task_id:
        assert {each.task_id for each in found} == {task_id}


def test_shards_that_make_up_for_each_other_are_in_order(url: str) -> None:
    change(
        url,
        "INSERT INTO counters VALUES ('', 'anonymous', 3, 31, 5), ('', 'anonymous', 3, 30, -5)",
    )
    assert check(url) == []


def test_an_index_that_is_missing_is_named_and_the_rest_is_checked(url: str) -> None:
    ask(url, "DROP INDEX tasks_ended")
    change(url, "DELETE FROM journal WHERE task_id = :ask AND n = 1")
    assert [each.rule for each in check(url)] == ["schema", "journal"]


def test_without_a_table_nothing_else_is_looked_at(url: str) -> None:
    ask(url, "DROP TABLE events")
    assert [each.text for each in check(url)] == ["the table events is missing"]


def test_tasks_are_read_in_parts(url: str) -> None:
    statement = """
        INSERT INTO tasks (id, tenant, owner, context_id, skill_id, origin_dialect, created_ms,
            state, status_at_ms, epoch, seq)
        SELECT 'extra ' || n, '', 'bulk', '', '', '', 0, 3, 0, 1, 0
        FROM generate_series(1, 450) AS n
    """
    ask(url, statement)
    # None of them has a log, a snapshot, or was counted.
    rules = [each.rule for each in check(url)]
    assert rules.count("row-state") == 450
    assert rules.count("counter") == 1


def test_a_trigger_that_is_missing_is_named(url: str) -> None:
    ask(url, "DROP TRIGGER tell_of_status ON tasks")
    assert [each.text for each in check(url)] == ["the trigger tell_of_status is missing"]
