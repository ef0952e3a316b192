import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from dragoman.stores.maintenance import Finding
from dragoman.stores.sqlite.maintenance import RULES, check_database, looking_at
from tests.support.stores.sqlite.populated import EXPECTED_TASKS, change, populate, task_of, value


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.db"
    populate(path)
    return path


def check(path: Path) -> list[Finding]:
    with looking_at(path) as connection:
        return list(check_database(connection, lambda _, __: None))


def test_what_a_server_leaves_behind_is_in_order(path: Path) -> None:
    assert check(path) == []
    with looking_at(path) as connection:
        told: list[tuple[int, int]] = []
        list(check_database(connection, lambda done, total: told.append((done, total))))
    assert told == [(EXPECTED_TASKS, EXPECTED_TASKS)]


CORRUPTIONS = {
    # A segment is lost.
    "lost segment": ("log-gap", "count", "DELETE FROM events WHERE task_id = :count AND seq = 4"),
    "lost beginning": ("log-gap", "count", "DELETE FROM events WHERE task_id = :count AND seq = 1"),
    "lost end": (
        "row-seq",
        "count",
        "DELETE FROM events WHERE task_id = :count "
        "AND seq = (SELECT max(seq) FROM events WHERE task_id = :count)",
    ),
    # A segment says something wrong of itself.
    "count": (
        "log-count",
        "count",
        "UPDATE events SET count = 2 WHERE task_id = :count AND seq = 4",
    ),
    "message at the end": (
        "log-count",
        "hold",
        """UPDATE events SET body = CAST(body || x'0a' || '{"message":{"messageId":"m",'
        || '"role":"ROLE_USER","parts":[{"text":"x"}]}}' AS BLOB) WHERE task_id = :hold""",
    ),
    # Entries that are none.
    "no JSON": (
        "log-entry",
        "count",
        "UPDATE events SET body = x'7b' WHERE task_id = :count AND seq = 4",
    ),
    "a task": (
        "log-entry",
        "count",
        """UPDATE events SET body = CAST('{"task":{"id":"t","contextId":"c","status":'
        || '{"state":"TASK_STATE_WORKING"}}}' AS BLOB) WHERE task_id = :count AND seq = 4""",
    ),
    "of another task": (
        "log-entry",
        "count",
        """UPDATE events SET body = CAST(replace(body, '"taskId":"', '"taskId":"x') AS BLOB)
        WHERE task_id = :count AND seq = 4""",
    ),
    # Moves that the table of states does not have.
    "begins at work": (
        "log-begin",
        "sleep",
        "UPDATE events SET body = CAST(replace(body, 'SUBMITTED', 'WORKING') AS BLOB) "
        "WHERE task_id = :sleep",
    ),
    "is submitted again": (
        "log-move",
        "hold",
        "UPDATE events SET body = CAST(replace(body, 'WORKING', 'SUBMITTED') AS BLOB) "
        "WHERE task_id = :hold",
    ),
    "goes on after its end": (
        "log-end",
        "count",
        "INSERT INTO events SELECT task_id, 9, 1, body FROM events "
        "WHERE task_id = :count AND seq = 4",
    ),
    # The row and the log say different things.
    "row ahead": ("row-seq", "hold", "UPDATE tasks SET seq = seq + 1 WHERE id = :hold"),
    "row behind": ("row-seq", "hold", "UPDATE tasks SET seq = seq - 1 WHERE id = :hold"),
    "other state": ("row-state", "ask", "UPDATE tasks SET state = 8 WHERE id = :ask"),
    "no state": ("row-state", "hold", "UPDATE tasks SET state = 99 WHERE id = :hold"),
    "other time": (
        "row-time",
        "hold",
        "UPDATE tasks SET status_at_ms = status_at_ms + 1 WHERE id = :hold",
    ),
    # Snapshots that are not what the log comes to.
    "other history": (
        "snapshot",
        "ask",
        "UPDATE snapshots SET history = CAST(replace(history, 'almost', 'finally') AS BLOB)",
    ),
    "other artifact": (
        "snapshot",
        "count",
        "UPDATE tasks SET artifacts = CAST(replace(artifacts, 'one 3', 'two 3') AS BLOB) "
        "WHERE id = :count",
    ),
    "unreadable snapshot": (
        "snapshot",
        "count",
        "UPDATE tasks SET head = x'00' WHERE id = :count",
    ),
    "snapshot of another event": (
        "snapshot",
        "ask",
        "UPDATE snapshots SET seq = 3 WHERE task_id = :ask",
    ),
    # What a task has that has ended.
    "ended and to be woken": (
        "ended",
        "count",
        "UPDATE tasks SET wake_at_ms = 5 WHERE id = :count",
    ),
    "ended with a message": (
        "ended",
        "count",
        "UPDATE inbox SET task_id = :count",
        "UPDATE tasks SET inbox_n = 1 WHERE id = :count",
    ),
    "ended with a second snapshot": (
        "ended",
        "count",
        "INSERT INTO snapshots SELECT id, snapshot_seq, head, artifacts, history FROM tasks "
        "WHERE id = :count",
    ),
    "ended without a snapshot": (
        "ended",
        "count",
        "UPDATE tasks SET head = NULL, artifacts = NULL, history = NULL WHERE id = :count",
    ),
    # Results.
    "lost result": ("journal", "count", "DELETE FROM journal WHERE task_id = :count AND n = 3"),
    "result of the future": (
        "journal",
        "ask",
        "UPDATE journal SET seq = 5 WHERE task_id = :ask AND n = 2",
    ),
    "results out of order": (
        "journal",
        "count",
        "UPDATE journal SET seq = 1 WHERE task_id = :count AND n = 4",
    ),
    # Messages that wait.
    "number never given": ("inbox", "hold", "UPDATE inbox SET n = 7 WHERE task_id = :hold"),
    "unreadable message": (
        "inbox",
        "hold",
        "UPDATE inbox SET body = x'7b7d' WHERE task_id = :hold",
    ),
    # What belongs to nobody.
    "stray events": (
        "stray",
        "gone",
        "INSERT INTO events SELECT 'gone', seq, count, body FROM events WHERE task_id = :hold",
    ),
    "stray snapshot": (
        "stray",
        "gone",
        "INSERT INTO snapshots SELECT 'gone', seq, head, artifacts, history FROM snapshots",
    ),
    "stray result": ("stray", "gone", "INSERT INTO journal VALUES ('gone', 1, '', '', x'', 0)"),
    "stray message": ("stray", "gone", "INSERT INTO inbox VALUES ('gone', 1, x'')"),
    "alias of nothing": ("alias", "gone", "INSERT INTO aliases VALUES ('', 'me', 'a', 'gone')"),
    "alias of a stranger": (
        "alias",
        "count",
        "INSERT INTO aliases VALUES ('', 'eve', 'yours', :count)",
    ),
    "send to nobody": ("send", "gone", "UPDATE sends SET task_id = 'gone' WHERE id = 1"),
    "stray webhook": ("stray", "gone", "UPDATE webhooks SET task_id = 'gone'"),
    # Webhooks.
    "webhook of a stranger": ("webhook", "ask", "UPDATE webhooks SET owner = 'eve'"),
    "webhook ahead": ("webhook", "ask", "UPDATE webhooks SET cursor = 99"),
    "webhook asleep": ("webhook", "ask", "UPDATE webhooks SET cursor = cursor - 1"),
    "webhook over": ("webhook", "ask", "UPDATE webhooks SET is_over = 1"),
    "letter to be sent, but not waited for": (
        "webhook",
        "ask",
        "INSERT INTO dead_letters VALUES (:ask, 'w-1', 1, 1, '', 1, 1)",
    ),
    "letter of the future": (
        "letter",
        "ask",
        "INSERT INTO dead_letters VALUES (:ask, 'w-1', 99, 1, '', 1, 0)",
    ),
    "letter to nobody": (
        "letter",
        "ask",
        "INSERT INTO dead_letters VALUES (:ask, 'w-2', 1, 1, '', 1, 0)",
    ),
    # Values of the wrong kind.
    "text for bytes": (
        "type",
        "count",
        "UPDATE events SET body = CAST(body AS TEXT) WHERE task_id = :count AND seq = 4",
    ),
    "text for a number": ("type", "hold", "UPDATE tasks SET inbox_n = 'two' WHERE id = :hold"),
    # Counts.
    "wrong count": ("counter", "", "UPDATE counters SET n = n + 1 WHERE state = 3"),
    "missing count": ("counter", "", "DELETE FROM counters WHERE state = 6"),
    "count of nothing": ("counter", "", "INSERT INTO counters VALUES ('t', 'o', 1, 4)"),
    # The schema.
    "lost trigger": ("schema", "", "DROP TRIGGER tasks_updated"),
    "lost index": ("schema", "", "DROP INDEX tasks_at_work"),
}
"""The rule that is broken, the skill of the task, and what is done to a good database."""


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_what_is_damaged_is_named(path: Path, name: str) -> None:
    rule, whose, *statements = CORRUPTIONS[name]
    task_id = whose if whose in ("", "gone") else task_of(path, whose)
    change(path, *statements)
    findings = check(path)
    assert (rule, task_id) in {(finding.rule, finding.task_id) for finding in findings}, findings
    # Nothing else is to blame: neither other tasks, nor rules that have nothing to do with it.
    assert {finding.task_id for finding in findings} <= {task_id, ""}
    assert {finding.rule for finding in findings} <= {rule} | ALSO.get(name, set()), findings


