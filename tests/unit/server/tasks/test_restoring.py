import asyncio

from dragoman.server.tasks.delivery import Delivery, encode
from dragoman.server.tasks.restoring import TaskRestorer
from dragoman.server.tasks.streams import Follower
from dragoman.stores.base import CANCEL_ITEM, InboxItem
from tests.support.server.fakes import NEW_TASK, user_message
from tests.support.server.running import INPUT_REQUIRED, Stage, ask, put_aside, stage, unfinished


def restorer(on: Stage) -> TaskRestorer:
    return TaskRestorer(
        watcher=on.supervisor,
        worker=on.worker,
        store=on.store,
        clock=on.clock,
        hub=on.hub,
        remote_tasks=None,
    )


async def test_of_a_task_that_begins_nothing_is_written() -> None:
    on = await stage()
    live = restorer(on).begin("t-1", NEW_TASK, None, asyncio.get_running_loop())
    assert (live.standing.state, live.standing.seq, live.is_stored) == (None, 0, False)
    assert await on.store.load(NEW_TASK.scope, "t-1") is None


async def test_a_task_is_as_the_store_has_it() -> None:
    on = await stage()
    stored = await unfinished(on)
    journal = await on.store.read_journal(stored.id)
    live, rest = restorer(on).revive(stored, journal, 7)
    assert (live.epoch, live.attempts, live.is_stored) == (7, stored.attempts, True)
    assert (live.standing.seq, live.standing.state) == (stored.seq, stored.state)
    assert (live.turn, tuple(live.inbox), rest) == (None, (), [])


async def test_who_follows_it_reads_what_was_before_from_the_log() -> None:
    on = await stage()
    stored = await unfinished(on)
    live, _ = restorer(on).revive(stored, (), 7)
    follower = Follower(live.channel, first=None, cursor=0)
    assert [event.seq for event in await anext(follower)] == list(range(1, stored.seq + 1))
    await follower.aclose()


async def test_what_waits_for_it_still_waits() -> None:
    on = await stage()
    errand = Delivery(message=user_message("later", "m-2"), metadata={"k": 1})
    await unfinished(on)
    await on.store.put_inbox("t-0", encode(errand), None)
    live, _ = restorer(on).revive(await on.stored("t-0"), (), 7)
    (queued,) = live.inbox
    assert queued.errand == errand
    assert await queued.stored == 1
    assert live.standing.unread == 1


async def test_word_to_cancel_it_is_to_be_handed_to_it() -> None:
    on = await stage()
    await unfinished(on)
    await on.store.put_inbox("t-0", CANCEL_ITEM, None)
    live, rest = restorer(on).revive(await on.stored("t-0"), (), 7)
    assert (tuple(live.inbox), rest) == ((), [InboxItem(1, CANCEL_ITEM)])


async def test_one_that_waits_for_its_client_is_paused() -> None:
    on = await stage(ask)
    on.begin()
    await put_aside(on)
    stored = await on.stored()
    assert stored.state is INPUT_REQUIRED
    live, _ = restorer(on).revive(stored, (), 7)
    assert live.channel.paused_at == stored.seq
