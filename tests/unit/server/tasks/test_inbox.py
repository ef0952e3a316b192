"""What is special about inboxes that other replicas post to; the rest is shown with the runner."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from dragoman.engine.commands import Ask, Begin, Cancel, Command, Deliver, Start
from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing
from dragoman.errors import (
    ConflictError,
    SentBeforeError,
    StoreUnavailableError,
    UnavailableError,
)
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.background import BackgroundTasks
from dragoman.server.tasks.delivery import Answer, Delivery, decode_answer, encode
from dragoman.server.tasks.inbox import TaskInbox, queue_of
from dragoman.server.tasks.known_numbers import KnownNumbers
from dragoman.server.tasks.restoring import document_of, fold_of, standing_of
from dragoman.server.tasks.streams import Channel, Hub
from dragoman.server.tasks.task import LiveTask
from dragoman.server.tasks.watcher import TaskLostError
from dragoman.stores.base import (
    CANCEL_ITEM,
    Done,
    InboxItem,
    SendKey,
    SendRecord,
    TaskWrite,
)
from dragoman.stores.memory.shared import SharedMemoryTaskStore
from dragoman.testing.clock import FakeClock
from tests.support.server.fakes import (
    NEW_TASK,
    SCOPE,
    RecordingWatcher,
    agent_message,
    user_message,
)
from tests.support.server.running import stage, unfinished

SEND = SendRecord(key=SendKey(SCOPE, "m-2"), digest=b"d", at_ms=1000, task_id="t-1", since_ms=1)


def errand(text: str, *, is_answer: bool = False) -> Delivery:
    return Delivery(message=user_message(text, text), is_answer=is_answer)


RED = encode(errand("red", is_answer=True))
BLUE = encode(errand("blue", is_answer=True))


def never(live: LiveTask) -> None:
    raise AssertionError(live.task_id)


class Store(SharedMemoryTaskStore):
    """Cannot be read, or written, when it is told so."""

    is_down = False
    is_full = False
    is_outrun = False

    async def put_inbox(
        self, task_id: str, body: bytes, send: SendRecord | None, *, epoch: int | None = None
    ) -> int:
        if self.is_outrun:
            raise ConflictError(task_id)
        return await super().put_inbox(task_id, body, send, epoch=epoch)

    def append(self, write: TaskWrite, done: Done) -> None:
        if self.is_full:
            done(StoreUnavailableError("full"))
        else:
            super().append(write, done)

    async def read_inbox(self, task_id: str) -> tuple[InboxItem, ...]:
        if self.is_down:
            raise StoreUnavailableError("gone")
        return await super().read_inbox(task_id)


class Counter:
    """A live task on a shared store, and what is delivered to it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = Store(clock=self.clock)
        self.beside = self.store.beside()
        self.background = BackgroundTasks()
        self.again: list[LiveTask] = []
        self.deliveries = TaskInbox(
            self.store, self.background, run_again=self.again.append, cancel=self._cancel
        )

    async def open(self) -> None:
        await self.store.open()
        await self.beside.open()
        self.live = LiveTask(
            watcher=RecordingWatcher(),
            store=self.store,
            clock=self.clock,
            channel=Channel(Hub(), self._read),
            record=NEW_TASK,
            standing=Standing(task_id="t-1", context_id="c-1"),
            fold=TaskFold("t-1", "c-1"),
            seen=KnownNumbers(),
        )
        await self.do(Begin(user_message()), Start())

    async def do(self, *commands: Command) -> None:
        for command in commands:
            self.live.execute(command)
        await self.live.durable()

    async def lose_write(self) -> None:
        """Be as the store has it, which has not taken the last write."""
        self.store.is_full = False
        stored = await self.store.load(SCOPE, "t-1")
        assert stored is not None
        items = self.deliveries.take_out(self.live, stored)
        fold = fold_of(stored)
        standing = standing_of(stored, fold, unread=len(self.live.inbox))
        self.live.reset(standing, fold, journal_n=0)
        self.deliveries.take_again(self.live, items)

    def queue(self) -> list[str]:
        return [item.errand.message.message_id for item in self.live.inbox]

    def _cancel(self, live: LiveTask) -> None:
        live.execute(Cancel())

    async def _read(self, after: int, limit: int) -> tuple[()]:
        raise AssertionError


@asynccontextmanager
async def counter() -> AsyncGenerator[Counter]:
    on = Counter()
    await on.open()
    yield on
    await on.background.close()


async def test_what_others_posted_waits_in_the_inbox() -> None:
    async with counter() as on:
        for text in ("one", "two"):
            await on.beside.post("t-1", encode(errand(text)), None)
        assert await on.deliveries.take_in(on.live)
        assert await on.deliveries.take_in(on.live)
        assert on.queue() == ["one", "two"]
        assert on.live.seen is not None
        assert on.live.seen.mark == 2


