"""What belongs to somebody else, and what never was, take the same way through the server.

Who measures how long an answer takes learns nothing if the work is the same. So the work is
counted, not the time: every question to the store, and to the agent's policy, in order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from itertools import count
from pathlib import Path

import pytest

from dragoman import AccessRequest
from dragoman.stores.base import Scope, TaskQuery, TaskStore
from dragoman.stores.sqlite.reader import Reader
from tests.scenarios.bindings import Binding, HttpJson
from tests.scenarios.guard.asking import ADA, BOB, ask, begin, client_of, unknown
from tests.scenarios.guard.counting import Asked
from tests.scenarios.guarding import (
    LINES,
    PUSH,
    SENDS,
    TASK_OPERATIONS,
    Ask,
    Heard,
    call_of,
    guarded_agent,
    hear,
    keyed,
    policy,
)
from tests.support.serving import Served, serving
from tests.support.wire import Json, message

_names = count(1)

NEWEST = [line for line in LINES if line.version == "1.0"]
REFERRING = [line for line in LINES if line.name not in ("0.3 OldGrpc", "0.1 V0_1")]
"""Those whose messages refer to other tasks."""


@pytest.fixture(scope="module")
async def served(counting: tuple[TaskStore, Asked]) -> AsyncIterator[Served]:
    """The agent behind its guard, with a policy whose questions count, too."""
    store, asked = counting

    async def noting(request: AccessRequest) -> bool:
        asked.names.append(f"authorize {request.operation.value} {request.skill_id}")
        return await policy(request)

    agent = guarded_agent(authorize=noting)
    async with serving(agent, store=store, shutdown_grace_seconds=0) as running:
        yield running


# --- tasks of others, by what they are called and how they are doing ----------------------------


async def waiting(served: Served) -> str:
    """Begin a task of Ada's that waits for her."""
    return await begin(served, ADA)


async def ended(served: Served) -> str:
    """Begin a task of Ada's and end it."""
    task_id = await begin(served, ADA)
    async with client_of(served, ADA) as ada:
        task = await ada.task(message("Rome", taskId=task_id))
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    return task_id


async def named_by_its_client(served: Served) -> str:
    """Begin a task of Ada's that she has given a name, as clients of 0.1 do."""
    [oldest] = [line for line in LINES if line.version == "0.1"]
    name = f"trip-{next(_names)}"
    async with oldest.connect(served.url) as wire:
        heard = await ask(wire, Ask("SendMessage", name), ADA)
        assert heard.code is None, heard.body
        # What is there to be found is found by who may.
        assert (await ask(wire, Ask("GetTask", name), ADA)).code is None
    return name


KINDS: list[Callable[[Served], Awaitable[str]]] = [waiting, ended, named_by_its_client]

ABOUT_A_TASK = [
    pytest.param(line, operation, id=f"{line.name}-{operation}")
    for line in LINES
    for operation in (*TASK_OPERATIONS, *PUSH)
    if operation in line.operations
]


@pytest.mark.requirement("R-13.1-1", "R-13.1-7", "R-3.3.2-7")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("line", "operation"), ABOUT_A_TASK)
async def test_a_foreign_task_and_one_that_never_was_take_the_same_way(
    served: Served,
    asked: Asked,
    wire: Binding,
    operation: str,
    kind: Callable[[Served], Awaitable[str]],
) -> None:
    foreign = await kind(served)
    missing = f"trip-{next(_names)}" if kind is named_by_its_client else unknown()
    ways: list[list[str]] = []
    answers: list[Heard] = []
    for task_id in (foreign, missing):
        asked.clear()
        answers.append(await ask(wire, Ask(operation, task_id), BOB))
        ways.append(list(asked.names))
    assert ways[0] == ways[1]
    assert ways[0], "the store was not asked at all"
    first, second = answers
    assert (first.http, first.code) == (second.http, second.code)
    if first.code is not None:
        assert first.about(foreign) == second.about(missing)


