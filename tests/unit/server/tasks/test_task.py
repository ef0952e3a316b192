"""What commands do to a live task."""

import asyncio

import pytest

from dragoman.engine.commands import Ask, Begin, Cancel, Deliver, Finish, Start
from dragoman.engine.effects import Enqueue, NextTurn, ResumeTurn, StopTurn
from dragoman.errors import TaskNotCancelableError
from dragoman.model.documents import encode_entry
from dragoman.stores.base import WHOLE_INBOX
from tests.support.server.fakes import Live, agent_message, user_message
from tests.support.server.living import COMPLETED, begun, pass_over, queue


async def test_effects_that_are_not_the_logs_are_returned_in_order() -> None:
    live = Live()
    assert live.task.execute(Begin(user_message())) == (NextTurn(),)
    assert live.task.execute(Deliver(user_message())) == (Enqueue(user_message()),)
    assert live.task.execute(Start()) == ()
    live.do(Ask(agent_message(), is_auth=True))
    assert live.task.execute(Deliver(user_message())) == (ResumeTurn(user_message()),)
    assert live.task.execute(Cancel()) == (StopTurn(),)


async def test_a_refused_command_writes_nothing() -> None:
    live = await begun()
    live.do(Cancel())
    with pytest.raises(TaskNotCancelableError):
        live.do(Cancel())
    await pass_over()
    assert live.store.writes[-1].events == 1


async def test_the_cause_is_decided_on_what_is_enqueued_not_on_what_is_stored() -> None:
    live = Live()
    live.begin()
    live.do(Finish(COMPLETED))
    with pytest.raises(TaskNotCancelableError):
        live.do(Cancel())


async def test_a_message_nobody_takes_up_any_more_joins_the_history() -> None:
    live = await begun()
    queue(live, "too late", number=4)
    live.do(Cancel())
    await pass_over()
    write = live.store.writes[-1]
    assert write.entries[0] == encode_entry(user_message("too late", "too late"))
    assert (write.inbox_taken, len(live.task.inbox)) == ((WHOLE_INBOX,), 0)
    assert live.task.history()[-1] == user_message("too late", "too late")


async def test_one_that_is_still_on_its_way_to_the_store_is_taken_from_it_as_well() -> None:
    live = await begun()
    queue(live, "too late")
    live.do(Cancel())
    await pass_over()
    assert live.store.writes[-1].inbox_taken == (WHOLE_INBOX,)


async def test_who_waits_for_its_turn_hears_of_the_end() -> None:
    live = await begun()
    item = queue(live, "too late", number=1)
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    item.waiters.append(waiter)
    live.do(Cancel())
    await pass_over()
    live.store.commit()
    assert waiter.done()