async def test_what_was_put_there_from_here_is_not_taken_for_anothers() -> None:
    async with counter() as on:
        delivery = on.deliveries.deliver(on.live, errand("own"), None)
        await on.beside.post("t-1", encode(errand("other")), None)
        # The one of our own is in the store, but nobody here has heard of that yet.
        await on.deliveries.take_in(on.live)
        await delivery.stored
        assert sorted(on.queue()) == ["other", "own"]


async def test_a_message_that_another_replica_has_outrun_is_not_acknowledged() -> None:
    async with counter() as on:
        on.store.is_outrun = True
        delivery = on.deliveries.deliver(on.live, errand("late"), None)
        with pytest.raises(TaskLostError):
            await delivery.stored
        assert on.queue() == []
        assert on.live.standing.unread == 0


async def test_a_task_that_is_to_end_takes_in_everything_even_if_its_turn_is_stopped() -> None:
    async with counter() as on:
        on.live.is_stopping = True
        await on.beside.post("t-1", encode(errand("one")), None)
        assert await on.deliveries.take_in(on.live)
        assert on.queue() == []
        assert await on.deliveries.take_in(on.live, is_ending=True)
        assert on.queue() == ["one"]


async def test_an_answer_of_another_replica_goes_to_the_turn() -> None:
    async with counter() as on:
        await on.do(Ask(agent_message("which?"), is_auth=False))
        await on.beside.post("t-1", encode(errand("blue", is_answer=True)), None)
        await on.deliveries.take_in(on.live)
        assert on.again == [on.live]
        await on.live.durable()
        assert on.live.standing.state is TaskState.WORKING
        assert await on.store.read_inbox("t-1") == ()


async def test_a_secret_of_another_replica_is_kept_with_the_answer() -> None:
    async with counter() as on:
        await on.do(Ask(agent_message("your key?"), is_auth=False))
        sealed = replace(errand("[not shown]", is_answer=True), sealed=b"\x00sealed")
        await on.beside.post("t-1", encode(sealed), None)
        await on.deliveries.take_in(on.live)
        await on.live.durable()
        (entry,) = await on.store.read_journal("t-1")
        answer = Answer(errand=replace(sealed, sealed=b"", secret=entry.n))
        assert decode_answer(entry.result) == answer
        assert await on.store.read_secret("t-1", entry.n) == b"\x00sealed"


async def test_a_secret_that_nobody_waits_for_any_more_is_shown_to_nobody() -> None:
    async with counter() as on:
        sealed = replace(errand("[not shown]"), sealed=b"\x00sealed")
        await on.beside.post("t-1", encode(sealed), None)
        await on.deliveries.take_in(on.live)
        assert on.queue() == ["[not shown]"]
        assert await on.store.read_journal("t-1") == ()


async def test_word_to_cancel_is_obeyed_after_what_came_with_it() -> None:
    async with counter() as on:
        await on.beside.post("t-1", CANCEL_ITEM, None)
        await on.beside.post("t-1", encode(errand("late")), None)
        await on.beside.post("t-1", CANCEL_ITEM, None)
        await on.deliveries.take_in(on.live)
        await on.live.durable()
        stored = await on.store.load(SCOPE, "t-1")
        assert stored is not None
        assert stored.state is TaskState.CANCELED
        assert document_of(stored).task().history[-1].message_id == "late"
        assert await on.store.read_inbox("t-1") == ()


async def test_an_inbox_that_cannot_be_read_is_left_for_later() -> None:
    async with counter() as on:
        await on.beside.post("t-1", encode(errand("one")), None)
        on.store.is_down = True
        assert not await on.deliveries.take_in(on.live)
        on.store.is_down = False
        assert await on.deliveries.take_in(on.live)
        assert on.queue() == ["one"]


async def test_a_task_that_is_being_stopped_takes_nothing() -> None:
    async with counter() as on:
        await on.beside.post("t-1", encode(errand("one")), None)
        on.live.is_stopping = True
        await on.deliveries.take_in(on.live)
        assert on.queue() == []
        assert len(await on.store.read_inbox("t-1")) == 1


async def test_what_a_lost_write_had_taken_up_is_taken_again() -> None:
    async with counter() as on:
        for text in ("one", "two"):
            await on.beside.post("t-1", encode(errand(text)), None)
        await on.deliveries.take_in(on.live)
        on.live.inbox.popleft()
        await on.lose_write()
        assert on.queue() == ["one", "two"]
        await on.deliveries.take_in(on.live)
        assert on.queue() == ["one", "two"]


