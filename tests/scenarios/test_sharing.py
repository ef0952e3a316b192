"""Callers who share their records, in every version, over every binding."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from dragoman import AccessRequest, Agent, Context
from tests.scenarios.bindings import Binding, HttpJson
from tests.scenarios.guarding import KEY_HEADER, LINES, Ask, Keys, Line, call_of, hear
from tests.support.serving import Served, serving
from tests.support.wire import Json

ADA, BOB, CAROL = (f"key-of-{name}" for name in ("ada", "bob", "carol"))


def share(request: AccessRequest) -> str | None:
    """Let Ada and Bob work in the same records."""
    return "team" if request.principal.owner in ("ada", "bob") else None


def shared_agent() -> Agent:
    """Return an agent with two callers who work together."""
    agent = Agent("Shared", "Has two callers who work together.", auth=[Keys()], share=share)

    @agent.skill
    async def ask(ctx: Context, text: str) -> dict[str, str]:
        """Ask, and tell whose task it is and who has a part in it."""
        begun_by = ctx.principal.owner
        await ctx.ask("Which city?")
        answered_by = ctx.principal.owner
        return {"text": text, "user": ctx.user, "by": f"{begun_by}, {answered_by}"}

    return agent


@pytest.fixture(scope="module")
async def served() -> AsyncIterator[Served]:
    """Serve it once for all: what one line has left does not disturb another."""
    async with serving(shared_agent()) as running:
        yield running


def shown(key: str) -> dict[str, str]:
    """Return the header that shows a key."""
    return {KEY_HEADER: key}


async def begin(wire: Binding, key: str) -> str:
    """Begin a task and return its id."""
    name, params = call_of(wire, Ask("SendMessage"))
    begun = await wire.respond(name, params, headers=shown(key))
    assert begun.status_code == 200, begun.text
    return task_id_in(begun.json())


def task_id_in(answer: Json) -> str:
    """Find the id of the task in an answer of any version."""
    answer = answer.get("result", answer)
    return answer["id"] if "id" in answer else answer["task"]["id"]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.name)
async def test_who_shares_reaches_what_the_other_has_begun(line: Line, served: Served) -> None:
    async with line.connect(served.url) as wire:
        task_id = await begin(wire, ADA)
        assert task_id
        for operation in ("GetTask", "CancelTask"):
            call = call_of(wire, Ask(operation, task_id))
            assert (await hear(wire, *call, shown(CAROL))).code is not None
            heard = await hear(wire, *call, shown(BOB))
            assert heard.code is None, heard.body


async def test_an_answer_of_the_other_goes_to_the_same_task(served: Served) -> None:
    async with HttpJson(served.url) as wire:
        task_id = await begin(wire, ADA)
        name, params = call_of(wire, Ask("SendMessage", task_id))
        ended = (await wire.respond(name, params, headers=shown(BOB))).json()["task"]
        assert ended["id"] == task_id
        told = ended["artifacts"][0]["parts"][0]["data"]
        assert told == {"text": "hello", "user": "team", "by": "ada, bob"}


async def test_who_does_not_share_lists_nothing_of_it(served: Served) -> None:
    async with HttpJson(served.url) as wire:
        await begin(wire, ADA)
        listed = call_of(wire, Ask("ListTasks"))
        carols = await wire.respond(*listed, headers=shown(CAROL))
        bobs = await wire.respond(*listed, headers=shown(BOB))
        assert carols.json()["totalSize"] == 0
        assert bobs.json()["totalSize"] > 0


async def test_cleaning_up_is_told_for_whom_the_task_was_begun() -> None:
    agent = shared_agent()
    cleaned: asyncio.Queue[str] = asyncio.Queue()

    @agent.on_cancel
    async def clean(ctx: Context) -> None:
        await cleaned.put(f"{ctx.principal.owner} of {ctx.user}")

    async with serving(agent) as running, HttpJson(running.url) as wire:
        canceled = call_of(wire, Ask("CancelTask", await begin(wire, ADA)))
        assert (await hear(wire, *canceled, shown(BOB))).code is None
        assert await cleaned.get() == "ada of team"
