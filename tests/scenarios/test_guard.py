"""The guard under attack: every operation, in every version, over every binding."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest

from dragoman.auth.api_key import ApiKeys
from dragoman.stores.base import Scope, SendKey, SendRecord, StoredPage, StoredTask, TaskQuery
from dragoman.stores.memory import MemoryTaskStore
from dragoman.stores.sqlite.reader import Reader
from tests.scenarios.bindings import Binding, HttpJson
from tests.scenarios.guarding import (
    ATTACKS,
    KEY_HEADER,
    LINES,
    TASK_OPERATIONS,
    Ask,
    Attack,
    Heard,
    Line,
    Verdict,
    call_of,
    guarded_agent,
    hear,
    verdict_on,
)
from tests.serving import Served, serving
from tests.wire import Json, message

ADA, BOB, CAROL, DAN = (f"key-of-{name}" for name in ("ada", "bob", "carol", "dan"))

_numbers = count(1)

LISTING = [line for line in LINES if "ListTasks" in line.operations]

MATRIX = [
    pytest.param(line, operation, attack, id=f"{line.name}-{operation}-{attack.name}")
    for line in LINES
    for operation in line.operations
    for attack in ATTACKS
]


def unknown() -> str:
    """Return the id of a task that never was."""
    return f"01a1e2eb-0000-7000-8000-{next(_numbers):012x}"


class CountingStore(MemoryTaskStore):
    """A store that remembers what it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def load(self, scope: Scope, task_id: str) -> StoredTask | None:
        self.asked.append("load")
        return await super().load(scope, task_id)

    async def find_alias(self, scope: Scope, alias: str) -> str | None:
        self.asked.append("find_alias")
        return await super().find_alias(scope, alias)

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        self.asked.append("find_send")
        return await super().find_send(key, since_ms)

    async def list_tasks(self, query: TaskQuery) -> StoredPage:
        self.asked.append("list_tasks")
        return await super().list_tasks(query)

    async def read_entries(self, task_id: str, *, until: int) -> tuple[bytes, ...]:
        self.asked.append("read_entries")
        return await super().read_entries(task_id, until=until)


@pytest.fixture(scope="module")
def store() -> CountingStore:
    """Where the tasks of the module are kept."""
    return CountingStore()


@pytest.fixture(scope="module")
async def served(store: CountingStore) -> AsyncIterator[Served]:
    """The agent behind its guard."""
    # All attacks come from one address, so how many it may make is not limited here.
    async with serving(
        guarded_agent(), store=store, rate_limit_refusals="", shutdown_grace_seconds=0
    ) as agent:
        yield agent


@pytest.fixture(params=LINES, ids=[line.name for line in LINES])
def line(request: pytest.FixtureRequest) -> Line:
    """Each version over each binding."""
    return request.param


@pytest.fixture
async def wire(line: Line, served: Served) -> AsyncIterator[Binding]:
    """A client of that line."""
    async with line.connect(served.url) as binding:
        yield binding


async def begin(served: Served, key: str, **params: object) -> str:
    """Begin a task that waits for its owner, and return its id."""
    async with HttpJson(served.url, {"A2A-Version": "1.0", KEY_HEADER: key}) as client:
        task = await client.task(message(metadata={"skillId": "ask"}), **params)
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        return task["id"]


async def ask(wire: Binding, wish: Ask, key: str) -> Heard:
    """Ask for something."""
    return await hear(wire, *call_of(wire, wish), key)


# --- the matrix ---------------------------------------------------------------------------------


async def attacked(
    served: Served, line: Line, wire: Binding, operation: str, attack: Attack
) -> Heard:
    """Make an attack on a task that exists."""
    owner = CAROL if attack is Attack.NOT_PERMITTED else ADA
    tenant = "umbrella" if attack is Attack.OTHER_TENANT and line.version == "1.0" else ""
    is_send = operation.startswith("Send")
    wish = Ask(
        operation,
        # Carol may send to her task, so what she may not is to begin one with the vault.
        task_id="" if attack is Attack.NOT_PERMITTED and is_send else await begin(served, owner),
        skill="vault" if attack is Attack.NOT_PERMITTED else "ask",
        tenant=tenant,
    )
    return await ask(wire, wish, attack.key)


@pytest.mark.requirement("R-7.4-1", "R-7.4-2", "R-13.1-1", "R-13.1-2", "R-3.3.2-6")
@pytest.mark.parametrize(("line", "operation", "attack"), MATRIX)
async def test_every_attack_hears_what_it_must(
    served: Served, line: Line, wire: Binding, operation: str, attack: Attack
) -> None:
    heard = await attacked(served, line, wire, operation, attack)
    verdict = verdict_on(operation, attack, makes_own_ids=line.version == "0.1")
    if verdict is Verdict.ITS_OWN:
        assert heard.code is None, heard.body
    else:
        assert heard.code == line.code(verdict, operation), heard.body
    if verdict is Verdict.UNAUTHENTICATED and line.binding != "gRPC":
        assert (heard.http, heard.challenges) == (401, ['ApiKey realm="guarded"'])
    if verdict is Verdict.DENIED and line.binding != "gRPC":
        assert heard.http == 403


