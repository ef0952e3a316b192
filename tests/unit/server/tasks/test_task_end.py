"""The end of a task that the store refuses, because another replica has acknowledged a message."""

import asyncio

from msgspec.structs import replace

from dragoman.engine.commands import Cancel, Deliver, Finish, Say
from dragoman.engine.effects import NextTurn
from dragoman.errors import SentBeforeError, UnreadError
from dragoman.model.tasks import TaskState
from dragoman.server.tasks.ending import is_ending
from dragoman.server.tasks.known_numbers import KnownNumbers
from dragoman.stores.base import WHOLE_INBOX
from tests.support.server.fakes import Live, agent_message, chunk, user_message
from tests.support.server.living import COMPLETED, DOWN, begun, pass_over, queue

REFUSED = UnreadError("t-1")


async def shared() -> Live:
    """Return a task at work, in a store that others post to."""
    live = await begun()
    live.task.seen = KnownNumbers()
    return live


async def test_an_end_says_how_much_of_the_inbox_is_known() -> None:
    live = await shared()
    assert live.task.seen is not None
    live.task.seen.add(1)
    live.do(chunk())
    await pass_over()
    live.store.commit()
    live.do(Finish(COMPLETED))
    await pass_over()
    assert [write.inbox_seen for write in live.store.writes[-2:]] == [None, 1]


async def test_where_nobody_else_posts_nothing_is_said_of_it() -> None:
    live = await begun()
    live.do(Finish(COMPLETED))
    await pass_over()
    assert live.store.writes[-1].inbox_seen is None


async def test_a_refused_end_is_taken_back() -> None:
    live = await shared()
    live.do(Say(agent_message("busy")), chunk("x"))
    before, history = live.task.document().task(), live.task.history()
    live.do(Finish(COMPLETED, agent_message("done")))
    await pass_over()
    live.store.commit(REFUSED)
    ((task, command),) = live.watcher.refused
    assert task is live.task
    assert command == Finish(COMPLETED, agent_message("done"))
    assert live.task.document().task() == before
    assert live.task.history() == history
    assert (live.watcher.lost, live.watcher.ended, live.task.failure) == ([], [], None)


async def test_what_comes_before_a_refused_end_can_be_waited_for_though_no_end_follows() -> None:
    live = await shared()
    live.do(Say(agent_message("busy")), Finish(COMPLETED))
    await pass_over()
    live.store.commit(REFUSED)
    async with asyncio.TaskGroup() as group:
        group.create_task(live.task.durable())
        await pass_over()
        await pass_over()
        assert (live.store.writes[-1].events, live.store.writes[-1].inbox_seen) == (1, None)
        live.store.commit()


async def test_what_was_refused_with_an_end_is_written_with_the_next_one() -> None:
    live = await shared()
    live.task.take_up(1)
    live.do(Say(agent_message("busy")), chunk("x"))
    live.task.note("step", "a", b"1")
    live.do(Finish(COMPLETED))
    await pass_over()
    refused = live.store.writes[-1]
    live.store.commit(REFUSED)
    live.do(Finish(COMPLETED))
    await pass_over()
    again = live.store.writes[-1]
    assert replace(again, entries=(), status_at_ms=0) == replace(
        refused, entries=(), status_at_ms=0
    )
    assert again.entries[:-1] == refused.entries[:-1]
    live.store.commit()
    assert live.watcher.ended == [live.task]


async def test_with_the_message_in_sight_the_next_turn_follows() -> None:
    live = await shared()
    live.do(Say(agent_message("busy")))
    live.do(Finish(COMPLETED))
    await pass_over()
    live.store.commit(REFUSED)
    live.do(Deliver(user_message("more")))
    assert live.task.execute(Finish(COMPLETED)) == (NextTurn(),)
    live.do(chunk())
    await pass_over()
    write = live.store.writes[-1]
    # The status that was to be written before the end is what the row has now.
    assert (write.state, write.events) == (TaskState.WORKING, 2)


async def test_what_waited_in_the_inbox_waits_there_again() -> None:
    live = await shared()
    item = queue(live, "two", number=1)
    live.do(Cancel())
    assert not live.task.inbox
    await pass_over()
    live.store.commit(REFUSED)
    assert list(live.task.inbox) == [item]
    assert live.task.standing.unread == 1
    live.do(Cancel())
    await pass_over()
    live.store.commit()
    assert live.task.history()[-1].message_id == "two"


