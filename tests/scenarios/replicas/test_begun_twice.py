"""Two replicas get the same first message at once, under a name of the client's.

One of them begins the task. Who asks the other for it by that name, while it believes to have begun
it itself, gets the one that was begun.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from dragoman.errors import UnavailableError
from dragoman.model.push import TaskPushNotificationConfig
from dragoman.model.tasks import Task
from dragoman.service.service import Call
from dragoman.stores.webhooks import WebhookKey
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.support.server.agency import CALL, Held, send

pytestmark = pytest.mark.anyio

T = TypeVar("T")

NAMED = Call(alias="mine", begins_anew=True)
FIRST = send(return_immediately=True)


async def get(member: Member) -> str:
    return (await member.get("mine")).id


async def cancel(member: Member) -> str:
    return (await member.cancel("mine")).id


async def follow(member: Member) -> str:
    stream = await member.subscribe("mine")
    (first, *_) = await anext(aiter(stream))
    await stream.aclose()
    assert first.value.task is not None
    return first.value.task.id


async def go_on(member: Member) -> str:
    return (await member.send(send("more", message_id="m-2", return_immediately=True), NAMED)).id


async def asked_too_early(
    in_hand: Replicas, ask: Callable[[Member], Awaitable[T]]
) -> tuple[Member, Task, T]:
    """Return the replica that began the task, the task, and what the other has answered."""
    held = Held()
    a, b = await in_hand.start(held.run), await in_hand.start(held.run)
    hold(a).writing.close()
    sending = asyncio.ensure_future(a.send(FIRST, NAMED))
    await hold(a).writing.until_reached()
    begun = await b.send(FIRST, NAMED)
    asking = asyncio.ensure_future(ask(a))
    await settle()
    assert not asking.done()
    hold(a).let_writes_go()
    assert (await in_hand.wait_for(sending)).id == begun.id
    return b, begun, await in_hand.wait_for(asking)


@pytest.mark.parametrize("ask", [get, cancel, follow, go_on])
async def test_who_asks_for_a_task_by_its_name_gets_the_one_that_was_begun(
    in_hand: Replicas, ask: Callable[[Member], Awaitable[str]]
) -> None:
    _, begun, found_id = await asked_too_early(in_hand, ask)
    assert found_id == begun.id


async def test_a_webhook_is_registered_with_the_task_that_was_begun(in_hand: Replicas) -> None:
    async def register(member: Member) -> None:
        config = TaskPushNotificationConfig(task_id="mine", id="w", url="http://127.0.0.1:9/w")
        await member.service.create_task_push_notification_config(config, CALL)

    b, begun, _ = await asked_too_early(in_hand, register)
    assert await b.store.webhooks.get(WebhookKey(begun.id, "w")) is not None


async def test_who_asks_for_a_task_that_could_not_be_stored_is_told_to_try_again(
    in_hand: Replicas,
) -> None:
    a = await in_hand.start(Held().run)
    hold(a).writing.close()
    asks = [asyncio.ensure_future(a.send(FIRST, NAMED))]
    await hold(a).writing.until_reached()
    asks.append(asyncio.ensure_future(a.get("mine")))
    await settle()
    hold(a).lose_writes()
    outcomes = await in_hand.wait_for(asyncio.gather(*asks, return_exceptions=True))
    assert [type(outcome) for outcome in outcomes] == [UnavailableError, UnavailableError]
