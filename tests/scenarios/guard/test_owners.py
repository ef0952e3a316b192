"""What belongs to one owner, or one tenant, is nothing to another."""

from __future__ import annotations

import pytest

from tests.scenarios.bindings import HttpJson
from tests.scenarios.guard.asking import ADA, BOB, DAN, ask, begin, client_of, unknown
from tests.scenarios.guarding import LINES, Ask, Line
from tests.support.serving import Served
from tests.support.wire import message

LISTING = [line for line in LINES if "ListTasks" in line.operations]


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
    async with client_of(served, key) as client:
        sent = message(metadata={"skillId": "whoami"}, contextId=context)
        return (await client.task(sent))["id"]


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
