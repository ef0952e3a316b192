import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from dragoman.stores.postgres.schema import latest_version as latest_postgres
from dragoman.stores.sqlite.lock import FileLock
from dragoman.stores.sqlite.schema import latest_version
from tests.cli.calling import Cli
from tests.support.cli.commands import AGENT, PROGRAM, environment, running
from tests.support.collector import until
from tests.support.disks import DISK, run_on_small_disk
from tests.support.postgres import new_database
from tests.support.stores.postgres.looking import ask
from tests.support.stores.postgres.populated import change as change_postgres
from tests.support.stores.postgres.populated import populated
from tests.support.stores.postgres.populated import task_of as task_of_postgres
from tests.support.stores.sqlite.populated import EXPECTED_TASKS, change, populate, task_of
from tests.support.wire import message


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    populate(tmp_path / "tasks.db")
    return Cli(tmp_path, "--store", "sqlite:///tasks.db")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


# --- check --------------------------------------------------------------------------------------


def test_a_store_in_order_has_no_findings(cli: Cli, path: Path) -> None:
    result = cli("db", "check")
    assert result.code == 0
    assert result.out == f"Store: {path}\nTasks: {EXPECTED_TASKS}\nFindings: 0\n"
    assert result.err == ""
    document = cli("db", "check", "-o", "json").json
    assert document == {
        "store": str(path),
        "tasks": EXPECTED_TASKS,
        "found": 0,
        "findings": [],
    }


def test_each_finding_has_a_line(cli: Cli, path: Path) -> None:
    change(path, "UPDATE counters SET n = 9 WHERE state = 6", "DELETE FROM journal WHERE n = 1")
    result = cli("db", "check")
    assert result.code == 1
    first, *_ = result.fields("Finding")
    assert first.startswith("journal 0")
    assert first.endswith(": result 2 is in the place of 1")
    assert result.fields("Finding")[-1] == (
        "counter: 'anonymous' has 1 tasks in TASK_STATE_INPUT_REQUIRED, counted as 9"
    )
    assert result.field("Findings") == str(len(result.fields("Finding")))


def test_each_finding_has_an_object(cli: Cli, path: Path) -> None:
    change(path, "UPDATE counters SET n = 9 WHERE state = 6")
    result = cli("db", "check", "-o", "json")
    assert result.code == 1
    (finding,) = result.json["findings"]
    assert finding["rule"] == "counter"
    assert finding["taskId"] is None


def test_no_more_findings_are_shown_than_asked_for_but_all_are_counted(
    cli: Cli, path: Path
) -> None:
    change(path, "DELETE FROM events")
    result = cli("db", "check", "--limit", "2")
    assert result.code == 1
    assert len(result.fields("Finding")) == 2
    count, _, shown = result.field("Findings").partition(" ")
    assert int(count) > 2 * EXPECTED_TASKS
    assert shown == "(2 shown)"
    document = cli("db", "check", "--limit", "0", "-o", "json").json
    assert (document["found"], document["findings"]) == (int(count), [])


def test_a_limit_that_is_no_number_is_refused(cli: Cli) -> None:
    result = cli("db", "check", "--limit", "many")
    assert (result.code, "--limit must be a whole number" in result.err) == (2, True)


def test_a_store_of_an_older_version_is_not_checked_but_told_how_to_upgrade(
    cli: Cli, path: Path
) -> None:
    change(path, "PRAGMA user_version = 2")
    result = cli("db", "check")
    # It is no finding: nothing is wrong with the store, and nobody needs a backup.
    assert (result.code, result.out) == (2, "")
    assert f"older version (schema 2, this Dragoman has {latest_version()})" in result.err
    assert "cannot be checked" in result.err
    assert f"run dragoman db upgrade --store sqlite:///{path}\n" in result.err
    error = cli("db", "check", "-o", "json").error
    assert (error["code"], "cannot be checked" in error["message"]) == ("A2ACLI_ERR_USAGE", True)


def test_a_store_of_a_newer_version_is_not_checked(cli: Cli, path: Path) -> None:
    change(path, "PRAGMA user_version = 99")
    result = cli("db", "check")
    assert (result.code, result.out) == (2, "")
    assert "newer Dragoman (schema 99" in result.err
    assert "cannot be checked by this one; upgrade Dragoman" in result.err


def test_a_store_is_checked_while_it_is_served(cli: Cli) -> None:
    (cli.folder / "agent.py").write_text(AGENT)
    with running(cli.folder, "agent.py", "--port", "0", "--store", "sqlite:///tasks.db") as server:
        Cli(cli.folder).to(server.url)("send", "hello")
        result = cli("db", "check")
        assert (result.code, result.field("Findings")) == (0, "0")
        # The tasks of another agent, which were cut off, have been ended by this one.
        assert result.field("Tasks") == str(EXPECTED_TASKS + 1)


# --- vacuum, upgrade ----------------------------------------------------------------------------


