"""Turns that are run again: of which message, with what came with it, and with what result."""

import asyncio

import pytest

from dragoman.engine.commands import Cancel
from dragoman.model.base import JsonObject
from dragoman.model.messages import text_of
from dragoman.server.tasks.delivery import Delivery, decode_delivery
from dragoman.server.tasks.turns import STORE_POLL_SECONDS
from dragoman.service.principal import Principal
from dragoman.service.worker import Completed, Outcome, Turn
from tests.support.server.fakes import NEW_TASK, agent_message, user_message
from tests.support.server.resuming import killed, successor
from tests.support.server.running import (
    CANCELED,
    COMPLETED,
    FAILED,
    Stage,
    stage,
    status_text,
    unfinished,
)

ERRAND = Delivery(
    message=user_message("hello"),
    metadata={"k": 1},
    extensions=("https://example.com/x",),
    accepted_output_modes=("text/plain",),
)


class Witness:
    """What each run was about. A run for the first time waits until it is stopped."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, JsonObject, tuple[str, ...], tuple[str, ...]]] = []
        self.reached = asyncio.Event()
        self.is_second = False

    async def run(self, turn: Turn) -> Outcome:
        self.seen.append(
            (
                text_of(turn.message.parts),
                turn.metadata,
                turn.extensions,
                turn.accepted_output_modes,
            )
        )
        if not self.is_second:
            self.reached.set()
            await asyncio.Event().wait()
        return Completed()


async def run_again(on: Stage, witness: Witness) -> None:
    """Stop a turn as the end of its process does, and run it again."""
    (live,) = on.supervisor.tasks()
    on.supervisor.put_aside(live)
    witness.is_second = True
    back = await on.supervisor.adopt(await on.stored("t-1"))
    settled = back.settled()
    on.supervisor.run_again(back)
    await settled


async def test_a_turn_is_run_again_with_what_came_with_its_message() -> None:
    witness = Witness()
    on = await stage(witness.run)
    live = on.supervisor.begin("t-1", NEW_TASK, ERRAND, None)
    await witness.reached.wait()
    await live.durable()
    await run_again(on, witness)
    assert witness.seen == [("hello", {"k": 1}, ERRAND.extensions, ("text/plain",))] * 2
    assert (await on.task()).status.state is COMPLETED


async def test_a_turn_that_is_run_again_has_the_caller_that_it_had() -> None:
    ada = Principal(owner="ada", scopes=frozenset({"pay"}))
    seen: list[Principal] = []
    witness = Witness()

    async def run(turn: Turn) -> Outcome:
        seen.append(turn.principal)
        return await witness.run(turn)

    on = await stage(run)
    live = on.supervisor.begin(
        "t-1", NEW_TASK, Delivery(message=user_message(), principal=ada), None
    )
    await witness.reached.wait()
    await live.durable()
    await run_again(on, witness)
    assert seen == [ada, ada]


async def test_a_message_that_came_alone_is_found_in_the_history() -> None:
    witness = Witness()
    on = await stage(witness.run)
    live = on.begin()
    await witness.reached.wait()
    await live.durable()
    await run_again(on, witness)
    assert witness.seen == [("hello", {}, (), ())] * 2
    assert await on.store.read_journal("t-1") == ()


async def test_what_waits_in_the_inbox_gets_its_turn_after_the_one_that_is_run_again() -> None:
    witness = Witness()
    on = await stage(witness.run)
    live = on.begin()
    await witness.reached.wait()
    more = Delivery(message=user_message("more", "m-2"), metadata={"k": 2})
    await on.supervisor.deliver(live, more, None).stored
    await run_again(on, witness)
    assert [(text, metadata) for text, metadata, *_ in witness.seen] == [
        ("hello", {}),
        ("hello", {}),
        ("more", {"k": 2}),
    ]
    (entry,) = await on.store.read_journal("t-1")
    assert (entry.kind, decode_delivery(entry.result)) == ("turn", more)


async def test_a_second_turn_that_was_cut_off_does_not_bring_back_the_first() -> None:
    seen: list[str] = []
    reached = asyncio.Event()

    async def run(turn: Turn) -> Outcome:
        seen.append(text_of(turn.message.parts))
        if seen == ["hello", "more"]:
            await turn.flush()
            reached.set()
            await asyncio.Event().wait()
        return Completed(agent_message(f"done {len(seen)}"))

    on = await stage(run)
    live = on.begin()
    on.supervisor.deliver(live, Delivery(message=user_message("more", "m-2")), None)
    await reached.wait()
    on.supervisor.put_aside(live)
    back = await on.supervisor.adopt(await on.stored())
    settled = back.settled()
    on.supervisor.run_again(back)
    await settled
    assert seen == ["hello", "more", "more"]
    task = await on.task()
    history = [text_of(message.parts) for message in task.history]
    assert (history, status_text(task)) == (["hello", "done 1", "more"], "done 3")


async def test_code_that_takes_another_course_fails_the_task_and_both_are_named() -> None:
    async def pay(turn: Turn) -> Outcome:
        await turn.record("step", "pay", b"1")
        await asyncio.Event().wait()
        raise AssertionError

    async def refund(turn: Turn) -> Outcome:
        turn.recall("step", "refund")
        raise AssertionError

    async with successor(refund) as on, killed(on, pay):
        await on.resumption.resume_all()
        await on.wait_for_end()
        task = await on.task("t-0")
    assert task.status.state is FAILED
    assert "step 'pay' was recorded here, and now it made step 'refund'" in status_text(task)


async def test_what_cannot_be_read_now_is_read_later() -> None:
    async def wait(turn: Turn) -> Outcome:
        del turn
        await asyncio.Event().wait()
        raise AssertionError

    async with successor() as on, killed(on, wait):
        live = await on.supervisor.adopt(await on.stored("t-0"))
        on.store.unread_journals = 2
        settled = live.settled()
        on.supervisor.run_again(live)
        for _ in range(2):
            await on.clock.until_asleep()
            on.clock.advance(STORE_POLL_SECONDS)
        await settled
        assert (await on.stored("t-0")).state is COMPLETED


async def test_a_task_that_is_canceled_before_it_can_be_read_is_not_run_and_frees_its_slot() -> (
    None
):
    runs: list[str] = []

    async def run(turn: Turn) -> Outcome:
        runs.append(turn.task_id)
        return Completed()

    on = await stage(run, running_turns=1, waiting_turns=0)
    live = await on.supervisor.adopt(await unfinished(on))
    on.store.unread_journals = 10
    on.supervisor.run_again(live)
    await on.clock.until_asleep()
    await on.supervisor.cancel(live)
    # For whom it was begun is read before the cleanup.
    await on.clock.until_asleep()
    on.store.unread_journals = 0
    on.clock.advance(STORE_POLL_SECONDS)
    await on.worker.cleaned_up.wait()
    on.supervisor.check()
    assert ((await on.stored("t-0")).state, runs) == (CANCELED, [])


async def test_one_that_has_ended_when_it_is_read_is_not_run_either() -> None:
    runs: list[str] = []

    async def run(turn: Turn) -> Outcome:
        runs.append(turn.task_id)
        return Completed()

    on = await stage(run, running_turns=1, waiting_turns=0)
    live = await on.supervisor.adopt(await unfinished(on))
    on.supervisor.run_again(live)
    live.execute(Cancel())
    assert live.turn is not None
    await live.turn
    on.supervisor.check()
    assert runs == []


async def test_one_that_another_replica_has_taken_over_is_not_run_and_frees_its_slot(
    caplog: pytest.LogCaptureFixture,
) -> None:
    on = await stage(running_turns=1, waiting_turns=0)
    live = await on.supervisor.adopt(await unfinished(on))
    live.note("step", "pay", b"1")
    on.supervisor.let_go(live)
    on.supervisor.run_again(live)
    assert live.turn is not None
    await live.turn
    on.supervisor.check()
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
