"""What a live task writes beside its log: results, when to be woken, how often it was tried."""

import asyncio

from dragoman.engine.commands import Ask, Cancel, Finish
from dragoman.engine.fold import TaskFold
from dragoman.engine.machine import Standing
from dragoman.model.events import TaskStatusUpdateEvent
from dragoman.model.tasks import TaskState, TaskStatus
from dragoman.server.tasks.pending_write import SNAPSHOT_EVENTS
from dragoman.server.tasks.streams import Follower
from dragoman.stores.base import TaskWrite
from tests.support.server.fakes import Live, agent_message, chunk, user_message
from tests.support.server.living import COMPLETED, DOWN, WORKING, asked, begun, pass_over


async def written(live: Live) -> TaskWrite:
    """Let what is enqueued be written and committed."""
    await pass_over()
    write = live.store.writes[-1]
    live.store.commit()
    return write


def reset(live: Live, *, journal_n: int = 0, attempts: int = 0, wake_at_ms: int = 0) -> None:
    """Bring a task back to where it was after ``begun``."""
    fold = TaskFold("t-1", "c-1")
    fold.record(user_message())
    fold.apply(
        TaskStatusUpdateEvent(task_id="t-1", context_id="c-1", status=TaskStatus(state=WORKING))
    )
    standing = Standing(task_id="t-1", context_id="c-1", state=WORKING, seq=2)
    live.task.reset(standing, fold, journal_n=journal_n, attempts=attempts, wake_at_ms=wake_at_ms)


# --- results ----------------------------------------------------------------------------------


async def test_a_result_is_written_though_nothing_happens_with_it() -> None:
    live = await begun()
    live.task.note("step", "pay", b"1")
    assert live.store.held == 0
    write = await written(live)
    assert (write.expected_seq, write.events, write.entries, write.created) == (2, 0, (), None)
    assert (write.state, write.snapshot) == (None, None)
    (entry,) = write.journal
    assert (entry.n, entry.kind, entry.name, entry.result, entry.seq) == (1, "step", "pay", b"1", 2)


async def test_a_result_knows_what_came_before_it() -> None:
    live = await begun()
    live.task.note("step", "one", b"1")
    live.do(chunk(), chunk(append=True))
    live.task.note("step", "two", b"2")
    write = await written(live)
    assert [(entry.n, entry.seq) for entry in write.journal] == [(1, 2), (2, 4)]


async def test_the_number_of_the_next_result_is_known() -> None:
    live = await begun()
    assert live.task.next_result == 1
    live.task.note("step", "one", b"1")
    assert live.task.next_result == 2


async def test_a_result_noted_while_a_write_is_on_its_way_goes_with_the_next() -> None:
    live = await begun()
    live.task.note("step", "one", b"1")
    await pass_over()
    live.task.note("step", "two", b"2")
    await pass_over()
    assert live.store.held == 1
    live.store.commit()
    assert [[e.n for e in write.journal] for write in live.store.writes[1:]] == [[1], [2]]


async def test_durable_waits_for_results_too() -> None:
    live = await begun()
    live.task.note("step", "one", b"1")
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(live.task.durable())
        await pass_over()
        await pass_over()
        assert not waiting.done()
        live.store.commit()
    assert waiting.result() == 2


async def test_a_result_of_a_long_task_that_ends_is_in_one_write_with_its_last_events() -> None:
    live = await begun()
    for number in range(SNAPSHOT_EVENTS + 1):
        live.do(chunk(append=number > 0))
    await pass_over()
    live.store.commit()
    live.task.note("step", "last", b"1")
    live.do(chunk(append=True), chunk(append=True, last_chunk=True), Finish(COMPLETED))
    await pass_over()
    live.store.commit()
    last = live.store.writes[-1]
    assert (last.events, len(last.journal), last.state) == (3, 1, COMPLETED)
    assert live.watcher.ended == [live.task]


async def test_a_task_ends_though_a_result_is_noted_after_its_end_was_handed_over() -> None:
    live = await begun()
    live.do(Finish(COMPLETED))
    await pass_over()
    live.task.note("step", "late", b"1")
    live.store.commit()
    assert live.watcher.ended == []
    live.store.commit()
    assert live.watcher.ended == [live.task]


async def test_a_result_that_was_lost_is_noted_again_under_its_number() -> None:
    live = await begun()
    live.task.note("step", "pay", b"1")
    await pass_over()
    live.store.commit(DOWN)
    reset(live)
    assert live.task.next_result == 1
    live.task.note("step", "pay", b"1")
    assert [entry.n for entry in (await written(live)).journal] == [1]


# --- when to be woken -------------------------------------------------------------------------


