"""The same message sent twice at once: while the one looks for its task, the other has found it."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from dragoman.model.messages import text_of
from dragoman.server.tasks.secrets import PLACEHOLDER
from dragoman.service.branches import branch
from dragoman.service.service import Call
from dragoman.service.worker import Completed, Outcome, Turn
from tests.scenarios.replicas.holding import hold, settle
from tests.scenarios.replicas.replicas import Member, Replicas
from tests.scenarios.replicas.telling import told
from tests.scenarios.replicas.test_secrets import SECRET, keeper
from tests.support.server.agency import Held, send
from tests.support.server.fakes import SCOPE, agent_message

pytestmark = pytest.mark.anyio


class Asking:
    """A turn that asks; any other has nothing to do."""

    def __init__(self) -> None:
        self.turns: list[str] = []

    async def run(self, turn: Turn) -> Outcome:
        """Ask in the first turn."""
        self.turns.append(text_of(turn.message.parts))
        if self.turns[-1] == "hello":
            await turn.ask(agent_message("which?"))
        return Completed()


class AskingBeside(Asking):
    """One that has something recorded beside its question when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.recording = asyncio.Event()

    async def run(self, turn: Turn) -> Outcome:
        """Ask in the first turn."""
        beside = asyncio.ensure_future(self._record(turn))
        try:
            return await super().run(turn)
        finally:
            beside.cancel()

    async def _record(self, turn: Turn) -> None:
        branch.set("beside")
        await self.recording.wait()
        await turn.record("step", "beside", b"1")


async def until_put_aside(replicas: Replicas, member: Member, task_id: str) -> None:
    async def is_free() -> bool:
        stored = await member.store.load(SCOPE, task_id)
        return stored is not None and stored.holder == ""

    await replicas.until(is_free)


async def test_an_answer_to_a_task_that_was_put_aside_counts_once(replicas: Replicas) -> None:
    script = Asking()
    a = await replicas.start(script.run)
    task = await a.send(send())
    await until_put_aside(replicas, a, task.id)
    blue = send("blue", message_id="m-2", task_id=task.id)
    await replicas.wait_for(asyncio.gather(a.send(blue), a.send(blue)))
    assert told(await a.get(task.id)).count("blue") == 1
    assert "blue" not in script.turns


async def test_a_secret_answer_counts_once_and_stays_secret(
    replicas: Replicas, tmp_path: Path
) -> None:
    a = await replicas.serve(keeper(), secrets_key=str(tmp_path / "common.key"))
    task = await a.send(send())
    await until_put_aside(replicas, a, task.id)
    answer = send(SECRET, message_id="m-2", task_id=task.id)
    both = await replicas.wait_for(asyncio.gather(a.send(answer), a.send(answer)))
    for asked in both:
        assert told(asked)[-2:] == [PLACEHOLDER, "Go on?"]
    assert SECRET.encode() not in b"".join(await a.store.read_entries(task.id, until=99))


async def test_a_secret_answer_is_known_again_under_a_name_of_its_task(
    replicas: Replicas, tmp_path: Path
) -> None:
    a = await replicas.serve(keeper(), secrets_key=str(tmp_path / "common.key"))
    named = Call(alias="mine")
    task = await a.send(send(), named)
    answer = send(SECRET, message_id="m-2")
    first = await replicas.wait_for(a.send(answer, named))
    assert told(first)[-2:] == [PLACEHOLDER, "Go on?"]
    assert told(await replicas.wait_for(a.send(answer, named))) == told(first)
    assert SECRET.encode() not in b"".join(await a.store.read_entries(task.id, until=99))


async def test_an_answer_while_the_lease_is_in_doubt_counts_once(
    in_hand: Replicas, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = AskingBeside()
    a = await in_hand.start(script.run)
    task = await a.send(send())
    a.stand_still()
    await in_hand.pass_leases(2)  # There is nobody to take it over.
    store = hold(a)
    lost = store.lost

    async def lost_in_a_moment(epochs: Mapping[str, int]) -> tuple[str, ...]:
        await asyncio.sleep(0)
        return await lost(epochs)

    monkeypatch.setattr(store, "lost", lost_in_a_moment)
    store.writing.close()
    script.recording.set()
    await store.writing.until_reached()
    blue = send("blue", message_id="m-2", task_id=task.id)
    both = [asyncio.ensure_future(a.send(blue)) for _ in range(2)]
    await settle()
    store.let_writes_go()
    a.go_on()
    await in_hand.wait_for(asyncio.gather(*both))
    await in_hand.pass_leases(2)
    assert told(await a.get(task.id)).count("blue") == 1
    assert "blue" not in script.turns


async def test_a_first_message_that_another_replica_has_got_as_well_has_one_task(
    in_hand: Replicas,
) -> None:
    held = Held()
    a, b = await in_hand.start(held.run), await in_hand.start(held.run)
    hello = send(return_immediately=True)
    hold(a).writing.close()
    sends = [asyncio.ensure_future(a.send(hello))]
    await hold(a).writing.until_reached()
    hold(a).read.close()
    sends.append(asyncio.ensure_future(a.send(hello)))
    await hold(a).read.until_reached()
    begun = await b.send(hello)
    hold(a).let_writes_go()
    await settle()
    hold(a).read.open()
    assert [task.id for task in await in_hand.wait_for(asyncio.gather(*sends))] == [begun.id] * 2
