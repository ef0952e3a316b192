"""What is written of a task, and what is visible of it."""

import asyncio

import pytest
from msgspec.structs import replace

from dragoman.engine.commands import Ask, Deliver, Finish, Say
from dragoman.errors import SentBeforeError, StoreUnavailableError, UnavailableError
from dragoman.model.documents import encode_entry
from dragoman.server.tasks.known_numbers import KnownNumbers
from dragoman.server.tasks.streams import Follower
from dragoman.stores.base import JournalEntry, TaskWrite
from tests.support.server.fakes import (
    NEW_TASK,
    SCOPE,
    Live,
    agent_message,
    chunk,
    user_message,
)
from tests.support.server.living import (
    COMPLETED,
    INPUT_REQUIRED,
    SEND,
    WORKING,
    asked,
    begun,
    pass_over,
)

# --- one write for what happens together ------------------------------------------------------


async def test_a_turn_that_ends_within_a_pass_is_one_write() -> None:
    live = Live(send=SEND)
    live.begin()
    live.do(chunk(last_chunk=True), Finish(COMPLETED))
    await pass_over()
    (write,) = live.store.writes
    assert (write.expected_seq, write.events, len(write.entries)) == (0, 4, 5)
    assert write.state is COMPLETED
    assert (write.created, write.send) == (NEW_TASK, SEND)


async def test_nothing_is_written_before_the_pass_is_over() -> None:
    live = Live()
    live.begin()
    assert live.store.writes == []


async def test_a_message_goes_before_the_event_it_came_with() -> None:
    live = Live()
    live.begin()
    await pass_over()
    assert live.store.writes[0].entries[0] == encode_entry(user_message())


async def test_one_write_is_on_its_way_at_a_time() -> None:
    live = Live()
    live.begin()
    await pass_over()
    live.do(chunk())
    await pass_over()
    live.do(chunk(append=True))
    await pass_over()
    assert live.store.held == 1


async def test_what_happens_meanwhile_goes_into_the_next_write() -> None:
    live = Live()
    live.begin()
    await pass_over()
    live.do(chunk(), chunk(append=True))
    live.store.commit()
    assert [(write.expected_seq, write.events) for write in live.store.writes] == [(0, 2), (2, 2)]


async def test_a_task_without_news_writes_nothing() -> None:
    live = await begun()
    await pass_over()
    assert len(live.store.writes) == 1


# --- what a write says ------------------------------------------------------------------------


async def test_a_write_of_artifacts_alone_leaves_the_status() -> None:
    live = await begun()
    live.do(chunk())
    await pass_over()
    assert live.store.writes[-1].state is None


async def test_a_write_says_where_the_task_stood_in_the_store() -> None:
    live = await begun()
    live.do(chunk())
    await pass_over()
    live.store.commit()
    live.do(Ask(agent_message(), is_auth=False))
    await pass_over()
    write = live.store.writes[-1]
    assert write.state is INPUT_REQUIRED


async def test_a_write_says_when_the_status_was_reached() -> None:
    live = await begun()
    live.clock.advance(1)
    live.do(Say(agent_message()))
    live.clock.advance(1)
    live.do(chunk())
    await pass_over()
    assert live.store.writes[-1].status_at_ms == 1_001_000


async def test_only_the_first_write_creates() -> None:
    live = await begun()
    live.do(chunk())
    await pass_over()
    assert [write.created for write in live.store.writes] == [NEW_TASK, None]


async def test_the_send_goes_with_one_write() -> None:
    live = Live(send=SEND)
    live.begin()
    await pass_over()
    live.store.commit()
    live.do(chunk())
    await pass_over()
    assert [write.send for write in live.store.writes] == [SEND, None]


async def test_a_later_send_goes_with_the_next_write() -> None:
    live = await asked()
    live.task.answers_send(SEND, user_message("that"))
    live.do(Deliver(user_message("that")))
    await pass_over()
    assert live.store.writes[-1].send == SEND


async def test_results_are_numbered_and_go_with_the_next_write() -> None:
    live = await begun()
    live.task.note("ask", "input", b"1")
    live.task.note("ask", "auth", b"2")
    live.do(chunk())
    await pass_over()
    live.store.commit()
    live.do(chunk())
    await pass_over()
    assert [write.journal for write in live.store.writes[1:]] == [
        (
            JournalEntry(n=1, kind="ask", name="input", result=b"1", seq=2),
            JournalEntry(n=2, kind="ask", name="auth", result=b"2", seq=2),
        ),
        (),
    ]


async def test_what_was_taken_from_the_inbox_goes_with_the_next_write() -> None:
    live = await begun()
    live.task.take_up(2)
    live.task.take_up(1)
    live.do(chunk())
    await pass_over()
    live.store.commit()
    live.do(chunk())
    await pass_over()
    assert [write.inbox_taken for write in live.store.writes[1:]] == [(2, 1), ()]


# --- a send that another replica was faster with ------------------------------------------------


async def answered() -> Live:
    """Return a task whose answer is on its way to a store that others post to."""
    live = await asked()
    live.task.seen = KnownNumbers()
    live.task.answers_send(SEND, user_message("blue"))
    live.do(Deliver(user_message("blue")))
    await pass_over()
    return live


async def known() -> tuple[Live, TaskWrite]:
    """Return one whose answer the store has refused, and what it has refused."""
    live = await answered()
    live.store.commit(SentBeforeError("m-1"))
    ((task, write),) = live.watcher.known
    assert task is live.task
    return live, write


async def test_what_a_known_answer_has_led_to_stands() -> None:
    live, _ = await known()
    assert (live.task.failure, live.watcher.lost) == (None, [])
    assert live.task.standing.state is WORKING
    assert live.task.history()[-1] == user_message("blue")


