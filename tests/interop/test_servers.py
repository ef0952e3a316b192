"""Our client against servers of every generation, made with other people's implementations.

They all give the play of ``peers/play.py``. What one of them does otherwise stands in
``peculiarities.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Final

import pytest

from dragoman import AgentReply, File, RemoteAgent, TaskState, connect_sync
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.errors import CutError
from dragoman.client.results.stream import AgentEvent
from dragoman.errors import InternalError, TaskNotFoundError, UnsupportedOperationError
from tests.interop.lines import LINES, Line
from tests.interop.peculiarities import (
    ANSWERS_MAKE_TASKS,
    CUTS_OFF_INSTEAD_OF_REFUSING,
    FAILS_TO_REFUSE_STREAMS,
    HAS_PATHS_WITHOUT_LISTS,
    HISTORY_ONLY_BY_NUMBER,
    NO_DIRECT_ANSWERS,
    NO_FILE_NAMES,
    NO_LIST,
    NO_NULL,
)

pytestmark = [
    pytest.mark.interop,
    # The first test of a peer may have to install it.
    pytest.mark.timeout(600),
]

EVERY_BYTE: Final = bytes(range(256))
DATA: Final = {"city": "Zürich", "seats": 3, "deep": {"list": [1, 2.5, "three", True, None]}}
"""What the play draws."""

UNICODE: Final = "echo grüße \N{PARTY POPPER} \u2028 \u0000 \N{BYTE ORDER MARK}\u202e end"


@pytest.fixture(params=LINES, ids=str)
def line(request: pytest.FixtureRequest) -> Line:
    return request.param


@pytest.fixture
def url(line: Line, server_of: Callable[[str], str]) -> str:
    return server_of(line.peer)


@pytest.fixture
async def agent(line: Line, url: str) -> AsyncIterator[RemoteAgent]:
    async with line.connect(url) as agent:
        yield agent


def told(event: AgentEvent) -> tuple[str, str, str]:
    return event.kind, event.state.name if event.state else "", event.text


# --- who is there -------------------------------------------------------------------------------


async def test_the_card_is_read_and_the_version_found(agent: RemoteAgent, line: Line) -> None:
    assert (agent.card.name, agent.card.version) == ("Peer", "4.5.6")
    assert [skill.name for skill in agent.card.skills] == ["Play"]
    assert agent.card.capabilities.streaming is True
    await agent.send("echo hello")
    interface = agent.interface
    assert interface is not None
    assert (interface.protocol_version, interface.protocol_binding) == line[1:]


async def test_the_version_may_be_named(line: Line, url: str) -> None:
    async with line.connect(url, version=line.version) as agent:
        assert (await agent.send("echo hello")).text == "echo hello"


# --- sending ------------------------------------------------------------------------------------


async def test_texts_go_both_ways_unharmed(agent: RemoteAgent) -> None:
    reply = await agent.send(UNICODE)
    assert (reply.text, reply.state) == (UNICODE, TaskState.COMPLETED)


async def test_files_go_both_ways_unharmed(agent: RemoteAgent, line: Line) -> None:
    sent = File(EVERY_BYTE, name="bild ü.png", media_type="image/png")
    for reply, name in (
        (await agent.send("echo", sent), "bild ü.png"),
        (await drawn(agent, line), "grün.png"),
    ):
        if reply is None:
            continue
        (file,) = reply.files
        assert file.read() == EVERY_BYTE
        assert file.media_type == "image/png"
        assert file.name == ("" if line in NO_FILE_NAMES else name)


# Only the protobuf of 0.3 leaves open what its bytes are.
@pytest.mark.parametrize(
    "line",
    [line for line in LINES if line.version == "0.3" and line.binding != "JSONRPC"],
    ids=str,
)
async def test_an_agent_gets_the_content_of_a_file_and_no_base64_of_it(
    agent: RemoteAgent, line: Line, url: str
) -> None:
    sent = await agent.send("echo", File(EVERY_BYTE, media_type="image/png"))
    # Over JSON-RPC there is one way to read it: so the agent has it.
    async with line._replace(binding="JSONRPC").connect(url) as other:
        [file] = (await other.task(sent.task_id).get()).files
    assert file.read() == EVERY_BYTE


async def test_data_goes_both_ways_unharmed(agent: RemoteAgent, line: Line) -> None:
    reply = await agent.send("echo", DATA)
    if line in NO_NULL:
        assert reply.data == DATA | {"deep": {"list": [1, 2.5, "three", True, 0]}}
    else:
        assert reply.data == DATA
    picture = await drawn(agent, line)
    assert picture is None or picture.data == DATA


async def drawn(agent: RemoteAgent, line: Line) -> AgentReply | None:
    """Return the answer with a file and data, None where it cannot be given."""
    if line in NO_NULL:
        with pytest.raises(InternalError, match="serializing"):
            await agent.send("draw")
        return None
    return await agent.send("draw")


async def test_a_stream_tells_everything_in_order(agent: RemoteAgent) -> None:
    stream = agent.stream("spell to be or not")
    events = [event async for event in stream]
    assert [told(event) for event in events] == [
        ("task", "SUBMITTED", ""),
        ("status", "WORKING", "Spelling."),
        ("artifact", "", "to "),
        ("artifact", "", "be "),
        ("artifact", "", "or "),
        ("artifact", "", "not "),
        ("status", "COMPLETED", ""),
    ]
    chunks = [event.value.artifact_update for event in events if event.kind == "artifact"]
    assert [chunk.append for chunk in chunks if chunk] == [False, True, True, True]
    assert [chunk.last_chunk for chunk in chunks if chunk] == [False, False, False, True]
    assert stream.reply.text == "to be or not "
    assert len(stream.reply.artifacts) == 1


async def test_a_direct_answer_is_a_message(agent: RemoteAgent, line: Line) -> None:
    reply = await agent.send("greet Ada")
    assert reply.text == "Hello, Ada!"
    assert (reply.task is None) is (line not in NO_DIRECT_ANSWERS)


async def test_a_question_is_answered_in_the_same_task(agent: RemoteAgent, line: Line) -> None:
    asked = await agent.send("ask")
    assert (asked.state, asked.text) == (TaskState.INPUT_REQUIRED, "Which city?")
    done = await asked.answer("Rome")
    assert (done.text, done.state) == ("To Rome.", TaskState.COMPLETED)
    assert done.context_id == asked.context_id
    assert (done.task_id == asked.task_id) is (line not in ANSWERS_MAKE_TASKS)


async def test_a_task_that_fails_is_no_error_of_the_call(agent: RemoteAgent) -> None:
    failed = await agent.send("fail")
    assert (failed.state, failed.text) == (TaskState.FAILED, "No luck.")
    read = await agent.task(failed.task_id).get()
    assert (read.state, read.text) == (TaskState.FAILED, "No luck.")


# --- reading ------------------------------------------------------------------------------------


async def test_a_task_is_read_with_as_much_history_as_is_wanted(
    agent: RemoteAgent, line: Line
) -> None:
    sent = await agent.send("echo hello")
    read = await agent.task(sent.task_id).get()
    assert (read.text, read.state) == ("echo hello", TaskState.COMPLETED)
    assert (read.task_id, read.context_id) == (sent.task_id, sent.context_id)
    assert said(read) == ([] if line in HISTORY_ONLY_BY_NUMBER else ["echo hello"])
    assert said(await agent.task(sent.task_id).get(history_length=5)) == ["echo hello"]
    assert said(await agent.task(sent.task_id).get(history_length=0)) == []


def said(reply: AgentReply) -> list[str | None]:
    assert reply.task is not None
    return [message.parts[0].text for message in reply.task.history]


async def test_the_tasks_of_a_context_are_listed(agent: RemoteAgent, line: Line) -> None:
    first = await agent.send("echo one")
    await agent.send("echo two", context_id=first.context_id)
    tasks = agent.tasks(context_id=first.context_id, include_artifacts=True)
    if line in HAS_PATHS_WITHOUT_LISTS:
        with pytest.raises(InternalError):
            await anext(tasks)
    elif line in NO_LIST or not line.is_new:
        with pytest.raises(UnsupportedOperationError):
            await anext(tasks)
    else:
        assert [reply.text async for reply in tasks] == ["echo two", "echo one"]


# --- refusals -----------------------------------------------------------------------------------


async def test_a_task_that_is_not_there_is_told_so(agent: RemoteAgent) -> None:
    with pytest.raises(TaskNotFoundError):
        await agent.task("no-such-task").get()
    with pytest.raises(TaskNotFoundError):
        await agent.cancel("no-such-task")


async def test_a_message_to_a_task_that_is_not_there_is_refused(
    agent: RemoteAgent, line: Line
) -> None:
    if line in ANSWERS_MAKE_TASKS:
        assert (await agent.send("echo hello", task_id="no-such-task")).text == "echo hello"
        return
    kind: type[Exception] = TaskNotFoundError
    if line in CUTS_OFF_INSTEAD_OF_REFUSING:
        kind = CutError
    elif line in FAILS_TO_REFUSE_STREAMS:
        kind = InternalError
    with pytest.raises(kind):
        await agent.send("echo hello", task_id="no-such-task")


# --- without asyncio ----------------------------------------------------------------------------


@pytest.mark.parametrize("peer", ["py_1_3", "py_0_3"])
def test_the_blocking_twin_talks_to_them_as_well(
    peer: str, server_of: Callable[[str], str]
) -> None:
    with connect_sync(server_of(peer), cards=CardCache()) as agent:
        assert agent.send("echo hello").text == "echo hello"
        words = [event.text for event in agent.stream("spell a b") if event.kind == "artifact"]
        assert words == ["a ", "b "]
        assert agent.send("ask").answer("Rome").text == "To Rome."