async def test_a_message_that_could_not_be_stored_does_not_come_back_with_a_refused_end() -> None:
    """The same one was sent to another replica first; the end was on its way when that was told."""
    live = await shared()
    lost = queue(live, "lost")
    live.do(Cancel())
    await pass_over()
    lost.stored.set_exception(SentBeforeError("lost"))
    live.store.commit(REFUSED)
    assert (list(live.task.inbox), live.task.standing.unread) == ([], 0)
    # A task with an empty inbox that has something unread would look for it for ever.
    assert NextTurn() not in live.task.execute(Finish(COMPLETED))
    await pass_over()
    live.store.commit()
    assert "lost" not in [message.message_id for message in live.task.history()]
    assert live.watcher.ended == [live.task]


async def test_beside_a_message_that_could_not_be_stored_the_others_wait_again() -> None:
    live = await shared()
    lost, stored, on_its_way = queue(live, "lost"), queue(live, "two", number=1), queue(live, "3")
    live.do(Cancel())
    await pass_over()
    lost.stored.set_exception(SentBeforeError("lost"))
    live.store.commit(REFUSED)
    assert list(live.task.inbox) == [stored, on_its_way]
    assert live.task.standing.unread == 2
    assert live.task.execute(Finish(COMPLETED)) == (NextTurn(),)


async def test_who_waits_for_the_end_waits_for_the_next_one() -> None:
    live = await shared()
    settled = live.task.settled()
    live.do(Finish(COMPLETED))
    await pass_over()
    live.store.commit(REFUSED)
    assert not settled.done()
    live.do(Finish(COMPLETED))
    await pass_over()
    live.store.commit()
    await settled


async def test_an_end_leaves_nothing_in_an_inbox_that_was_used() -> None:
    live = await shared()
    assert live.task.seen is not None
    live.task.seen.add(1)
    live.task.take_up(1)
    live.do(Finish(COMPLETED))
    await pass_over()
    assert live.store.writes[-1].inbox_taken == (1, WHOLE_INBOX)
    live.store.commit(REFUSED)
    live.do(chunk())
    await pass_over()
    assert live.store.writes[-1].inbox_taken == (1,)


async def test_a_number_that_the_end_did_not_get_does_not_count_as_the_end() -> None:
    """Until it is ended anew a task goes on, and its next event has the number of the end."""
    live = await shared()
    live.do(Cancel())
    ended = live.task.settled()
    await pass_over()
    live.store.commit(REFUSED)
    live.do(chunk("x"))
    await pass_over()
    live.store.commit()
    assert not ended.done()
    live.do(Cancel())
    await pass_over()
    live.store.commit()
    assert ended.done()
    assert live.task.is_over


async def test_an_end_is_in_question_until_it_is_durable_or_taken_back() -> None:
    live = await shared()
    assert not is_ending(live.task)
    live.do(Finish(COMPLETED))
    assert is_ending(live.task)
    await pass_over()
    live.store.commit(REFUSED)
    assert not is_ending(live.task)
    live.do(Finish(COMPLETED))
    await pass_over()
    live.store.commit()
    assert not is_ending(live.task)


async def test_where_nobody_else_posts_no_end_is_in_question() -> None:
    live = await begun()
    live.do(Finish(COMPLETED))
    assert not is_ending(live.task)


async def test_who_waits_for_an_end_that_is_taken_back_goes_on_with_the_event_in_its_place() -> (
    None
):
    live = await shared()
    live.do(Finish(COMPLETED))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(live.task.durable())
        await pass_over()
        live.store.commit(REFUSED)
        await pass_over()
        assert not waiting.done()
        live.do(chunk())
        await pass_over()
        live.store.commit()


async def test_an_end_whose_write_is_lost_is_not_in_question() -> None:
    live = await shared()
    live.do(Finish(COMPLETED))
    await pass_over()
    live.store.commit(DOWN)
    assert not is_ending(live.task)


async def test_of_a_message_that_reached_another_replica_as_well_the_history_has_one_copy() -> None:
    live = await shared()
    queue(live, "twice")
    queue(live, "twice", number=1)
    queue(live, "once")
    live.do(Cancel())
    await pass_over()
    assert [message.message_id for message in live.task.history()[1:]] == ["twice", "once"]
    # All of that is undone if the end is refused.
    live.store.commit(REFUSED)
    assert len(live.task.inbox) == 3
    assert len(live.task.history()) == 1
    live.do(Cancel())
    await pass_over()
    live.store.commit()
    assert live.watcher.ended == [live.task]
