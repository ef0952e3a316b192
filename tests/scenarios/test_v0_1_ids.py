"""A2A 0.1: ids that clients make up, and sessions (0.x reference, section 5.5)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.scenarios.agents import make_agent
from tests.scenarios.bindings import drain
from tests.scenarios.old_wire import V0_1, V0_3, V1_0, data_of, refused
from tests.support.serving import Served, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


@pytest.fixture
async def old(served: Served) -> AsyncIterator[V0_1]:
    async with V0_1(served.url) as speaker:
        yield speaker


@pytest.fixture
async def new(served: Served) -> AsyncIterator[V1_0]:
    """A client of 1.0, to see what the server made of it."""
    async with V1_0(served.url, {"A2A-Version": "1.0"}) as speaker:
        yield speaker


@pytest.fixture
def mine(context: str) -> str:
    """An id nobody else has made up."""
    return f"task of {context}"


async def test_a_task_goes_by_the_id_its_client_made(old: V0_1, new: V1_0, mine: str) -> None:
    sent = await old.send("echo", "hello", task_id=mine)
    assert (sent.id, sent.state, sent.results) == (mine, "completed", [["hello"]])
    assert (await old.get(mine)).id == mine
    # R01-6.1-1 holds among clients of 0.1; the server has an id of its own.
    assert (await new.get(mine)).id != mine


async def test_the_id_of_the_server_is_as_good(old: V0_1, new: V1_0, mine: str) -> None:
    await old.send("ask", "trip", task_id=mine)
    true_id = (await new.get(mine)).id
    assert (await old.get(true_id)).id == true_id
    async with old.follow(true_id) as events:
        assert (await anext(events)).task_id == true_id
    answered = await old.send("ask", "Rome", task_id=true_id)
    assert (answered.id, answered.results) == (true_id, [["trip: Rome"]])
    assert (await old.get(mine)).results == [["trip: Rome"]]


async def test_a_further_send_continues_the_task(old: V0_1, mine: str) -> None:
    # R01-7.1-1
    asked = await old.send("ask", "trip", task_id=mine)
    assert (asked.state, asked.said) == ("input-required", ["Which city?"])
    answered = await old.send("ask", "Rome", task_id=mine)
    assert (answered.id, answered.results) == (mine, [["trip: Rome"]])


async def test_a_task_that_has_ended_is_not_continued(old: V0_1, mine: str) -> None:
    await old.send("echo", "hello", task_id=mine)
    problem = await refused(-32009, old.send("echo", "more", task_id=mine))
    assert data_of(problem)["state"] == "TASK_STATE_COMPLETED"
    params = {**old.words("more"), "id": mine}
    await refused(-32009, drain(old.open("tasks/sendSubscribe", params)))


async def test_a_task_is_canceled_by_the_id_its_client_made(old: V0_1, mine: str) -> None:
    await old.send("ask", "trip", task_id=mine)
    canceled = await old.cancel(mine)
    assert (canceled.id, canceled.state) == (mine, "canceled")
    await refused(-32002, old.cancel(mine))


async def test_the_other_versions_find_a_task_by_its_alias(old: V0_1, new: V1_0, mine: str) -> None:
    await old.send("ask", "trip", task_id=mine)
    async with V0_3(old.url, {"A2A-Version": "0.3"}) as middle:
        assert (await middle.get(mine)).id == (await new.get(mine)).id
        answered = await middle.send("ask", "Rome", task_id=mine)
    assert answered.results == [["trip: Rome"]]
    assert (await old.get(mine)).id == mine


async def test_an_alias_may_be_anything(old: V0_1, context: str) -> None:
    for odd in (f"{context}/ä ?#", f'{context}"\\\n', f"{context}-" + "x" * 400):
        assert (await old.send("echo", "hello", task_id=odd)).id == odd
        assert (await old.get(odd)).id == odd


async def test_an_error_names_the_task_as_its_client_does(old: V0_1, mine: str) -> None:
    await old.send("echo", "hello", task_id=mine)
    assert data_of(await refused(-32002, old.cancel(mine)))["taskId"] == mine
    problem = await refused(-32009, old.send("echo", "more", task_id=mine))
    assert data_of(problem)["taskId"] == mine


async def test_an_alias_is_of_bounded_length(old: V0_1, context: str) -> None:
    await refused(-32602, old.send("echo", "hello", task_id=context + "x" * 1000))


async def test_two_sends_at_once_with_one_new_id_make_one_task(
    old: V0_1, new: V1_0, mine: str, context: str
) -> None:
    answers = await asyncio.gather(
        *(old.send("ask_twice", f"{n}", task_id=mine, context=context) for n in range(2)),
        return_exceptions=True,
    )
    assert not [answer for answer in answers if isinstance(answer, BaseException)], answers
    (only,) = await new.list(context)
    assert len((await new.get(only.id)).history) >= 2
    assert (await new.get(mine)).id == only.id


async def test_many_sends_at_once_make_one_task_on_disk_too(
    tmp_path: Path, mine: str, context: str
) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(make_agent(), store=store) as agent, V0_1(agent.url) as old:
        sends = [old.send("echo", f"{n}", task_id=mine, context=context) for n in range(20)]
        answers = await asyncio.gather(*sends, return_exceptions=True)
        # What came too late is told that the task has ended.
        refusals = [answer for answer in answers if isinstance(answer, BaseException)]
        assert all("-32009" in str(refusal) for refusal in refusals), refusals
        async with V1_0(agent.url, {"A2A-Version": "1.0"}) as new:
            assert len(await new.list(context)) == 1


async def test_aliases_survive_a_restart(tmp_path: Path, mine: str) -> None:
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(make_agent(), store=store) as agent, V0_1(agent.url) as old:
        await old.send("echo", "hello", task_id=mine)
    async with serving(make_agent(), store=store) as agent, V0_1(agent.url) as old:
        seen = await old.get(mine)
        assert (seen.id, seen.results) == (mine, [["hello"]])
        await refused(-32009, old.send("echo", "more", task_id=mine))
        async with V1_0(agent.url, {"A2A-Version": "1.0"}) as new:
            assert len(await new.list(seen.context)) == 1


# --- sessions -----------------------------------------------------------------------------------


async def test_a_session_is_the_context(old: V0_1, new: V1_0, mine: str, context: str) -> None:
    sent = await old.send("echo", "hello", task_id=mine, context=context)
    assert sent.context == context
    assert (await new.get(mine)).context == context


async def test_a_session_is_made_up_and_returned(old: V0_1, mine: str) -> None:
    asked = await old.send("ask", "trip", task_id=mine)
    assert asked.context
    again = await old.send("ask", "Rome", task_id=mine, context=asked.context)
    assert (again.context, again.state) == (asked.context, "completed")


async def test_another_session_does_not_fit_a_task(old: V0_1, mine: str, context: str) -> None:
    await old.send("ask", "trip", task_id=mine, context=context)
    await refused(-32602, old.send("ask", "Rome", task_id=mine, context="another"))
    assert (await old.get(mine)).state == "input-required"


async def test_a_session_spans_tasks(old: V0_1, context: str) -> None:
    await old.send("recollect", "one", context=context)
    assert (await old.send("recollect", "two", context=context)).results == [["one, two"]]
