"""What makes a send recognisable, and for how long."""

from __future__ import annotations

import asyncio
import logging

import msgspec
import pytest
from msgspec.structs import replace

from dragoman.errors import StoreError
from dragoman.model.messages import Message
from dragoman.model.operations import SendMessageConfiguration, SendMessageRequest
from dragoman.server.tasks.idempotency import Sends, digest_of, digest_of_secret
from dragoman.server.tasks.secrets import concealed
from dragoman.stores.base import Scope, SendKey, SendRecord
from dragoman.stores.memory.store import MemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import SCOPE, agent_message, user_message

WINDOW_SECONDS = 600.0

REQUEST = SendMessageRequest(message=user_message())


class Desk:
    """Sends over a store in memory, at a time the test sets."""

    def __init__(
        self, *, window_seconds: float = WINDOW_SECONDS, store: MemoryTaskStore | None = None
    ) -> None:
        self.clock = FakeClock(1_000_000_000)
        self.store = store or MemoryTaskStore()
        self.sends = Sends(self.store, self.clock, window_seconds)

    async def open(self) -> Desk:
        await self.store.open()
        return self

    async def record(self, request: SendMessageRequest = REQUEST) -> SendRecord:
        """Return the record to keep for a send that is new."""
        record, known = await self.sends.recall(SCOPE, request)
        assert record is not None
        assert known is None
        return record

    async def store_send(self, record: SendRecord) -> None:
        """Keep a record in the store."""
        stored: asyncio.Future[StoreError | None] = asyncio.get_running_loop().create_future()
        self.store.remember_send(record, stored.set_result)
        assert await stored is None


async def desk(*, window_seconds: float = WINDOW_SECONDS) -> Desk:
    return await Desk(window_seconds=window_seconds).open()


# --- what is the same ---------------------------------------------------------------------------


def test_how_a_send_is_to_be_answered_does_not_count() -> None:
    configuration = SendMessageConfiguration(return_immediately=True, history_length=3)
    assert digest_of(replace(REQUEST, configuration=configuration)) == digest_of(REQUEST)


def test_the_order_of_metadata_does_not_count() -> None:
    one = replace(REQUEST, metadata={"a": 1, "b": 2})
    other = replace(REQUEST, metadata={"b": 2, "a": 1})
    assert digest_of(one) == digest_of(other)


@pytest.mark.parametrize(
    "other",
    [
        # The text of the message.
        SendMessageRequest(message=user_message("other")),
        # What came with the request.
        replace(REQUEST, metadata={"a": 1}),
        # The task it is for.
        SendMessageRequest(message=replace(user_message(), task_id="t-1")),
    ],
)
def test_everything_else_counts(other: SendMessageRequest) -> None:
    assert digest_of(other) != digest_of(REQUEST)


# --- what is known ------------------------------------------------------------------------------


async def test_a_send_under_way_is_known_by_its_task() -> None:
    here = await desk()
    here.sends.begin_task(await here.record(), "t-1")
    _, known = await here.sends.recall(SCOPE, REQUEST)
    assert known is not None
    assert known.task_id == "t-1"


async def test_a_send_that_left_memory_is_known_from_the_store() -> None:
    here = await desk()
    record = await here.record()
    end = here.sends.begin_task(record, "t-1")
    await here.store_send(replace(record, task_id="t-1"))
    end()
    _, known = await here.sends.recall(SCOPE, REQUEST)
    assert known is not None
    assert known.task_id == "t-1"


async def test_a_send_that_came_to_nothing_is_not_known() -> None:
    here = await desk()
    end = here.sends.begin_task(await here.record(), "t-1")
    end()
    assert await here.record()


async def test_a_direct_answer_under_way_is_shared() -> None:
    here = await desk()
    reply: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
    here.sends.begin_reply(await here.record(), reply)
    _, known = await here.sends.recall(SCOPE, REQUEST)
    assert known is not None
    assert known.reply is reply


async def test_a_direct_answer_is_read_back_from_the_store() -> None:
    here = await desk()
    answer = agent_message("hello yourself")
    await here.store_send(replace(await here.record(), reply=msgspec.json.encode(answer)))
    _, known = await here.sends.recall(SCOPE, REQUEST)
    assert known is not None
    assert known.reply is not None
    assert await known.reply == answer


async def test_another_owner_may_use_the_same_id() -> None:
    here = await desk()
    here.sends.begin_task(await here.record(), "t-1")
    _, known = await here.sends.recall(Scope("", "somebody else"), REQUEST)
    assert known is None