async def test_what_a_known_answer_has_led_to_is_written_with_its_copy() -> None:
    live, write = await known()
    settled = live.task.settled()
    live.task.write_again(write, 3)
    assert live.store.writes[-1] == replace(write, send=None, inbox_taken=(3,))
    assert live.task.seen is not None
    assert 3 in live.task.seen
    live.store.commit()
    assert live.task.backlog == 0
    live.do(Finish(COMPLETED))
    await pass_over()
    live.store.commit()
    assert settled.done()


async def test_without_a_copy_it_was_taken_up_before_and_is_undone() -> None:
    live, write = await known()
    waiting = asyncio.ensure_future(live.task.durable())
    await pass_over()
    live.task.write_again(write, 0)
    assert live.store.writes[-1] == write
    ((lost, error),) = live.watcher.lost
    assert (lost, type(error)) == (live.task, SentBeforeError)
    with pytest.raises(SentBeforeError):
        await waiting


async def test_what_a_known_answer_has_led_to_is_lost_if_its_copy_is_not_looked_for() -> None:
    live, write = await known()
    waiting = asyncio.ensure_future(live.task.durable())
    await pass_over()
    live.task.drop_write(write)
    with pytest.raises(UnavailableError):
        await waiting
    ((lost, error),) = live.watcher.lost
    assert (lost, type(error)) == (live.task, StoreUnavailableError)
    # Whoever had it to look for comes too late now.
    live.task.drop_write(write)
    live.task.write_again(write, 3)
    assert (len(live.watcher.lost), live.store.held) == (1, 0)


async def test_an_end_that_came_with_a_known_answer_knows_of_the_copy() -> None:
    live = await asked()
    live.task.seen = KnownNumbers()
    live.task.answers_send(SEND, user_message("blue"))
    live.do(Deliver(user_message("blue")), Finish(COMPLETED))
    await pass_over()
    live.store.commit(SentBeforeError("m-1"))
    ((_, write),) = live.watcher.known
    live.task.write_again(write, 1)
    assert (write.inbox_seen, live.store.writes[-1].inbox_seen) == (0, 1)


async def test_nothing_else_is_written_before_the_copy_is_found() -> None:
    live, write = await known()
    live.do(chunk())
    await pass_over()
    assert live.store.held == 0
    live.task.write_again(write, 1)
    live.store.commit()
    assert live.store.held == 1
    assert live.store.writes[-1].expected_seq == write.expected_seq + write.events


async def test_a_task_that_was_let_go_meanwhile_is_not_written_again() -> None:
    live, write = await known()
    live.task.retire()
    live.task.write_again(write, 1)
    assert live.store.held == 0


async def test_an_answer_is_told_from_others_until_the_store_knows_of_it() -> None:
    live, write = await known()
    assert live.task.is_answered_by(user_message("blue"))
    assert not live.task.is_answered_by(user_message("red"))
    live.task.write_again(write, 1)
    assert live.task.is_answered_by(user_message("blue"))
    live.store.commit()
    # Whoever says the same once more says it anew.
    assert not live.task.is_answered_by(user_message("blue"))


async def test_an_answer_is_told_from_others_while_a_write_before_it_is_on_its_way() -> None:
    live = await begun()
    live.do(Ask(agent_message("which?"), is_auth=False))
    await pass_over()
    live.task.answers_send(SEND, user_message("blue"))
    live.do(Deliver(user_message("blue")))
    live.store.commit()
    assert live.task.is_answered_by(user_message("blue"))
    live.store.commit()
    assert not live.task.is_answered_by(user_message("blue"))


# --- what is visible --------------------------------------------------------------------------


async def test_an_event_is_visible_when_it_is_durable_and_not_before() -> None:
    live = Live()
    follower = Follower(live.channel, first=None, cursor=0)
    live.begin()
    await pass_over()
    assert live.channel.seq == 0
    live.store.commit()
    assert [event.seq for event in await anext(follower)] == [1, 2]


async def test_a_pause_is_told_once_it_is_durable() -> None:
    live = await begun()
    live.do(chunk())
    await pass_over()
    live.do(Ask(agent_message(), is_auth=False))
    live.store.commit()
    assert live.channel.paused_at == 0
    live.store.commit()
    assert live.channel.paused_at == 4


async def test_waiting_for_authorization_is_no_pause_of_the_stream() -> None:
    live = await begun()
    live.do(Ask(agent_message(), is_auth=True))
    await pass_over()
    live.store.commit()
    assert live.channel.paused_at == 0


async def test_the_end_is_told_with_the_last_event() -> None:
    live = await begun()
    live.do(chunk())
    await pass_over()
    live.do(Finish(COMPLETED))
    live.store.commit()
    assert (live.channel.ended_at, live.watcher.ended) == (0, [])
    live.store.commit()
    assert (live.channel.ended_at, live.watcher.ended) == (4, [live.task])


async def test_a_task_is_over_when_its_end_is_durable() -> None:
    live = await begun()
    live.do(Finish(COMPLETED))
    await pass_over()
    assert (live.task.backlog, live.task.is_over, live.task.is_settled) == (1, False, False)
    live.store.commit()
    assert (live.task.backlog, live.task.is_over, live.task.is_settled) == (0, True, True)


async def test_a_task_that_waits_for_its_client_is_settled_and_not_over() -> None:
    live = await asked()
    assert (live.task.is_settled, live.task.is_over) == (True, False)


async def test_a_task_at_work_is_not_settled() -> None:
    live = await begun()
    assert not live.task.is_settled


async def test_a_task_knows_whose_it_is() -> None:
    live = Live()
    assert (live.task.task_id, live.task.scope) == ("t-1", SCOPE)
