"""ListTasks: filters, order, pages that stay put while tasks come and go, and what a row holds."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agents import Gate, make_agent, to
from tests.scenarios.bindings import Binding, HttpJson, JsonRpc, expect
from tests.support.serving import serving
from tests.support.wire import message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.support.wire import Json


@pytest.fixture
async def alone(kind: type[Binding]) -> AsyncIterator[Binding]:
    """A client of a server that has no tasks but those of this test."""
    async with (
        serving(make_agent(tenants=["acme"]), shutdown_grace_seconds=0) as served,
        kind(served.url) as wire,
    ):
        yield wire


async def make_tasks(wire: Binding, count: int, **members: object) -> list[str]:
    """Run tasks to their end and return their ids, oldest first."""
    return [(await wire.task(message(str(n), **members)))["id"] for n in range(count)]


def ids(page: Json) -> list[str]:
    return [task["id"] for task in page["tasks"]]


def order_of(task: Json) -> tuple[str, str]:
    """Return what tasks are sorted by: the time of the status, then the id (Q-30)."""
    return task["status"]["timestamp"], task["id"]


async def all_pages(wire: Binding, **params: object) -> list[Json]:
    """Follow the tokens to the last page."""
    pages = [await wire.list_tasks(**params)]
    while token := pages[-1]["nextPageToken"]:
        pages.append(await wire.list_tasks(pageToken=token, **params))
    return pages


# --- the page -----------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.4-4", "R-3.1.4-5", "R-3.1.4-12", "R-5.7-4")
async def test_an_empty_list_has_all_four_members(alone: Binding) -> None:
    assert await alone.list_tasks() == {
        "tasks": [],
        "nextPageToken": "",
        "pageSize": 50,
        "totalSize": 0,
    }


@pytest.mark.requirement("R-3.1.4-12", "R-3.1.4-18")
async def test_a_page_holds_fifty_tasks_unless_told_otherwise(alone: Binding) -> None:
    await make_tasks(alone, 51)
    page = await alone.list_tasks()
    assert len(page["tasks"]) == 50
    assert page["pageSize"] == 50
    assert page["totalSize"] == 51
    assert page["nextPageToken"] != ""


@pytest.mark.requirement("R-3.1.4-18")
async def test_page_size_is_echoed_and_total_size_counts_beyond_the_page(
    wire: Binding, context: str
) -> None:
    await make_tasks(wire, 3, contextId=context)
    page = await wire.list_tasks(contextId=context, pageSize=2)
    assert (page["pageSize"], page["totalSize"], len(page["tasks"])) == (2, 3, 2)


@pytest.mark.requirement("R-3.1.4-18")
async def test_total_size_is_the_same_on_every_page(wire: Binding, context: str) -> None:
    await make_tasks(wire, 3, contextId=context)
    pages = await all_pages(wire, contextId=context, pageSize=1)
    assert [page["totalSize"] for page in pages] == [3, 3, 3]


@pytest.mark.requirement("R-3.1.4-5")
async def test_a_page_that_happens_to_be_full_is_the_last_if_nothing_follows(
    wire: Binding,
    context: str,
) -> None:
    await make_tasks(wire, 2, contextId=context)
    assert (await wire.list_tasks(contextId=context, pageSize=2))["nextPageToken"] == ""


@pytest.mark.requirement("R-3.1.4-13", "R-3.3.2-10", "R-3.3.2-11")
@pytest.mark.parametrize("size", [0, -1, 101, 2**31])
async def test_a_page_size_outside_1_to_100_is_refused(wire: Binding, size: int) -> None:
    problem = await expect("InvalidParamsError", wire.list_tasks(pageSize=size))
    assert problem.violations == [("pageSize", "must be between 1 and 100")]


@pytest.mark.parametrize("size", [1, 100])
async def test_a_page_size_of_1_and_of_100_is_taken(wire: Binding, size: int) -> None:
    assert (await wire.list_tasks(pageSize=size))["pageSize"] == size


# --- order and paging ---------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.4-9", "R-3.1.4-11")
async def test_the_newest_status_comes_first(wire: Binding, context: str) -> None:
    made = await make_tasks(wire, 5, contextId=context)
    listed = (await wire.list_tasks(contextId=context))["tasks"]
    assert {task["id"] for task in listed} == set(made)
    assert listed == sorted(listed, key=order_of, reverse=True)


@pytest.mark.requirement("R-3.1.4-9")
async def test_a_task_moves_to_the_top_when_its_status_changes(alone: Binding) -> None:
    asked = await alone.task(to("ask"))
    await make_tasks(alone, 3)
    answered = await alone.task(message("Oslo", taskId=asked["id"]))
    listed = (await alone.list_tasks())["tasks"]
    assert listed == sorted(listed, key=order_of, reverse=True)
    assert listed[0]["status"]["timestamp"] == answered["status"]["timestamp"]


@pytest.mark.requirement("R-3.1.4-8")
async def test_the_pages_together_are_the_list_and_nothing_twice(
    wire: Binding, context: str
) -> None:
    made = await make_tasks(wire, 7, contextId=context)
    pages = await all_pages(wire, contextId=context, pageSize=3)
    assert [len(page["tasks"]) for page in pages] == [3, 3, 1]
    everything = [task_id for page in pages for task_id in ids(page)]
    assert everything == ids(await wire.list_tasks(contextId=context))
    assert sorted(everything) == sorted(made)


@pytest.mark.requirement("R-3.1.4-8")
async def test_pages_are_not_shifted_by_tasks_that_are_added_meanwhile(
    wire: Binding, context: str
) -> None:
    made = set(await make_tasks(wire, 4, contextId=context))
    first = await wire.list_tasks(contextId=context, pageSize=2)
    await make_tasks(wire, 3, contextId=context)
    second = await wire.list_tasks(contextId=context, pageSize=2, pageToken=first["nextPageToken"])
    # By offset, the second page would show the first again.
    assert set(ids(first)) | set(ids(second)) == made
    assert second["nextPageToken"] == ""


async def test_a_token_may_be_used_again(wire: Binding, context: str) -> None:
    await make_tasks(wire, 3, contextId=context)
    first = await wire.list_tasks(contextId=context, pageSize=1)
    params: Json = {
        "contextId": context,
        "pageSize": 1,
        "pageToken": first["nextPageToken"],
    }
    assert await wire.list_tasks(**params) == await wire.list_tasks(**params)


async def test_the_page_size_may_change_from_page_to_page(wire: Binding, context: str) -> None:
    made = await make_tasks(wire, 5, contextId=context)
    first = await wire.list_tasks(contextId=context, pageSize=1)
    second = await wire.list_tasks(contextId=context, pageSize=4, pageToken=first["nextPageToken"])
    assert sorted(ids(first) + ids(second)) == sorted(made)


async def test_tasks_of_the_same_millisecond_are_each_listed_once(alone: Binding) -> None:
    # Sent together, many of these end in the same millisecond; the id then decides.
    async with asyncio.TaskGroup() as group:
        for n in range(20):
            group.create_task(alone.task(message(str(n))))
    pages = await all_pages(alone, pageSize=3)
    listed = [task for page in pages for task in page["tasks"]]
    assert len({task["id"] for task in listed}) == len(listed) == 20
    assert listed == sorted(listed, key=order_of, reverse=True)


@pytest.mark.parametrize(
    "token",
    ["x", "!!!", "bm90LWEtdG9rZW4", "ü", "A" * 5000, "0", "%00", "Zm9vYmFyMTIzLnQtMQ"],
)
async def test_a_token_that_was_made_up_is_refused(wire: Binding, token: str) -> None:
    problem = await expect("InvalidParamsError", wire.list_tasks(pageToken=token))
    assert problem.violations == [
        ("pageToken", "must be the nextPageToken of an earlier page of the same list")
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"contextId": "c-other"},
        {"contextId": ""},
        {"status": "TASK_STATE_COMPLETED"},
        {"statusTimestampAfter": "2020-01-01T00:00:00Z"},
    ],
    ids=["context", "no context", "status", "time"],
)
async def test_a_token_of_another_query_is_refused(
    wire: Binding, context: str, other: Json
) -> None:
    await make_tasks(wire, 2, contextId=context)
    page = await wire.list_tasks(contextId=context, pageSize=1)
    query: Json = {"contextId": context, **other}
    await expect("InvalidParamsError", wire.list_tasks(pageToken=page["nextPageToken"], **query))


async def test_a_token_of_another_tenant_is_refused(alone: Binding) -> None:
    await make_tasks(alone, 2)
    page = await alone.list_tasks(pageSize=1)
    await expect(
        "InvalidParamsError", alone.list_tasks(pageToken=page["nextPageToken"], tenant="acme")
    )


# --- filters ------------------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.4-15")
async def test_context_and_status_both_restrict_the_list(wire: Binding, context: str) -> None:
    (done,) = await make_tasks(wire, 1, contextId=context)
    asked = (await wire.task(to("ask", contextId=context)))["id"]
    await make_tasks(wire, 1, contextId=f"{context}-elsewhere")
    both = await wire.list_tasks(contextId=context)
    completed = await wire.list_tasks(contextId=context, status="TASK_STATE_COMPLETED")
    waiting = await wire.list_tasks(contextId=context, status="TASK_STATE_INPUT_REQUIRED")
    assert sorted(ids(both)) == sorted([done, asked])
    assert (ids(completed), completed["totalSize"]) == ([done], 1)
    assert (ids(waiting), waiting["totalSize"]) == ([asked], 1)


@pytest.mark.parametrize(
    ("skill", "state"),
    [
        ("echo", "TASK_STATE_COMPLETED"),
        ("fail", "TASK_STATE_FAILED"),
        ("reject", "TASK_STATE_REJECTED"),
        ("ask", "TASK_STATE_INPUT_REQUIRED"),
        ("authorize", "TASK_STATE_AUTH_REQUIRED"),
    ],
)
async def test_tasks_can_be_listed_by_every_state(alone: Binding, skill: str, state: str) -> None:
    for each in ("echo", "fail", "reject", "ask", "authorize"):
        await alone.task(to(each))
    page = await alone.list_tasks(status=state)
    assert [task["status"]["state"] for task in page["tasks"]] == [state]
    assert page["totalSize"] == 1
    assert page["tasks"][0]["history"][0]["metadata"]["skillId"] == skill


async def test_a_working_task_is_listed_as_such(wire: Binding, gate: Gate) -> None:
    started = await wire.start(to("hold", gate.name, contextId=gate.name))
    await gate.reached()
    # Reading waits for what is on its way to the log; the list shows what has arrived.
    await wire.get_task(started["id"])
    page = await wire.list_tasks(contextId=gate.name, status="TASK_STATE_WORKING")
    assert ids(page) == [started["id"]]


async def test_a_context_nobody_used_has_no_tasks(wire: Binding, context: str) -> None:
    page = await wire.list_tasks(contextId=context)
    assert page == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}


@pytest.mark.requirement("R-3.3.2-11")
async def test_a_status_that_does_not_exist_is_refused_with_those_that_do(wire: Binding) -> None:
    # read as "unset" it would list everything.
    problem = await expect("InvalidParamsError", wire.list_tasks(status="TASK_STATE_RUNNING"))
    ((field, description),) = problem.violations
    assert field == "status"
    assert description.startswith("must be one of TASK_STATE_SUBMITTED, TASK_STATE_WORKING, ")


@pytest.mark.requirement("R-3.1.4-16", "R-5.6.1-3")
async def test_a_time_keeps_the_tasks_of_that_very_moment_and_later(alone: Binding) -> None:
    first, second = [await alone.task(message(str(n))) for n in range(2)]
    moment = second["status"]["timestamp"]
    is_tie = first["status"]["timestamp"] == moment
    page = await alone.list_tasks(statusTimestampAfter=moment)
    expected = {first["id"], second["id"]} if is_tie else {second["id"]}
    assert set(ids(page)) == expected
    assert page["totalSize"] == len(expected)


@pytest.mark.requirement("R-3.1.4-16", "R-5.6.1-3")
async def test_a_time_just_after_the_newest_status_leaves_nothing(alone: Binding) -> None:
    task = await alone.task(message())
    moment = task["status"]["timestamp"].removesuffix("Z")
    page = await alone.list_tasks(statusTimestampAfter=f"{moment}000001Z")
    assert (page["tasks"], page["totalSize"]) == ([], 0)


@pytest.mark.requirement("R-5.6.1-3")
async def test_a_time_with_an_offset_is_the_same_moment(alone: Binding) -> None:
    task = await alone.task(message())
    moment = datetime.fromisoformat(task["status"]["timestamp"]) + timedelta(hours=2)
    text = moment.isoformat(timespec="milliseconds").replace("+00:00", "+02:00")
    assert ids(await alone.list_tasks(statusTimestampAfter=text)) == [task["id"]]


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01T00:00:00Z", "2026-01-01", "1700000000"])
async def test_a_time_that_is_none_is_refused(wire: Binding, text: str) -> None:
    problem = await expect("InvalidParamsError", wire.list_tasks(statusTimestampAfter=text))
    assert problem.violations == [
        ("statusTimestampAfter", "must be an RFC 3339 time such as 2026-01-31T12:00:00.000Z")
    ]


@pytest.mark.requirement("R-3.1.4-8", "R-3.1.4-15")
async def test_all_filters_hold_on_every_page(alone: Binding) -> None:
    await make_tasks(alone, 2, contextId="c-1")
    since = (await alone.task(message(contextId="c-2")))["status"]["timestamp"]
    wanted = await make_tasks(alone, 3, contextId="c-1")
    await alone.task(to("ask", contextId="c-1"))
    pages = await all_pages(
        alone,
        contextId="c-1",
        status="TASK_STATE_COMPLETED",
        statusTimestampAfter=since,
        pageSize=2,
    )
    listed = [task_id for page in pages for task_id in ids(page)]
    # The two older ones may have ended in the same millisecond as the boundary.
    assert set(wanted) <= set(listed)
    assert {page["totalSize"] for page in pages} == {len(listed)}


# --- what a row holds ---------------------------------------------------------------------------


@pytest.mark.requirement("R-3.1.4-1", "R-3.1.4-2")
@pytest.mark.parametrize("params", [{}, {"includeArtifacts": False}], ids=["unset", "false"])
async def test_artifacts_are_left_out_unless_asked_for(
    wire: Binding, context: str, params: Json
) -> None:
    (task_id,) = await make_tasks(wire, 1, contextId=context)
    (task,) = (await wire.list_tasks(contextId=context, pageSize=1, **params))["tasks"]
    assert set(task) == {"id", "contextId", "status", "history"}
    assert "artifacts" in await wire.get_task(task_id)


@pytest.mark.requirement("R-3.1.4-3")
async def test_artifacts_are_listed_when_asked_for(wire: Binding, context: str) -> None:
    task = await wire.task(message("hello", contextId=context))
    page = await wire.list_tasks(contextId=context, includeArtifacts=True, pageSize=1)
    assert page["tasks"][0]["artifacts"] == task["artifacts"]


@pytest.mark.requirement("R-3.1.4-3")
async def test_a_task_without_artifacts_lists_an_empty_array_when_asked(
    wire: Binding, context: str
) -> None:
    task = await wire.task(to("reject", contextId=context))
    page = await wire.list_tasks(contextId=context, includeArtifacts=True, pageSize=1)
    assert page["tasks"][0]["id"] == task["id"]
    assert page["tasks"][0]["artifacts"] == []


@pytest.mark.requirement("R-3.1.4-17")
async def test_history_length_bounds_the_history_of_each_task(wire: Binding, context: str) -> None:
    asked = await wire.task(to("ask", contextId=context))
    await wire.task(message("Oslo", taskId=asked["id"]))
    lengths: list[int] = []
    for length in (1, 2, 9):
        page = await wire.list_tasks(contextId=context, historyLength=length)
        lengths.append(len(page["tasks"][0]["history"]))
    assert lengths == [1, 2, 3]


@pytest.mark.requirement("R-3.1.4-17", "R-3.2.4-2")
async def test_history_length_zero_leaves_the_history_out(wire: Binding, context: str) -> None:
    await make_tasks(wire, 1, contextId=context)
    page = await wire.list_tasks(contextId=context, historyLength=0)
    assert all("history" not in task for task in page["tasks"])


@pytest.mark.requirement("R-3.3.1-1")
async def test_listing_changes_nothing(alone: Binding) -> None:
    await make_tasks(alone, 2)
    first = await alone.list_tasks()
    await alone.list_tasks(historyLength=0, includeArtifacts=True)
    assert await alone.list_tasks() == first


@pytest.mark.requirement("R-5.1-2")
async def test_a_list_reads_the_same_over_every_binding(
    rpc: JsonRpc, rest: HttpJson, context: str
) -> None:
    await make_tasks(rpc, 2, contextId=context)
    params: Json = {"contextId": context, "includeArtifacts": True, "historyLength": 1}
    assert await rpc.list_tasks(**params) == await rest.list_tasks(**params)


async def test_a_list_token_of_one_binding_works_on_the_other(
    rpc: JsonRpc, rest: HttpJson, context: str
) -> None:
    made = await make_tasks(rpc, 2, contextId=context)
    first = await rpc.list_tasks(contextId=context, pageSize=1)
    second = await rest.list_tasks(contextId=context, pageSize=1, pageToken=first["nextPageToken"])
    assert sorted(ids(first) + ids(second)) == sorted(made)