@pytest.mark.requirement("R-3.3.2-5")
async def test_a_challenge_is_told_on_bindings_without_headers_too(
    line: Line, wire: Binding
) -> None:
    heard = await ask(wire, Ask("SendMessage"), "")
    if line.name != "0.3 OldGrpc":  # Its errors are a number and a text.
        assert "ApiKey realm=" in heard.body


# --- one gate -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-13.1-1", "R-13.1-7", "R-3.3.2-7")
@pytest.mark.parametrize("operation", TASK_OPERATIONS)
async def test_a_foreign_task_and_one_that_never_was_take_the_same_way(
    served: Served, store: CountingStore, wire: Binding, operation: str
) -> None:
    foreign = await begin(served, ADA)
    ways: list[list[str]] = []
    answers: list[Heard] = []
    missing = unknown()
    for task_id in (foreign, missing):
        store.asked.clear()
        answers.append(await ask(wire, Ask(operation, task_id), BOB))
        ways.append(list(store.asked))
    assert ways[0] == ways[1]
    assert ways[0], "the store was not asked at all"
    first, second = answers
    assert (first.http, first.code) == (second.http, second.code)
    if first.code is not None:
        assert first.about(foreign) == second.about(missing)


async def test_a_task_that_has_ended_is_no_easier_to_find(
    served: Served, store: CountingStore, line: Line, wire: Binding
) -> None:
    foreign = await begin(served, ADA)
    async with HttpJson(served.url, {"A2A-Version": "1.0", KEY_HEADER: ADA}) as ada:
        await ada.task(message("Rome", taskId=foreign))
    ways: list[list[str]] = []
    for task_id in (foreign, unknown()):
        store.asked.clear()
        heard = await ask(wire, Ask("GetTask", task_id), BOB)
        assert heard.code == line.codes[Verdict.NOT_FOUND]
        ways.append(list(store.asked))
    assert ways[0] == ways[1]