async def test_when_to_be_woken_is_written_with_the_result_and_once() -> None:
    live = await begun()
    live.task.note("sleep", "", b"5", wake_at_ms=5)
    assert (await written(live)).wake_at_ms == 5
    live.do(chunk())
    assert (await written(live)).wake_at_ms is None


async def test_the_next_result_takes_it_back() -> None:
    live = await begun()
    live.task.note("timer", "", b"5", wake_at_ms=5)
    await written(live)
    live.task.note("ask", "input", b"{}")
    assert (await written(live)).wake_at_ms == 0


async def test_a_result_of_another_branch_leaves_it_as_it_is() -> None:
    live = await begun()
    live.task.note("timer", "", b"5", wake_at_ms=5)
    await written(live)
    live.task.note("step@1.0", "pay", b"1", wake_at_ms=None)
    write = await written(live)
    assert (write.wake_at_ms, live.task.attempts) == (None, -1)


async def test_who_wakes_by_itself_takes_it_back_though_nothing_happens() -> None:
    live = await begun()
    live.task.note("sleep", "", b"5", wake_at_ms=5)
    await written(live)
    live.task.note_awake()
    write = await written(live)
    assert (write.wake_at_ms, write.events, write.journal) == (0, 0, ())
    live.task.note_awake()
    await pass_over()
    assert live.store.held == 0


async def test_a_sleep_that_is_over_before_it_was_written_needs_no_waking() -> None:
    live = await begun()
    live.task.note("sleep", "", b"5", wake_at_ms=5)
    live.task.note_awake()
    assert (await written(live)).wake_at_ms is None


async def test_a_task_that_has_ended_is_not_to_be_woken() -> None:
    live = await begun()
    live.task.note("sleep", "", b"5", wake_at_ms=5)
    await written(live)
    live.do(Cancel())
    assert (await written(live)).wake_at_ms == 0


async def test_after_an_outage_a_task_is_to_be_woken_when_the_store_says() -> None:
    live = await begun()
    live.task.note("sleep", "", b"5", wake_at_ms=5)
    await written(live)
    live.task.note_awake()
    await pass_over()
    live.store.commit(DOWN)
    reset(live, journal_n=1, wake_at_ms=5)
    live.do(Finish(TaskState.FAILED))
    assert (await written(live)).wake_at_ms == 0


# --- attempts ---------------------------------------------------------------------------------


async def test_an_attempt_is_written_though_nothing_happens_and_waited_for() -> None:
    live = await begun()
    live.task.count_attempt()
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(live.task.durable())
        await pass_over()
        await pass_over()
        assert not waiting.done()
        write = live.store.writes[-1]
        live.store.commit()
    assert (write.attempts, write.events, write.journal) == (1, 0, ())


async def test_output_is_no_progress_and_a_result_is() -> None:
    live = await begun()
    live.task.count_attempt()
    await written(live)
    live.do(chunk())
    assert (await written(live)).attempts is None
    live.task.note("step", "pay", b"1")
    assert (await written(live)).attempts == 0
    live.task.note("step", "ship", b"1")
    assert (await written(live)).attempts is None


async def test_to_be_woken_is_given_as_an_attempt_in_advance() -> None:
    live = await begun()
    live.task.note("sleep", "", b"5", wake_at_ms=5)
    assert (await written(live)).attempts == -1
    live.task.note_awake()
    assert (await written(live)).attempts == 0


async def test_attempts_that_were_lost_with_a_write_are_those_of_the_store() -> None:
    live = await begun()
    live.task.count_attempt()
    await pass_over()
    live.store.commit(DOWN)
    reset(live, attempts=2)
    live.task.count_attempt()
    assert (await written(live)).attempts == 3


# --- who looks --------------------------------------------------------------------------------


async def test_a_task_is_watched_while_somebody_follows_it() -> None:
    live = await asked()
    assert not live.task.is_watched
    follower = Follower(live.channel, first=None, cursor=3)
    assert live.task.is_watched
    await follower.aclose()
    assert not live.task.is_watched


async def test_a_task_is_watched_while_somebody_waits_for_it() -> None:
    live = await asked()
    settled = live.task.settled()
    assert live.task.is_watched
    settled.cancel()
    assert not live.task.is_watched


async def test_a_task_is_watched_while_somebody_waits_for_a_commit() -> None:
    live = await begun()
    live.do(Ask(agent_message("which?"), is_auth=False))
    async with asyncio.TaskGroup() as group:
        group.create_task(live.task.durable())
        await pass_over()
        assert live.task.is_watched
        await pass_over()
        live.store.commit()
    assert not live.task.is_watched


async def test_a_task_that_waits_for_its_client_is_questioned_when_that_is_decided() -> None:
    live = await begun()
    assert not live.task.is_questioned
    live.do(Ask(agent_message("which?"), is_auth=True))
    assert live.task.is_questioned
