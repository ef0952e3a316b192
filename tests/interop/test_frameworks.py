"""Frameworks that speak A2A, live: their clients against our server, our client against theirs.

What a framework does is played by ``peers/call_*`` and ``peers/serve_*``, with scripted models.
What one of them cannot do, or does in a way of its own, stands in ``frameworks.py``, and for
readers in ``docs/explanation/frameworks.md``. What was said on the wire is kept in
``tests/vectors/frameworks`` and replayed by ``tests/scenarios/test_recorded_frameworks.py``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from dragoman import RemoteAgent, TaskState, connect
from dragoman.client.discovery.card_cache import CardCache
from tests.cli.calling import Cli
from tests.interop.frameworks import CALLERS, SERVERS, Caller, Server
from tests.interop.playing import Saw
from tests.support.serving import AgentProcess

pytestmark = [
    pytest.mark.interop,
    # Their environments are large; ``make test`` has what they said on the wire.
    pytest.mark.slow,
    # The first test of a framework may have to install it.
    pytest.mark.timeout(600),
]

AGENT: Final = Path(__file__).with_name("framework_agent.py")


# --- their clients ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with AgentProcess(AGENT, "--store", "memory:") as process:
        yield process.url


@pytest.fixture
def saw(request: pytest.FixtureRequest, play: Callable[..., Saw], url: str) -> Saw:
    caller: Caller = request.param
    return play(caller.peer, url, caller.binding, program=f"call_{caller.peer}")


def each_caller(scenario: str) -> pytest.MarkDecorator:
    """Run a test with what each client saw."""
    return pytest.mark.parametrize(
        ("saw", "caller"),
        [
            pytest.param(caller, caller, id=str(caller))
            for caller in CALLERS
            if scenario not in caller.lacks
        ],
        indirect=["saw"],
    )


@each_caller("plain")
def test_an_answer_arrives(saw: Saw, caller: Caller) -> None:
    assert saw("plain")["answer"] == caller.plain


@each_caller("streamed")
def test_a_streamed_answer_arrives_whole(saw: Saw, caller: Caller) -> None:
    assert saw("streamed")["answer"] == caller.streamed


@each_caller("pieces")
def test_a_streamed_answer_arrives_piece_by_piece(saw: Saw, caller: Caller) -> None:
    assert saw("streamed")["pieces"] == caller.pieces


@each_caller("asked")
def test_a_question_is_asked_and_answered(saw: Saw, caller: Caller) -> None:
    told = saw("asked")
    assert told["question"].strip() == "Which day?"
    assert told["answer"] == "Booked Rome on Monday."


# --- their servers ------------------------------------------------------------------------------


@pytest.fixture
async def agent(
    request: pytest.FixtureRequest, server_of: Callable[[str], str]
) -> AsyncIterator[RemoteAgent]:
    server: Server = request.param
    async with connect(server_of(server.peer), cards=CardCache()) as agent:
        yield agent


def each_server(scenario: str) -> pytest.MarkDecorator:
    """Run a test with each server."""
    return pytest.mark.parametrize(
        ("agent", "server"),
        [
            pytest.param(server, server, id=server.peer)
            for server in SERVERS
            if scenario not in server.lacks
        ],
        indirect=["agent"],
    )


@each_server("send")
async def test_a_message_is_answered(agent: RemoteAgent, server: Server) -> None:
    reply = await agent.send(server.shout)
    assert reply.text.strip() == "HELLO"
    assert reply.task is None or reply.state is TaskState.COMPLETED


@each_server("stream")
async def test_a_stream_is_followed_to_its_end(agent: RemoteAgent, server: Server) -> None:
    async with agent.stream(server.spell) as stream:
        events = [event async for event in stream]
    assert stream.reply.text.strip() == server.streamed
    assert [event.text for event in events if event.kind == "artifact"] == server.chunks


@each_server("context")
async def test_a_conversation_goes_on(agent: RemoteAgent, server: Server) -> None:
    first = await agent.send(server.shout)
    second = await agent.send("recall", context_id=first.context_id)
    assert second.text.strip() == server.shout


@each_server("ask")
async def test_an_answer_is_understood(agent: RemoteAgent, server: Server) -> None:
    asked = await agent.send("ask")
    assert (asked.state, asked.text) == (TaskState.INPUT_REQUIRED, server.question)
    done = await asked.answer("Rome")
    assert (done.state, done.text.strip()) == (TaskState.COMPLETED, "To Rome.")
    assert done.task_id == asked.task_id


@each_server("get")
async def test_a_task_is_read(agent: RemoteAgent, server: Server) -> None:
    sent = await agent.send(server.shout)
    read = await agent.task(sent.task_id).get()
    assert (read.state, read.text.strip()) == (TaskState.COMPLETED, "HELLO")


@each_server("cancel")
async def test_a_task_is_canceled(agent: RemoteAgent, server: Server) -> None:
    async with agent.stream("hold on") as stream:
        async for event in stream:
            if event.state is TaskState.WORKING or event.kind == "artifact":
                break
        told = await agent.cancel(stream.reply.task_id)
    assert told.state is TaskState.CANCELED


@pytest.mark.parametrize(
    "server",
    [pytest.param(server, id=server.peer) for server in SERVERS],
)
def test_the_command_line_prints_the_answer(
    server: Server, server_of: Callable[[str], str], tmp_path: Path
) -> None:
    told = Cli(tmp_path).to(server_of(server.peer))("send", server.shout)
    assert told.code == 0, told.err
    assert "HELLO" in told.out