async def test_the_database_is_asked_the_same_for_both(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    async with serving(guarded_agent(), store=f"sqlite:///{path}") as served:
        foreign = await begin(served, ADA)
    statements: list[str] = []
    connection = sqlite3.connect(path)
    reader = Reader(connection)
    bob = Scope("", "bob")
    ways: list[list[str]] = []
    connection.set_trace_callback(statements.append)
    for task_id in (foreign, unknown()):
        statements.clear()
        assert reader.load(bob, task_id) is None
        assert reader.find_alias(bob, task_id) is None
        ways.append([statement.replace(task_id, "…") for statement in statements])
    connection.set_trace_callback(None)
    assert reader.load(Scope("", "ada"), foreign) is not None
    reader.close()
    assert ways[0] == ways[1]
    assert len(ways[0]) == 2


async def test_what_a_client_of_0_1_calls_its_task_means_nothing_to_others(
    served: Served,
) -> None:
    line = next(line for line in LINES if line.version == "0.1")
    async with line.connect(served.url) as wire:
        mine = await ask(wire, Ask("SendMessage", "trip-1", "ask"), ADA)
        assert '"state":"input-required"' in mine.body
        found = await ask(wire, Ask("GetTask", "trip-1"), BOB)
        assert found.code == -32001
        # The same name is another task for another owner, and takes nothing from the first.
        theirs = await ask(wire, Ask("SendMessage", "trip-1", "whoami"), BOB)
        assert '"user":"bob"' in theirs.body
        again = await ask(wire, Ask("GetTask", "trip-1"), ADA)
        assert '"state":"input-required"' in again.body


@pytest.mark.requirement("R-3.1.4-7")
@pytest.mark.parametrize("line", LISTING, ids=[line.name for line in LISTING])
async def test_a_list_counts_only_what_is_the_callers(served: Served, line: Line) -> None:
    context = f"c-{line.name}"
    task_id = await begin_in(served, ADA, context)
    async with line.connect(served.url) as wire:
        mine = await ask(wire, Ask("ListTasks"), ADA)
        theirs = await ask(wire, Ask("ListTasks"), BOB)
    assert task_id in mine.body
    assert task_id not in theirs.body


async def begin_in(served: Served, key: str, context: str) -> str:
    """Begin a task in a context."""
    async with HttpJson(served.url, {"A2A-Version": "1.0", KEY_HEADER: key}) as client:
        sent = message(metadata={"skillId": "whoami"}, contextId=context)
        return (await client.task(sent))["id"]


@pytest.fixture
async def people(served: Served) -> AsyncIterator[dict[str, HttpJson]]:
    """A client for each of them."""
    clients = {
        key: HttpJson(served.url, {"A2A-Version": "1.0", KEY_HEADER: key})
        for key in (ADA, BOB, CAROL, DAN)
    }
    yield clients
    for client in clients.values():
        await client.http.aclose()


async def test_the_context_of_another_owner_is_empty(people: dict[str, HttpJson]) -> None:
    context = "c-shared-by-name"
    await people[ADA].task(message(metadata={"skillId": "whoami"}, contextId=context))
    page = await people[BOB].list_tasks(contextId=context)
    assert (page["tasks"], page["totalSize"]) == ([], 0)


async def test_a_page_token_of_another_owner_is_none(people: dict[str, HttpJson]) -> None:
    for _ in range(2):
        await people[ADA].task(message(metadata={"skillId": "whoami"}))
    token = (await people[ADA].list_tasks(pageSize=1))["nextPageToken"]
    response = await people[BOB].respond("ListTasks", {"pageSize": 1, "pageToken": token})
    made_up = await people[BOB].respond("ListTasks", {"pageSize": 1, "pageToken": "AAAA"})
    assert response.status_code == made_up.status_code == 400
    assert response.json() == made_up.json()


async def test_the_same_message_of_two_owners_is_two_messages(people: dict[str, HttpJson]) -> None:
    sent = message(metadata={"skillId": "whoami"})
    mine, theirs = await people[ADA].task(sent), await people[BOB].task(sent)
    assert mine["id"] != theirs["id"]
    assert theirs["artifacts"][0]["parts"][0]["data"]["user"] == "bob"


@pytest.mark.parametrize("is_real", [True, False])
async def test_a_reference_to_another_task_tells_nothing_of_it(
    people: dict[str, HttpJson],
    store: CountingStore,
    is_real: bool,  # noqa: FBT001 - a column of a table
) -> None:
    real = (await people[ADA].task(message(metadata={"skillId": "whoami"})))["id"]
    named = real if is_real else unknown()
    store.asked.clear()
    sent = message(metadata={"skillId": "whoami"}, referenceTaskIds=[named])
    answered = await people[BOB].task(sent)
    assert answered["status"]["state"] == "TASK_STATE_COMPLETED"
    assert store.asked == ["find_send"]


async def test_a_cursor_does_not_open_the_stream_of_another_owner(
    served: Served, people: dict[str, HttpJson]
) -> None:
    task_id = await begin(served, ADA)
    for named in (task_id, unknown()):
        response = await people[BOB].respond(
            "SubscribeToTask", {"id": named}, headers={"Last-Event-ID": "1"}
        )
        assert response.status_code == 404


# --- tenants ------------------------------------------------------------------------------------


async def test_a_tenant_one_may_not_use_looks_like_none(people: dict[str, HttpJson]) -> None:
    forbidden = await people[DAN].respond("ListTasks", {"tenant": "umbrella"})
    unknown = await people[DAN].respond("ListTasks", {"tenant": "nowhere"})
    assert (forbidden.status_code, forbidden.json()) == (unknown.status_code, unknown.json())
    assert (await people[DAN].list_tasks(tenant="acme"))["totalSize"] == 0
    assert (await people[ADA].list_tasks(tenant="umbrella"))["totalSize"] == 0


# --- scopes and hidden skills -------------------------------------------------------------------


@pytest.mark.requirement("R-3.3.2-7", "R-T.ent-6")
async def test_a_missing_scope_is_named_before_anything_else_is(
    people: dict[str, HttpJson],
) -> None:
    # Not what is wrong with the parameters: that is for those who may use the skill.
    sent = message("no number", metadata={"skillId": "vault"})
    response = await people[BOB].respond("SendMessage", {"message": sent})
    assert response.status_code == 403
    error = response.json()["error"]
    assert error["message"] == "Permission denied: this needs the scope vault:open"
    assert error["details"][0]["metadata"] == {"missingScopes": "vault:open"}


async def test_a_hidden_skill_and_one_that_never_was_are_the_same(
    people: dict[str, HttpJson],
) -> None:
    answers: list[Json] = []
    for skill in ("cellar", "attic"):
        sent = message(metadata={"skillId": skill})
        response = await people[BOB].respond("SendMessage", {"message": sent})
        assert response.status_code == 400
        answers.append(response.json())
    assert answers[0] == answers[1]
    sent = {**message(), "metadata": {"skillId": "cellar"}, "parts": [{"data": CELLAR}]}
    assert (await people[ADA].task(sent))["status"]["state"] == "TASK_STATE_COMPLETED"


CELLAR: Json = {"bottles": 2, "year": 1978}


async def test_the_public_card_does_not_hint_at_what_is_hidden(served: Served) -> None:
    async with HttpJson(served.url, {}) as stranger:
        for version in ("", "1.0", "0.3", "0.1"):
            card = await stranger.http.get(
                "/.well-known/agent-card.json", headers={"A2A-Version": version}
            )
            assert card.status_code == 200
            assert "cellar" not in card.text
            assert "bottles" not in card.text
            assert "vault" in card.text


# --- what a skill knows of its caller -----------------------------------------------------------


async def test_a_skill_knows_who_calls(line: Line, served: Served) -> None:
    async with line.connect(served.url) as wire:
        heard = await ask(wire, Ask("SendMessage", "mine" * (line.version == "0.1"), "whoami"), ADA)
    assert '"user":"ada"' in heard.body.replace(": ", ":")
    assert "vault:open" in heard.body


@pytest.mark.requirement("R-7.6.1-2", "R-7.6.1-3", "R-7.6.1-7")
async def test_an_authorization_that_a_task_asks_for_is_its_owners_to_give(
    people: dict[str, HttpJson],
) -> None:
    asked = await people[ADA].task(message("Pay", metadata={"skillId": "sign_in"}))
    assert asked["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    assert asked["status"]["message"]["parts"] == [
        {"text": "Sign in, please."},
        {"data": {"url": "https://id.example/"}},
    ]
    stranger = await people[BOB].respond(
        "SendMessage", {"message": message("signed", taskId=asked["id"])}
    )
    assert stranger.status_code == 404
    done = await people[ADA].task(message("signed", taskId=asked["id"]))
    assert done["artifacts"][0]["parts"] == [{"text": "Pay for ada: signed"}]


# --- before the body ----------------------------------------------------------------------------


async def test_nobody_learns_the_limits_without_a_key(served: Served) -> None:
    host, _, port = served.url.removeprefix("http://").partition(":")
    for path in ("/", "/message:send", "/v1/message:send", "/no/such/route"):
        reader, writer = await asyncio.open_connection(host, int(port))
        # Nothing of the body is sent: whoever wanted to read it would wait for ever.
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {1 << 40}\r\n\r\n".encode()
        )
        assert (await reader.readline()).split()[1] == b"401", path
        writer.close()