async def test_what_had_to_wait_may_be_the_answer_when_a_write_is_lost() -> None:
    # An answer was on its way to the store when another one came from another replica.
    async with counter() as on:
        await on.do(Ask(agent_message("which?"), is_auth=False))
        await on.beside.post("t-1", encode(errand("blue", is_answer=True)), None)
        (item,) = await on.store.read_inbox("t-1")
        on.store.is_full = True
        on.live.execute(Deliver(user_message("red", "red")))
        on.deliveries.take(on.live, item)
        assert on.queue() == ["blue"]
        with pytest.raises(UnavailableError):
            await on.live.durable()
        await on.lose_write()
        assert on.queue() == []
        assert on.again == [on.live]
        await on.live.durable()
        assert on.live.standing.state is TaskState.WORKING
        assert await on.store.read_inbox("t-1") == ()


async def test_a_message_that_another_replica_was_sent_first_is_withdrawn() -> None:
    async with counter() as on:
        await on.beside.post("t-1", encode(errand("two")), SEND)
        delivery = on.deliveries.deliver(on.live, errand("two"), SEND)
        with pytest.raises(SentBeforeError):
            await delivery.stored
        assert (on.queue(), on.live.standing.unread) == ([], 0)
        delivery.settled.cancel()


# --- copies of an answer ------------------------------------------------------------------------


async def copied(on: Counter, *bodies: bytes) -> None:
    """Answer a question with "blue", after others have left something in the inbox."""
    await on.do(Ask(agent_message("which?"), is_auth=False))
    for body in bodies:
        await on.beside.post("t-1", body, None)
    on.deliveries.deliver(on.live, errand("blue"), SEND)


async def test_the_copy_of_an_answer_is_found_among_what_is_in_the_inbox() -> None:
    async with counter() as on:
        await copied(on, CANCEL_ITEM, RED, BLUE)
        assert await on.deliveries.find_copy(on.live, "blue") == 3


async def test_an_answer_may_have_no_copy() -> None:
    async with counter() as on:
        await copied(on, CANCEL_ITEM, RED)
        assert await on.deliveries.find_copy(on.live, "blue") == 0


async def test_where_nobody_else_posts_there_is_no_copy() -> None:
    on = await stage()
    background = BackgroundTasks()
    deliveries = TaskInbox(on.store, background, run_again=never, cancel=never)
    assert await deliveries.find_copy(on.begin(), "blue") == 0
    await on.supervisor.drain(0)
    await background.close()


async def test_it_is_not_known_whether_there_is_a_copy_while_the_inbox_cannot_be_read() -> None:
    async with counter() as on:
        await copied(on, BLUE)
        on.store.is_down = True
        assert await on.deliveries.find_copy(on.live, "blue") is None
        on.store.is_down = False
        assert await on.deliveries.find_copy(on.live, "blue") == 1


async def test_a_copy_of_the_answer_that_is_on_its_way_is_taken_up_with_it() -> None:
    async with counter() as on:
        await copied(on, BLUE)
        await on.deliveries.take_in(on.live)
        assert (on.queue(), on.live.standing.unread) == ([], 0)
        await on.live.durable()
        assert await on.store.read_inbox("t-1") == ()
        assert on.again == [on.live]


async def test_what_was_posted_before_the_question_waits_although_it_is_found_after_it() -> None:
    async with counter() as on:
        await on.beside.post("t-1", encode(errand("early")), None)
        await on.do(Ask(agent_message("which?"), is_auth=False))
        await on.beside.post("t-1", BLUE, None)
        await on.deliveries.take_in(on.live)
        assert (on.queue(), on.live.standing.unread) == (["early"], 1)
        assert on.live.history()[-1].message_id == "blue"


async def test_an_answer_its_last_holder_did_not_see_is_told_from_what_waits() -> None:
    on = await stage()
    stored = replace(
        await unfinished(on),
        inbox=(
            InboxItem(1, encode(errand("waits"))),
            InboxItem(2, CANCEL_ITEM),
            InboxItem(3, encode(errand("answer", is_answer=True))),
            InboxItem(4, encode(errand("another", is_answer=True))),
        ),
    )
    queue, rest = queue_of(stored)
    # At work it asks nothing, so nothing is an answer.
    assert [item.errand.message.message_id for item in queue] == ["waits", "answer", "another"]
    assert [item.n for item in rest] == [2]
    queue, rest = queue_of(replace(stored, state=TaskState.INPUT_REQUIRED))
    assert [item.errand.message.message_id for item in queue] == ["waits", "another"]
    assert [item.n for item in rest] == [3, 2]