async def test_other_content_is_new_and_there_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    here = await desk()
    here.sends.begin_task(await here.record(), "t-1")
    with caplog.at_level(logging.WARNING):
        assert await here.record(SendMessageRequest(message=user_message("other")))
    assert "'m-1' was used before with other content" in caplog.text


async def test_the_end_of_an_earlier_send_leaves_a_later_one_of_the_same_id_alone() -> None:
    here = await desk()
    other = SendMessageRequest(message=user_message("other"))
    end_first = here.sends.begin_task(await here.record(), "t-1")
    here.sends.begin_task(await here.record(other), "t-2")
    end_first()
    _, known = await here.sends.recall(SCOPE, other)
    assert known is not None
    assert known.task_id == "t-2"


class SlowStore(MemoryTaskStore):
    """A store that looks for sends when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = asyncio.Event()
        self.go = asyncio.Event()

    async def find_send(self, key: SendKey, since_ms: int) -> SendRecord | None:
        self.is_asked.set()
        await self.go.wait()
        return await super().find_send(key, since_ms)


async def test_a_send_that_begins_while_the_store_is_asked_is_known() -> None:
    store = SlowStore()
    here = await Desk(store=store).open()
    async with asyncio.TaskGroup() as group:
        recalling = group.create_task(here.sends.recall(SCOPE, REQUEST))
        await store.is_asked.wait()
        record = SendRecord(
            key=SendKey(SCOPE, "m-1"), digest=digest_of(REQUEST), at_ms=here.clock.now_ms()
        )
        here.sends.begin_task(record, "t-1")
        store.go.set()
    _, known = recalling.result()
    assert known is not None
    assert known.task_id == "t-1"


async def test_a_send_that_has_begun_since_it_was_recalled_is_under_way() -> None:
    here = await desk()
    record, known = await here.sends.recall(SCOPE, REQUEST)
    assert (record is not None, known) == (True, None)
    assert record is not None
    assert here.sends.under_way(record, REQUEST) is None
    end = here.sends.begin_task(record, "t-1")
    begun = here.sends.under_way(record, REQUEST)
    assert begun is not None
    assert begun.task_id == "t-1"
    end()
    assert here.sends.under_way(record, REQUEST) is None


async def test_a_secret_is_under_way_whatever_its_task_is_called() -> None:
    here = await desk()
    record, _ = await here.sends.recall(SCOPE, REQUEST)
    assert record is not None
    here.sends.begin_task(replace(record, digest=digest_of_secret(REQUEST)), "t-1")
    named = replace(REQUEST, message=replace(REQUEST.message, task_id="t-1"))
    for request in (REQUEST, named):
        assert here.sends.under_way(record, request) is not None


# --- for how long -------------------------------------------------------------------------------


@pytest.mark.parametrize("is_under_way", [True, False])
async def test_a_send_is_known_to_the_end_of_the_window(*, is_under_way: bool) -> None:
    here = await desk()
    record = replace(await here.record(), task_id="t-1")
    if is_under_way:
        here.sends.begin_task(record, "t-1")
    await here.store_send(record)
    here.clock.advance(WINDOW_SECONDS)
    _, known = await here.sends.recall(SCOPE, REQUEST)
    assert known is not None


@pytest.mark.parametrize("is_under_way", [True, False])
async def test_a_send_is_new_after_the_window(*, is_under_way: bool) -> None:
    here = await desk()
    record = replace(await here.record(), task_id="t-1")
    if is_under_way:
        here.sends.begin_task(record, "t-1")
    await here.store_send(record)
    here.clock.advance(WINDOW_SECONDS + 0.001)
    assert await here.record()


async def test_old_records_are_dropped_from_the_store() -> None:
    here = await desk()
    old = await here.record()
    await here.store_send(old)
    here.clock.advance(WINDOW_SECONDS)
    await here.sends.forget_old()
    assert await here.store.find_send(old.key, 0) is not None
    here.clock.advance(0.001)
    await here.sends.forget_old()
    assert await here.store.find_send(old.key, 0) is None


async def test_with_a_window_of_0_nothing_is_kept_and_nothing_known() -> None:
    here = await desk(window_seconds=0)
    assert await here.sends.recall(SCOPE, REQUEST) == (None, None)


# --- secrets ------------------------------------------------------------------------------------


async def test_of_a_secret_only_the_ids_are_compared() -> None:
    on = await desk()
    record = replace(await on.record(), digest=digest_of(concealed(REQUEST)), task_id="t-1")
    await on.store_send(record)
    other = replace(REQUEST, message=user_message("something else"))
    for request in (REQUEST, other):
        _, known = await on.sends.recall(SCOPE, request)
        assert known is not None
        assert known.task_id == "t-1"
