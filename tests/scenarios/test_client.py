"""Our own client against our own server: every operation, in every version, over every binding."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from dragoman import File, Part, RemoteAgent, TaskState
from dragoman.client.errors import TaskNotCompletedError, TimedOutError
from dragoman.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from dragoman.model.messages import Message, Role
from dragoman.model.operations import (
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.service.service import Call
from tests.scenarios.agents import Gate
from tests.scenarios.clients import WAYS, Way
from tests.support.serving import Served


@pytest.fixture(params=WAYS, ids=str)
def way(request: pytest.FixtureRequest) -> Way:
    return request.param


@pytest.fixture
async def agent(way: Way, served: Served) -> AsyncIterator[RemoteAgent]:
    async with way.connect(served.url) as agent:
        yield agent


# --- sending ------------------------------------------------------------------------------------


async def test_a_text_is_answered(agent: RemoteAgent, way: Way) -> None:
    reply = await agent.send("autumn", skill="echo")
    assert (reply.text, reply.state) == ("autumn", TaskState.COMPLETED)
    assert reply.task is not None
    assert reply.artifacts == reply.task.artifacts
    interface = agent.interface
    assert interface is not None
    assert (interface.protocol_version, interface.protocol_binding) == way


async def test_the_task_is_the_one_that_the_agent_has(agent: RemoteAgent) -> None:
    reply = await agent.send("autumn", skill="echo")
    read = await agent.task(reply.task_id).get()
    assert read.artifacts == reply.artifacts
    assert (read.task_id, read.state) == (reply.task_id, reply.state)


async def test_several_kinds_of_content_go_there_and_back(
    agent: RemoteAgent, tmp_path: Path
) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(b"\x00\x01\x02\xff")
    reply = await agent.send("look", picture, {"n": 1, "deep": [1, None]}, skill="mirror")
    assert reply.text == "look"
    assert reply.data == {"n": 1, "deep": [1, None]}
    (file,) = reply.files
    assert (file.name, file.media_type) == ("dot.png", "image/png")
    assert file.read() == b"\x00\x01\x02\xff"


async def test_files_are_given_and_saved(agent: RemoteAgent, tmp_path: Path) -> None:
    given = File(b"content", name="../note.txt", media_type="text/plain")
    reply = await agent.send(given, Part(url="https://files.example/x.png"), skill="mirror")
    first, second = reply.files
    assert first.save(tmp_path) == tmp_path / "note.txt"
    assert (tmp_path / "note.txt").read_bytes() == b"content"
    assert second.url == "https://files.example/x.png"


class Measure(msgspec.Struct):
    text: str
    length: int


@dataclass
class Count:
    upto: int


async def test_data_is_typed_on_both_ways(agent: RemoteAgent) -> None:
    assert (await agent.send("four", skill="data")).as_type(Measure) == Measure("four", 4)
    counted = await agent.send(Count(3), skill="count_to")
    assert counted.as_type(list[int]) == [1, 2, 3]


async def test_a_direct_answer_is_a_message(agent: RemoteAgent, way: Way) -> None:
    reply = await agent.send("hi", skill="reply")
    assert reply.text == "You said hi."
    # 0.x reference, 5.5: 0.1 has no answer without a task.
    assert (reply.task is None) is (way.version != "0.1")


async def test_metadata_goes_along(agent: RemoteAgent) -> None:
    reply = await agent.send("hi", skill="mirror", metadata={"k": [1, "two"]})
    assert reply.artifacts[0].metadata == {"k": [1, "two"], "skillId": "mirror"}


async def test_what_is_started_is_waited_for_later(agent: RemoteAgent, gate: Gate) -> None:
    reply = await agent.start(gate.name, skill="silence")
    await gate.reached()
    handle = agent.task(reply.task_id, reply.context_id)
    gate.open()
    done = await handle.wait(timeout_seconds=10)
    assert done.state is TaskState.COMPLETED


async def test_the_port_sends_and_waits(agent: RemoteAgent) -> None:
    message = Message(
        message_id=f"m-{id(agent)}", role=Role.USER, parts=(Part(text="hi"),), metadata=SKILL
    )
    answer = await agent.service.send_message(SendMessageRequest(message=message), Call())
    assert not isinstance(answer, Message)
    assert answer.task().status.state is TaskState.COMPLETED


SKILL: dict[str, object] = {"skillId": "echo"}


# --- conversations ------------------------------------------------------------------------------


async def test_a_question_is_answered(agent: RemoteAgent) -> None:
    asked = await agent.send("trip", skill="ask")
    assert (asked.needs_input, asked.text) == (True, "Which city?")
    with pytest.raises(TaskNotCompletedError, match=r"is input required: Which city\?"):
        asked.raise_for_state()
    done = await asked.answer("Rome")
    assert (done.text, done.task_id) == ("trip: Rome", asked.task_id)
    done.raise_for_state()


async def test_the_answer_to_a_question_is_followed(agent: RemoteAgent) -> None:
    asked = await agent.send("trip", skill="ask_twice")
    stream = asked.stream_answer("Rome")
    states = [event.state async for event in stream if event.state]
    assert states[-1] is TaskState.INPUT_REQUIRED
    assert stream.reply.text == "Two?"
    assert stream.task_id == asked.task_id


async def test_what_follows_a_finished_task_is_a_new_one_in_its_context(
    agent: RemoteAgent,
) -> None:
    first = await agent.send("one", skill="recollect")
    second = await first.answer("two", skill="recollect")
    assert second.text == "one, two"
    assert second.task_id != first.task_id


async def test_a_conversation_remembers_its_context(agent: RemoteAgent) -> None:
    conversation = agent.conversation()
    assert (await conversation.send("one", skill="recollect")).text == "one"
    assert (await conversation.send("two", skill="recollect")).text == "one, two"


# --- following ----------------------------------------------------------------------------------


async def test_events_come_as_they_happen(agent: RemoteAgent, gate: Gate) -> None:
    stream = agent.stream(gate.name, skill="chunks")
    words: list[str] = []
    kinds: list[str] = []
    async for event in stream:
        kinds.append(event.kind)
        if event.state is TaskState.WORKING:
            gate.open(3)
        if event.kind == "artifact":
            words.append(event.text)
    assert kinds[0] == "task"
    assert "".join(words) == "one two three"
    assert stream.reply.text == "one two three"
    assert stream.reply.state is TaskState.COMPLETED


async def test_every_event_is_numbered_by_1_0(agent: RemoteAgent, way: Way) -> None:
    numbers = [event.seq async for event in agent.stream("hi", skill="echo")]
    assert numbers == ([1, 2, 3, 4] if way.is_new else [0] * len(numbers))


async def test_progress_is_told_while_it_is_waited_for(agent: RemoteAgent, gate: Gate) -> None:
    seen: list[str] = []

    async def note(event: object) -> None:
        seen.append(str(event))
        gate.open()

    reply = await agent.send(gate.name, skill="hold", on_event=note)
    assert "[working] holding" in seen
    assert reply.text == "held"


async def test_a_task_of_somebody_else_is_followed(
    agent: RemoteAgent, way: Way, served: Served, gate: Gate
) -> None:
    begun = await agent.start(gate.name, skill="steps")
    await gate.reached()
    async with way.connect(served.url) as other:
        stream = other.task(begun.task_id).stream()
        texts: list[str] = []
        async for event in stream:
            gate.open(2)
            texts.append(event.text)
    assert stream.reply.state is TaskState.COMPLETED
    assert [artifact.parts[-1].text for artifact in stream.reply.artifacts] == [
        "line 3",
        "the end",
    ]
    assert "last" in texts


async def test_a_task_that_has_ended_is_shown_to_those_who_follow_it(agent: RemoteAgent) -> None:
    done = await agent.send("hi", skill="echo")
    stream = agent.task(done.task_id).stream()
    assert [event.state async for event in stream if event.state][-1] is TaskState.COMPLETED
    assert stream.reply.text == "hi"


# Older versions know no cursors.
@pytest.mark.parametrize("way", [way for way in WAYS if way.is_new], ids=str, indirect=True)
async def test_a_stream_goes_on_after_the_event_that_is_named(agent: RemoteAgent) -> None:
    done = await agent.send("hi", skill="echo")
    events = [event async for event in agent.task(done.task_id).stream(after=2)]
    assert [(event.seq, event.kind) for event in events] == [
        (2, "task"),
        (3, "artifact"),
        (4, "status"),
    ]


async def test_leaving_a_stream_leaves_the_task_alone(agent: RemoteAgent, gate: Gate) -> None:
    async with agent.stream(gate.name, skill="silence") as stream:
        async for event in stream:
            if event.state is TaskState.WORKING:
                break
    gate.open()
    done = await agent.task(stream.task_id).wait(timeout_seconds=10)
    assert done.state is TaskState.COMPLETED


async def test_waiting_has_an_end(agent: RemoteAgent, gate: Gate) -> None:
    with pytest.raises(TimedOutError, match="which goes on"):
        await agent.send(gate.name, skill="silence", timeout_seconds=0.3)
    gate.open()


async def test_who_waits_can_be_canceled(agent: RemoteAgent, gate: Gate) -> None:
    waiting = asyncio.ensure_future(agent.send(gate.name, skill="silence"))
    await gate.reached()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    gate.open()


# --- the other operations -----------------------------------------------------------------------


async def test_a_task_is_canceled(agent: RemoteAgent) -> None:
    asked = await agent.send("trip", skill="ask")
    assert (await agent.cancel(asked.task_id)).state is TaskState.CANCELED
    with pytest.raises(TaskNotCancelableError):
        await agent.task(asked.task_id).cancel()


async def test_tasks_are_listed(agent: RemoteAgent, way: Way, context: str) -> None:
    made = [(await agent.send(text, skill="echo", context_id=context)).text for text in "abc"]
    listing = agent.tasks(context_id=context, include_artifacts=True)
    if way.version == "0.1":
        with pytest.raises(UnsupportedOperationError, match=r"0\.1 has no ListTasks"):
            await anext(listing)
        return
    assert sorted([reply.text async for reply in listing]) == made


async def test_history_is_cut_to_what_was_asked_for(agent: RemoteAgent) -> None:
    asked = await agent.send("trip", skill="ask")
    await asked.answer("Rome")
    for length, count in ((0, 0), (1, 1)):
        request = GetTaskRequest(id=asked.task_id, history_length=length)
        document = await agent.service.get_task(request, Call())
        assert len(document.task().history) == count


# --- refusals -----------------------------------------------------------------------------------


async def test_a_task_that_is_not_there(agent: RemoteAgent) -> None:
    with pytest.raises(TaskNotFoundError):
        await agent.task("nobody").get()
    with pytest.raises(TaskNotFoundError):
        await agent.cancel("nobody")
    with pytest.raises(TaskNotFoundError):
        await agent.task("nobody").wait()


async def test_a_message_that_is_refused(agent: RemoteAgent) -> None:
    with pytest.raises(InvalidParamsError):
        await agent.send("hi", skill="no such skill")
    with pytest.raises(InvalidParamsError):
        await agent.start("hi", skill="no such skill")


async def test_content_that_the_agent_does_not_take(agent: RemoteAgent) -> None:
    with pytest.raises(ContentTypeNotSupportedError):
        await agent.send(Part(raw=b"x", media_type="video/mp4"), skill="echo")


async def test_what_has_ended_takes_no_message(agent: RemoteAgent) -> None:
    done = await agent.send("hi", skill="echo")
    with pytest.raises(UnsupportedOperationError):
        await agent.task(done.task_id).send("more", skill="echo")


async def test_the_port_refuses_to_follow_what_has_ended(agent: RemoteAgent, way: Way) -> None:
    done = await agent.send("hi", skill="echo")
    request = SubscribeToTaskRequest(id=done.task_id)
    if way.is_new:
        with pytest.raises(UnsupportedOperationError):
            await agent.service.subscribe_to_task(request, Call())
        return
    stream = await agent.service.subscribe_to_task(request, Call())
    assert [batch async for batch in stream]
    await stream.aclose()


async def test_what_the_card_does_not_offer_is_not_asked_for(agent: RemoteAgent) -> None:
    request = ListTaskPushNotificationConfigsRequest(task_id="t")
    with pytest.raises(PushNotificationNotSupportedError):
        await agent.service.list_task_push_notification_configs(request, Call())
    with pytest.raises(UnsupportedOperationError, match="no extended card"):
        await agent.extended_card()


@pytest.mark.parametrize(
    ("skill", "state"), [("reject", TaskState.REJECTED), ("fail", TaskState.FAILED)]
)
async def test_a_task_that_ends_otherwise_is_no_error_of_the_call(
    agent: RemoteAgent, skill: str, state: TaskState
) -> None:
    reply = await agent.send("trip", skill=skill)
    assert reply.state is state
    with pytest.raises(TaskNotCompletedError) as caught:
        reply.raise_for_state()
    assert (caught.value.state, caught.value.task_id) == (state, reply.task_id)


async def test_many_talk_at_once(agent: RemoteAgent) -> None:
    texts = [str(number) for number in range(30)]
    replies = await asyncio.gather(*(agent.send(text, skill="echo") for text in texts))
    assert [reply.text for reply in replies] == texts