def test_sizes_are_told_before_and_after(cli: Cli, path: Path) -> None:
    change(path, "INSERT INTO probe VALUES (zeroblob(1000000))", "DELETE FROM probe")
    result = cli("db", "vacuum", "-o", "json")
    assert result.code == 0
    assert result.json["bytesBefore"] > 1_000_000
    assert result.json["bytesAfter"] == path.stat().st_size
    assert cli("db", "vacuum").field("Bytes after") == str(path.stat().st_size)


@pytest.mark.parametrize("command", [["vacuum"], ["upgrade"], ["erase", "--owner", "alice"]])
def test_a_store_that_is_served_is_left_alone(cli: Cli, path: Path, command: list[str]) -> None:
    lock = FileLock(path)
    lock.acquire()
    result = cli("db", *command)
    lock.release()
    assert result.code == 2
    assert f"is already served by process {os.getpid()}" in result.err


def test_versions_are_told_before_and_after(cli: Cli) -> None:
    latest = latest_version()
    document = cli("db", "upgrade", "-o", "json").json
    assert (document["schemaBefore"], document["schemaAfter"]) == (latest, latest)
    assert cli("db", "upgrade").field("Schema after") == str(latest)


@pytest.mark.parametrize(
    ("command", "pages", "what"),
    [
        # Who reads writes into the index of the log.
        ("check", 0, "cannot be opened: the disk is full; make room"),
        ("vacuum", 0, "cannot be opened: the disk is full; make room"),
        ("upgrade", 0, "cannot be opened: the disk is full; make room"),
        # The lock, the log and its index, but no copy.
        ("vacuum", 12, "cannot be rewritten: the disk is full, or that of temporary files"),
    ],
)
def test_a_full_disk_is_told(path: Path, cli: Cli, command: str, pages: int, what: str) -> None:
    folder = cli.folder
    line = [*PROGRAM, "db", command, "--store", f"sqlite:///{DISK}/{path.name}"]
    done = run_on_small_disk(
        folder, line, left_pages=pages, file=path.name, environment=environment()
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"Error: {folder}/{DISK}/{path.name} {what}" in done.stderr


# --- erase --------------------------------------------------------------------------------------


class Caller(NamedTuple):
    """Somebody who calls the agent."""

    url: str
    name: str
    key: str

    def send(self) -> str:
        """Send a message with a webhook; return the id of the task."""
        hook = {"id": "hook", "url": "http://127.0.0.1:9/"}
        response = httpx2.post(
            f"{self.url}/message:send",
            headers=self._headers,
            json={
                "message": message(f"words of {self.name}"),
                "configuration": {"taskPushNotificationConfig": hook},
            },
        )
        assert response.status_code == 200, response.text
        return response.json()["task"]["id"]

    def status_of(self, task_id: str) -> int:
        """Look for a task."""
        url = f"{self.url}/tasks/{task_id}"
        return httpx2.get(url, headers=self._headers).status_code

    @property
    def _headers(self) -> dict[str, str]:
        return {"A2A-Version": "1.0", "X-API-Key": self.key}


@contextmanager
def serving(folder: Path, store: str) -> Generator[Callable[[str], Caller]]:
    """Serve an agent to several owners; who calls is asked for by name."""
    (folder / "agent.py").write_text(AGENT)
    keys = {
        name: Cli(folder)("keys", "create", name, "-o", "json").json["key"]
        for name in ("alice", "bob")
    }
    options = ("--store", store, "--api-keys", "keys.json", "--port", "0")
    # Nobody listens at the port of the webhooks: they always have something to send.
    push = ("--push-allow-http", "--push-allow-hosts", "127.0.0.1", "--push-ports", "9")
    with running(folder, "agent.py", *options, *push) as server:
        yield lambda name: Caller(server.url, name, keys[name])


def test_everything_of_an_owner_is_erased(tmp_path: Path) -> None:
    cli = Cli(tmp_path, "--store", "sqlite:///tasks.db")
    with serving(tmp_path, "sqlite:///tasks.db") as caller:
        for name in ("alice", "bob", "alice", "bob"):
            caller(name).send()
    path = tmp_path / "tasks.db"
    tried = cli("db", "erase", "--owner", "key:alice", "--dry-run", "-o", "json")
    assert (tried.code, tried.json["dryRun"]) == (0, True)
    assert b"words of alice" in path.read_bytes()
    done = cli("db", "erase", "--owner", "key:alice", "-o", "json")
    assert done.json == {**tried.json, "dryRun": False}
    erased = done.json["erased"]
    assert (erased["tasks"], erased["sends"], erased["webhooks"]) == (2, 2, 2)
    assert erased["events"] >= 4
    content = b"".join(each.read_bytes() for each in tmp_path.glob("tasks.db*"))
    assert b"words of alice" not in content
    assert b"key:alice" not in content
    assert b"words of bob" in content
    assert cli("db", "check").field("Tasks") == "2"
    assert cli("db", "check").field("Findings") == "0"


def test_one_task_is_erased_whatever_it_does(cli: Cli, path: Path) -> None:
    found = [cli("db", "erase", "--task", task_of(path, name)) for name in ("hold", "ask", "sleep")]
    assert [result.field("Tasks") for result in found] == ["1", "1", "1"]
    assert found[0].field("Messages") == "1"
    assert (found[1].field("Results"), found[1].field("Webhooks")) == ("2", "1")
    assert cli("db", "check").field("Findings") == "0"
    assert cli("db", "check").field("Tasks") == str(EXPECTED_TASKS - 3)
    assert cli("db", "erase", "--task", "none").code == 1


def test_what_is_newer_stays(cli: Cli) -> None:
    result = cli("db", "erase", "--owner", "anonymous", "--before", "2001-01-01T00:00:00Z")
    assert (result.code, result.field("Tasks"), result.field("Sends")) == (0, "0", "0")
    result = cli("db", "erase", "--owner", "anonymous", "--before", "2999-01-01T00:00:00Z")
    assert (result.code, result.field("Tasks")) == (0, str(EXPECTED_TASKS))
    assert cli("db", "erase", "--tenant", "acme").field("Tasks") == "0"


@pytest.mark.parametrize("choice", [[], ["--task", "t", "--owner", "o"], ["--owner", ""]])
def test_it_must_be_said_what_to_erase(cli: Cli, choice: list[str]) -> None:
    assert cli("db", "erase", *choice).code == 2
    assert cli("db", "check").field("Tasks") == str(EXPECTED_TASKS)


# --- PostgreSQL ---------------------------------------------------------------------------------


@pytest.fixture
def database() -> str:
    return populated()


@pytest.fixture
def postgres(tmp_path: Path, database: str) -> Cli:
    return Cli(tmp_path, "--store", database.replace("postgres@", "postgres:s3cret@"))


def test_a_database_is_checked(postgres: Cli, database: str) -> None:
    result = postgres("db", "check")
    assert (result.code, result.err) == (0, "")
    assert result.out == f"Store: {database}\nTasks: {EXPECTED_TASKS}\nFindings: 0\n"
    change_postgres(database, "DELETE FROM journal WHERE n = 1")
    result = postgres("db", "check", "-o", "json")
    assert (result.code, result.json["found"]) == (1, len(result.json["findings"]))
    assert {finding["rule"] for finding in result.json["findings"]} == {"journal"}


def test_a_database_is_upgraded_and_vacuumed(postgres: Cli, database: str) -> None:
    document = postgres("db", "upgrade", "-o", "json").json
    assert document["store"] == database
    assert document["schemaBefore"] == document["schemaAfter"] == latest_postgres()
    assert postgres("db", "vacuum", "-o", "json").json["bytesAfter"] > 0


@pytest.mark.parametrize(
    ("statement", "versions", "remedy"),
    [
        (
            "UPDATE schema_version SET version = version - 1",
            f"(schema {latest_postgres() - 1}, this Dragoman has {latest_postgres()})",
            "run dragoman db upgrade --store postgresql://postgres@",
        ),
        # Servers of this version go on with it, but it may have rules that they do not know.
        (
            "UPDATE schema_version SET version = version + 1",
            f"(schema {latest_postgres() + 1}, this one knows {latest_postgres()})",
            "by this one; upgrade Dragoman",
        ),
    ],
)
def test_a_database_of_another_version_is_not_checked(
    postgres: Cli, database: str, statement: str, versions: str, remedy: str
) -> None:
    change_postgres(database, statement)
    result = postgres("db", "check")
    assert (result.code, result.out) == (2, "")
    for told in (versions, "cannot be checked", remedy):
        assert told in result.err
    assert "s3cret" not in result.err


def test_a_task_in_a_database_is_inspected(postgres: Cli, database: str) -> None:
    task_id = task_of_postgres(database, "ask")
    assert postgres("task", "inspect", task_id).field("Skill") == "ask"
    result = postgres("task", "inspect", "none")
    assert (result.code, f"there is no task none in {database}" in result.err) == (1, True)


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    cli = Cli(tmp_path, "--store", "postgres://me:s3cret@127.0.0.1:1/none")
    result = cli("db", "check")
    assert (result.code, "me@127.0.0.1:1/none cannot be reached" in result.err) == (2, True)
    assert "s3cret" not in result.err


def test_everything_of_an_owner_is_erased_from_a_database_that_is_served(tmp_path: Path) -> None:
    database = new_database()
    cli = Cli(tmp_path, "--store", database)
    with serving(tmp_path, database) as caller:
        alice, bob = caller("alice"), caller("bob")
        task, other = alice.send(), bob.send()
        assert alice.status_of(task) == 200
        tried = cli("db", "erase", "--owner", "key:alice", "--dry-run", "-o", "json")
        done = cli("db", "erase", "--owner", "key:alice", "-o", "json")
        assert done.json == {**tried.json, "dryRun": False}
        erased = done.json["erased"]
        assert (erased["tasks"], erased["sends"], erased["webhooks"]) == (1, 1, 1)
        until(lambda: alice.status_of(task) == 404)
        assert bob.status_of(other) == 200
        assert cli("db", "check").field("Findings") == "0"
    for table in ("tasks", "webhooks", "sends", "counters", "aliases"):
        assert ask(database, f"SELECT count(*) FROM {table} WHERE owner = 'key:alice'") == "0"  # noqa: S608 - ours
