"""A live task to try things on."""

import asyncio

from dragoman.engine.commands import Ask, Deliver
from dragoman.errors import (
    StoreUnavailableError,
)
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.delivery import Delivery, QueuedDelivery
from dragoman.stores.base import SendKey, SendRecord
from tests.support.server.fakes import (
    SCOPE,
    Live,
    agent_message,
    user_message,
)

__all__ = (
    "COMPLETED",
    "DOWN",
    "INPUT_REQUIRED",
    "SEND",
    "WORKING",
    "asked",
    "begun",
    "pass_over",
    "queue",
)

COMPLETED = TaskState.COMPLETED
WORKING = TaskState.WORKING
INPUT_REQUIRED = TaskState.INPUT_REQUIRED

SEND = SendRecord(key=SendKey(SCOPE, "m-1"), digest=b"d", at_ms=1, task_id="t-1")
DOWN = StoreUnavailableError("disk full")


async def pass_over() -> None:
    """Let the loop finish its current pass."""
    await asyncio.sleep(0)


async def begun() -> Live:
    """Return a task at work whose first write is durable."""
    live = Live()
    live.begin()
    await pass_over()
    live.store.commit()
    return live


async def asked() -> Live:
    """Return a task that waits for input, durably."""
    live = await begun()
    live.do(Ask(agent_message("which?"), is_auth=False))
    await pass_over()
    live.store.commit()
    return live


def queue(live: Live, text: str, *, number: int | None = None) -> QueuedDelivery:
    """Put a message into the inbox; with a number it is durable there."""
    item = QueuedDelivery(Delivery(message=user_message(text, text)))
    if number is not None:
        item.stored.set_result(number)
    live.task.inbox.append(item)
    live.do(Deliver(item.errand.message))
    return item
