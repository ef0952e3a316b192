"""Chunks that may be the last of their artifact, and are held until that is known."""

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from dragoman.engine.commands import Ask, Cancel, Command, Finish, Say
from dragoman.engine.journal import Replay
from dragoman.errors import InvalidAgentResponseError, UnavailableError
from dragoman.model.events import StreamResponse
from dragoman.model.parts import Part
from dragoman.model.tasks import Artifact, TaskState
from dragoman.server.tasks.delivery import Delivery
from dragoman.server.tasks.slots import Slot, Slots
from dragoman.server.tasks.turn import LiveTurn
from tests.support.server.fakes import Live, agent_message, chunk, user_message
from tests.support.server.living import COMPLETED, DOWN, begun, pass_over

_HOLD_SECONDS = 0.05
_decode = msgspec.json.Decoder(StreamResponse).decode


def logged(live: Live) -> list[object]:
    """Return what was written after the beginning: chunks as text and mark, states by name."""
    found: list[object] = []
    for write in live.store.writes[1:]:
        for entry in map(_decode, write.entries):
            if entry.artifact_update is not None:
                update = entry.artifact_update
                found.append((update.artifact.parts[0].text, update.last_chunk))
            elif entry.status_update is not None:
                found.append(entry.status_update.status.state.name.lower())
    return found


async def commit(live: Live) -> None:
    """Let everything become durable."""
    for _ in range(5):
        await pass_over()
        while live.store.held:
            live.store.commit()


async def holding(*texts: str) -> Live:
    """Return a task whose turn has published chunks, the newest of which is held."""
    live = await begun()
    for n, text in enumerate(texts):
        live.task.hold(chunk(text, append=n > 0), _HOLD_SECONDS)
    await commit(live)
    return live


async def test_a_chunk_goes_when_the_next_one_comes() -> None:
    live = await holding("a", "b")
    assert logged(live) == [("a", False)]


async def test_the_chunk_before_the_end_is_the_last() -> None:
    live = await holding("a", "b")
    live.do(Finish(COMPLETED))
    await commit(live)
    assert logged(live) == [("a", False), ("b", True), "completed"]


@pytest.mark.parametrize(
    ("command", "state"),
    [
        (Finish(TaskState.FAILED), "failed"),
        (Cancel(), "canceled"),
        (Say(agent_message()), "working"),
        (Ask(agent_message(), is_auth=False), "input_required"),
    ],
)
async def test_anything_else_comes_after_it(command: Command, state: str) -> None:
    live = await holding("a")
    live.do(command)
    await commit(live)
    assert logged(live) == [("a", False), state]


async def test_a_result_is_recorded_after_it() -> None:
    live = await holding("a")
    live.task.note("step", "pay", b"1")
    await commit(live)
    assert logged(live) == [("a", False)]
    (entry,) = live.store.writes[-1].journal
    assert entry.seq == live.task.standing.seq


async def test_it_is_held_for_a_moment_only_and_the_end_adds_nothing_then() -> None:
    live = await holding("a")
    live.clock.advance(_HOLD_SECONDS / 2 - 0.001)
    await commit(live)
    assert logged(live) == []
    live.clock.advance(0.001)
    await commit(live)
    assert logged(live) == [("a", False)]
    live.do(Finish(COMPLETED))
    await commit(live)
    assert logged(live) == [("a", False), "completed"]


async def test_all_chunks_share_one_timer_and_each_is_held_for_its_own_time() -> None:
    live = await holding("a")
    for text in "bcd":
        live.clock.advance(0.04)
        await commit(live)
        live.task.hold(chunk(text, append=True), _HOLD_SECONDS)
        await commit(live)
        assert live.clock.sleepers == 1
    assert logged(live) == [("a", False), ("b", False), ("c", False)]
    live.clock.advance(0.01)
    await commit(live)
    assert logged(live)[3:] == []
    live.clock.advance(0.04)
    await commit(live)
    assert logged(live)[3:] == [("d", False)]
    live.task.hold(chunk("e", append=True), _HOLD_SECONDS)
    live.clock.advance(0)
    await commit(live)
    live.clock.advance(_HOLD_SECONDS)
    await commit(live)
    assert logged(live)[4:] == [("e", False)], "the timer is set again after a silence"


async def test_what_cannot_be_published_is_refused_at_once() -> None:
    live = await begun()
    with pytest.raises(InvalidAgentResponseError, match="no artifact"):
        live.task.hold(chunk("a", append=True), _HOLD_SECONDS)
    live.do(Cancel())


async def test_it_is_lost_with_a_write_that_is_lost() -> None:
    live = await holding("a", "b")
    live.do(Say(agent_message()))
    live.task.hold(chunk("c", append=True), _HOLD_SECONDS)
    await pass_over()
    live.store.commit(DOWN)
    with pytest.raises(UnavailableError):
        live.task.hold(chunk("d", append=True), _HOLD_SECONDS)
    live.task.failure = None
    live.task.release()
    assert live.task.backlog == 2, "the write that was lost, and not the chunk after it"


async def test_nothing_is_left_of_it_when_the_turn_is_over() -> None:
    live = await holding("a")
    live.task.hold_nothing()
    await commit(live)
    live.do(Finish(COMPLETED))
    await commit(live)
    assert logged(live) == ["completed"]
    assert [task for task in asyncio.all_tasks() if "_release_after" in repr(task)] == []


async def turn_on(live: Live, replay: Replay | None = None) -> LiveTurn:
    """Return a turn that holds chunks."""
    slot = live.task.slot = Slot(Slots(1, 1))
    await slot.taken()
    delivery = Delivery(message=user_message())
    return LiveTurn(live.task, delivery, slot, live.clock, replay, hold_seconds=_HOLD_SECONDS)


async def words(turn: LiveTurn, artifact_id: str, step: Callable[[], object]) -> None:
    """Stream two words, take a step, and stream two more."""
    for n, word in enumerate("abcd"):
        if n == 2:
            step()
        artifact = Artifact(artifact_id=artifact_id, parts=(Part(text=word),))
        await turn.artifact(artifact, append=n > 0, last_chunk=None)


@pytest.mark.parametrize("silence", [0.0, 1.0])
async def test_a_turn_that_is_run_again_gives_the_same_artifact(silence: float) -> None:
    live = await begun()
    turn = await turn_on(live)
    await words(turn, "first", lambda: turn.note("step", "pay", b"1"))
    live.clock.advance(silence)
    await commit(live)
    # The process ends here, with the newest chunk held or just gone.
    journal = [entry for write in live.store.writes for entry in write.journal]
    log = [entry for write in live.store.writes for entry in write.entries]
    live.task.hold_nothing()
    again = await turn_on(live, Replay("t-1", "c-1", journal, log))
    await words(again, "second", lambda: again.recall("step", "pay"))
    live.do(Finish(COMPLETED))
    await commit(live)
    (artifact,) = live.task.document().task().artifacts
    assert artifact == Artifact(artifact_id="first", parts=(Part(text="abcd"),))
    assert logged(live)[-2:] == [("d", True), "completed"]


async def test_artifacts_that_are_open_are_replaced_whole_unless_it_is_too_late() -> None:
    live = await begun()
    live.do(chunk("a"), chunk("b", append=True))
    live.task.replace_open_artifacts()
    live.task.replace_open_artifacts()
    await commit(live)
    assert logged(live) == [("a", False), ("b", False), ("ab", True)], "it is open no more"
    live.do(chunk("again"), Cancel())
    live.task.replace_open_artifacts()
    await commit(live)
    assert logged(live)[3:] == [("again", False), "canceled"]