@pytest.fixture
def audit(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """The audit log."""
    with caplog.at_level("DEBUG", logger="dragoman.audit"):
        yield caplog


async def test_every_decision_is_written_down_without_the_key(
    line: Line, wire: Binding, served: Served, audit: pytest.LogCaptureFixture
) -> None:
    foreign = await begin(served, ADA)
    audit.clear()
    await ask(wire, Ask("GetTask", foreign), "a-wrong-key-that-is-secret")
    await ask(wire, Ask("GetTask", foreign), BOB)
    await ask(wire, Ask("GetTask", foreign), ADA)
    entries = [record.__dict__["audit"] for record in audit.records]
    assert [
        (entry["outcome"], entry["who"], entry.get("operation"), entry.get("why"))
        for entry in entries
    ] == [
        ("refused", "", None, "UNAUTHENTICATED"),
        ("refused", "bob", "GetTask", "TASK_NOT_FOUND"),
        ("accepted", "ada", "GetTask", None),
    ]
    for secret in ("a-wrong-key-that-is-secret", ADA, BOB):
        assert secret not in audit.text
    del line


SECRETS = (
    "query-secret-1",
    "cookie-secret-2",
    "header-secret-3",
    "token-secret-4",
    "wrong-secret-5",
)


async def test_no_secret_is_ever_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    ways = [
        ApiKeys({SECRETS[0]: "ada"}, location="query", parameter="key", name="in-query"),
        ApiKeys({SECRETS[1]: "ada"}, location="cookie", parameter="key", name="in-cookie"),
        ApiKeys({SECRETS[2]: "ada"}, name="in-header"),
    ]
    shown: list[tuple[str, dict[str, str]]] = [
        (f"?key={SECRETS[0]}", {}),
        ("", {"Cookie": f"key={SECRETS[1]}"}),
        ("", {"X-API-Key": SECRETS[2]}),
        (f"?key={SECRETS[4]}", {}),
        ("", {"X-API-Key": SECRETS[4]}),
        ("", {"Authorization": f"Bearer {SECRETS[4]}"}),
    ]
    statuses: list[int] = []
    async with serving(guarded_agent(auth=ways)) as served, HttpJson(served.url) as client:
        for query, headers in shown:
            sent = message(metadata={"skillId": "whoami", "token": SECRETS[3]})
            response = await client.http.post(
                f"/message:send{query}", json={"message": sent}, headers=headers
            )
            statuses.append(response.status_code)
    assert statuses == [200, 200, 200, 401, 401, 401]
    # What is looked for would be found: the log has a line for each of them.
    assert caplog.text.count('"outcome":') == len(shown)
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("dragoman")]
    assert not [secret for secret in SECRETS for line in lines if secret in line]