ALSO: dict[str, set[str]] = {
    # Without its last segment the log ends elsewhere, in every respect.
    "lost end": {"row-state", "ended", "snapshot"},
    # The snapshot in the row is not of the last event any more.
    "goes on after its end": {"ended"},
    # Nothing of it is within a log that there is not.
    "stray webhook": {"webhook"},
    # The last state is another one, too.
    "is submitted again": {"row-state"},
}


def test_every_rule_is_shown_to_be_broken() -> None:
    assert {rule for rule, *_ in CORRUPTIONS.values()} == set(RULES) - {"file"}


def root_of(path: Path, name: str) -> int:
    found = value(path, "SELECT rootpage FROM sqlite_schema WHERE name = ?", name)
    assert isinstance(found, int)
    return found


def overwrite(path: Path, page: int, content: Callable[[bytes], bytes]) -> None:
    """Damage a page of the file, as a failing disk would."""
    size = value(path, "PRAGMA page_size")
    assert isinstance(size, int)
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        old = file.read(size)
        file.seek((page - 1) * size)
        file.write(content(old))


def test_a_file_that_is_damaged_inside_is_named(path: Path) -> None:
    overwrite(path, root_of(path, "tasks_by_status"), lambda old: bytes(len(old)))
    findings = check(path)
    assert findings[0].rule == "file"
    assert {finding.rule for finding in findings} == {"file"}


def test_a_table_that_cannot_be_read_ends_the_check(path: Path) -> None:
    overwrite(path, root_of(path, "events"), lambda old: bytes(len(old)))
    findings = check(path)
    assert "cannot be read any further" in findings[-1].text
    assert {finding.rule for finding in findings} == {"file"}


def test_an_index_that_lacks_a_row_is_named(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        kept = connection.execute("SELECT * FROM sqlite_schema WHERE name = 'tasks_by_context'")
        row = kept.fetchone()
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'tasks_by_context'")
    change(path, "UPDATE tasks SET context_id = context_id || 'x'")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", row)
    assert "tasks_by_context" in next(f.text for f in check(path) if f.rule == "file")