@pytest.mark.parametrize("kind", [waiting, ended])
@pytest.mark.parametrize("line", NEWEST, ids=[line.name for line in NEWEST])
async def test_a_cursor_does_not_make_a_foreign_stream_easier_to_find(
    served: Served, asked: Asked, wire: Binding, kind: Callable[[Served], Awaitable[str]]
) -> None:
    ways: list[list[str]] = []
    for task_id in (await kind(served), unknown()):
        asked.clear()
        call = call_of(wire, Ask("SubscribeToTask", task_id))
        heard = await hear(wire, *call, {**keyed(BOB), "Last-Event-ID": "1"})
        assert heard.code is not None
        ways.append(list(asked.names))
    assert ways[0] == ways[1] != []


# --- what else names something ------------------------------------------------------------------


async def way_of(
    wire: Binding, asked: Asked, operation: str, members: Mapping[str, object]
) -> list[str]:
    """Have Bob send a message with other members in it, and return what was asked meanwhile."""
    name, params = call_of(wire, Ask(operation, skill="whoami"))
    said: Json = {**params["message"], **members}
    asked.clear()
    heard = await hear(wire, name, {**params, "message": said}, keyed(BOB))
    assert heard.code is None, heard.body
    return list(asked.names)


@pytest.mark.parametrize("operation", SENDS)
@pytest.mark.parametrize("line", REFERRING, ids=[line.name for line in REFERRING])
async def test_a_reference_to_a_task_has_nobody_look_for_it(
    served: Served, asked: Asked, wire: Binding, operation: str
) -> None:
    foreign = await begin(served, ADA)
    plain = await way_of(wire, asked, operation, {})
    for named in (foreign, unknown()):
        assert await way_of(wire, asked, operation, {"referenceTaskIds": [named]}) == plain
    assert "find_send" in plain


@pytest.mark.parametrize("member", ["contextId", "messageId"])
@pytest.mark.parametrize("line", REFERRING, ids=[line.name for line in REFERRING])
async def test_a_context_and_a_message_of_another_owner_are_as_good_as_new(
    served: Served, asked: Asked, wire: Binding, member: str
) -> None:
    used = f"theirs-{next(_names)}"
    async with client_of(served, ADA) as ada:
        await ada.task(message(metadata={"skillId": "whoami"}, **{member: used}))
    foreign = await way_of(wire, asked, "SendMessage", {member: used})
    assert foreign == await way_of(wire, asked, "SendMessage", {member: f"new-{next(_names)}"})


async def test_a_list_of_a_foreign_context_takes_the_way_of_an_empty_one(
    served: Served, asked: Asked, people: dict[str, HttpJson]
) -> None:
    context = f"theirs-{next(_names)}"
    sent = message(metadata={"skillId": "whoami"}, contextId=context)
    assert (await people[ADA].task(sent))["contextId"] == context
    ways: list[list[str]] = []
    for named in (context, "nobodys"):
        asked.clear()
        assert (await people[BOB].list_tasks(contextId=named))["totalSize"] == 0
        ways.append(list(asked.names))
    assert ways[0] == ways[1] == ["authorize ListTasks ", "list_tasks"]


# --- below the store ----------------------------------------------------------------------------


async def test_the_database_is_asked_the_same_for_both(tmp_path: Path) -> None:
    path = tmp_path / "tasks.db"
    async with serving(guarded_agent(), store=f"sqlite:///{path}") as served:
        foreign = await begin(served, ADA)
    connection = sqlite3.connect(path)
    reader = Reader(connection)
    stored = reader.load(Scope("", "ada"), foreign)
    assert stored is not None
    bob = Scope("", "bob")
    ways: list[str] = []
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    for task_id, context_id in ((foreign, stored.context_id), (unknown(), "nobodys")):
        statements.clear()
        assert reader.load(bob, task_id) is None
        assert reader.find_alias(bob, task_id) is None
        page = reader.list_tasks(TaskQuery(scope=bob, context_id=context_id, limit=10))
        assert (page.tasks, page.total) == ((), 0)
        way = "\n".join(statements)
        ways.append(way.replace(task_id, "…").replace(context_id, "…"))
    connection.set_trace_callback(None)
    reader.close()
    assert ways[0] == ways[1]
    assert ways[0].count("SELECT") >= 3
