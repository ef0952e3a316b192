import asyncio
from pathlib import Path
from typing import Any

import pytest

from dragoman import A2AError, Agent, TaskState, UsageError
from dragoman.model.base import JsonObject
from dragoman.testing.clock import FakeClock
from dragoman.testing.pairing import pair, pair_sync
from dragoman.testing.wire import Wire
from tests.support.testing.house import Gate, tea_house

BREW: JsonObject = {"skillId": "brew"}
SLOW: JsonObject = {"skillId": "slow"}

PAIRINGS = [
    ("1.0", "JSONRPC"),
    ("1.0", "HTTP+JSON"),
    ("0.3", "JSONRPC"),
    ("0.3", "HTTP+JSON"),
    ("0.2", "JSONRPC"),
    ("0.1", "JSONRPC"),
]


@pytest.mark.parametrize(("version", "binding"), PAIRINGS)
async def test_a_conversation_goes_over_every_version_and_binding(
    version: str, binding: str
) -> None:
    async with pair(tea_house(), version=version, binding=binding) as client:
        question = await client.send("mint", metadata=BREW)
        assert (question.needs_input, question.text) == (True, "How many spoons?")
        reply = await question.answer("2")
        assert (reply.state, reply.text) == (TaskState.COMPLETED, "mint, 2 spoons")
        assert client.interface is not None
        assert client.interface.protocol_version == version
        assert client.interface.protocol_binding == binding


async def test_what_is_sent_is_what_the_version_has() -> None:
    wire = Wire()
    async with pair(tea_house(), version="0.3", binding="JSONRPC", record=wire) as client:
        await client.send("mint")
    wire.assert_sent({"method": "message/stream", "params": {"message": {"kind": "message"}}})
    wire.assert_received({"result": {"kind": "status-update", "final": True}})


async def test_a_stream_is_read_while_the_work_goes_on() -> None:
    gate = Gate()
    wire = Wire()
    async with pair(tea_house(gate), record=wire) as client:
        texts: list[str] = []
        async with client.stream("mint", metadata=SLOW) as stream:
            async for event in stream:
                if event.text:
                    texts.append(event.text)
                    # It cannot go on before the first of its texts was read here.
                    gate.open.set()
        assert texts[0] == "mint one"
        assert stream.reply.text == "mint one two"
    assert len(wire.frames()) >= 4


async def test_whoever_leaves_a_stream_leaves_the_work_alone() -> None:
    gate = Gate()
    async with pair(tea_house(gate)) as client:
        async with client.stream("mint", metadata=SLOW) as stream:
            async for _ in stream:
                break
        await gate.reached.wait()
        gate.open.set()
        assert (await client.task(stream.task_id).wait()).text == "mint one two"


async def test_an_agent_that_does_not_stream_is_asked_again() -> None:
    async with pair(tea_house(streaming=False)) as client:
        assert (await client.send("mint")).text == "mint"


async def test_a_refusal_is_raised() -> None:
    async with pair(tea_house()) as client:
        with pytest.raises(A2AError, match="names no skill"):
            await client.send("mint", metadata={"skillId": "juggle"})


async def test_work_that_fails_is_a_task_that_has_failed() -> None:
    async with pair(tea_house()) as client:
        reply = await client.send("mint", metadata={"skillId": "broken"})
    assert reply.state is TaskState.FAILED
    assert "kettle" not in reply.text


async def test_calls_may_be_made_at_once() -> None:
    async with pair(tea_house()) as client, asyncio.TaskGroup() as group:
        sends = [group.create_task(client.send(f"cup {number}")) for number in range(20)]
    assert [send.result().text for send in sends] == [f"cup {number}" for number in range(20)]


async def test_tasks_are_kept_where_the_test_says(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/tea.db"
    async with pair(tea_house(), store=store) as client:
        task_id = (await client.send("mint")).task_id
    async with pair(tea_house(), store=store) as client:
        assert (await client.task(task_id).get()).text == "mint"


async def test_pairs_do_not_know_each_other() -> None:
    async with pair(tea_house()) as one, pair(other_house()) as other:
        assert (one.card.name, other.card.name) == ("Tea house", "Other house")
        task_id = (await one.send("mint")).task_id
        with pytest.raises(A2AError):
            await other.task(task_id).get()


def other_house() -> Agent:
    agent = Agent("Other house", "Brews coffee.")

    @agent.skill
    async def brew(order: str) -> str:
        return order

    assert brew
    return agent


async def test_times_are_those_of_the_clock() -> None:
    clock = FakeClock(0)
    async with pair(tea_house(), clock=clock) as client:
        question = await client.send("mint", metadata=BREW)
        clock.advance(3600)
        reply = await question.answer("2")
    assert question.task is not None
    assert reply.task is not None
    assert question.task.status.timestamp == "1970-01-01T00:00:00.000Z"
    assert reply.task.status.timestamp == "1970-01-01T01:00:00.000Z"


async def test_a_repeated_message_is_forgotten_when_the_clock_says_so() -> None:
    clock = FakeClock()
    async with pair(tea_house(), clock=clock, idempotency_seconds=60) as client:
        first = await client.send("mint", message_id="m-1")
        again = await client.send("mint", message_id="m-1")
        assert again.task_id == first.task_id
        clock.advance(61)
        assert (await client.send("mint", message_id="m-1")).task_id != first.task_id


async def test_settings_are_those_of_the_server() -> None:
    async with pair(tea_house(), max_parts=1) as client:
        with pytest.raises(A2AError, match="parts"):
            await client.send("one", "two")


async def test_work_that_has_not_ended_is_cut_off() -> None:
    gate = Gate()
    async with pair(tea_house(gate)) as client:
        await client.start("mint", metadata=SLOW)
        await gate.reached.wait()
    assert gate.is_left


async def test_nothing_is_left_running() -> None:
    before = asyncio.all_tasks()
    gate = Gate()
    async with pair(tea_house(gate)) as client:
        stream = client.stream("mint", metadata=SLOW)
        await anext(aiter(stream))
    await stream.aclose()
    assert asyncio.all_tasks() == before


async def test_an_agent_that_does_not_start_tells_why() -> None:
    agent = tea_house()

    @agent.on_startup
    async def fail() -> None:
        raise LookupError("no water")

    with pytest.raises(LookupError, match="no water"):
        async with pair(agent):
            pass
    assert fail


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"binding": "GRPC"}, r"gRPC needs a socket.*served\(agent\)"),
        ({"binding": "carrier pigeon"}, "no binding 'carrier pigeon'"),
        ({"version": "0.1", "binding": "HTTP+JSON"}, "does not speak A2A 0.1 over HTTP"),
        ({"version": "x"}, "'x' is no version"),
        ({"verison": "0.3"}, "no setting called 'verison'"),
    ],
)
async def test_what_there_is_not_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        async with pair(tea_house(), **options):
            pass


def test_a_test_without_a_loop_has_a_pair_too() -> None:
    wire = Wire()
    with pair_sync(tea_house(), record=wire) as client:
        reply = client.send("mint", metadata=BREW).answer("2")
        assert reply.text == "mint, 2 spoons"
        states = [event.state for event in client.stream("green") if event.state]
    assert states[-1] is TaskState.COMPLETED
    wire.assert_sent({"params": {"message": {"parts": [{"text": "green"}]}}})


def test_a_test_without_a_loop_moves_the_clock_too() -> None:
    clock = FakeClock(0)
    with pair_sync(tea_house(), clock=clock) as client:
        clock.advance(60)
        reply = client.send("mint")
    assert reply.task is not None
    assert reply.task.status.timestamp == "1970-01-01T00:01:00.000Z"
