"""The blocking twin does what the other does: shown by one call of each."""

from collections.abc import Iterator

import httpx2
import pytest

from dragoman import TaskState, connect_sync
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.errors import CardNotFoundError
from dragoman.client.results.stream import AgentEvent
from dragoman.client.sync import SyncAgent
from dragoman.errors import UnsupportedOperationError
from tests.support.client.fakes import Web, card
from tests.unit.client.test_connect import TASK, interface, served

ASKED = {
    "id": "t",
    "contextId": "c",
    "status": {
        "state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "Which?"}]},
    },
}


def rpc(result: object) -> httpx2.Response:
    return httpx2.Response(200, json={"jsonrpc": "2.0", "id": 1, "result": result})


@pytest.fixture
def agent() -> Iterator[SyncAgent]:
    web = served()
    with connect_sync("http://agent.test", http=web.client, cards=CardCache()) as agent:
        yield agent


def test_a_message_is_sent(agent: SyncAgent) -> None:
    assert agent.card.name == "Agent"
    assert agent.interface is not None
    reply = agent.send("hi")
    assert (reply.task_id, reply.state) == ("t", TaskState.COMPLETED)
    assert reply.answer("more").task_id == "t"
    assert [event.kind for event in reply.stream_answer("more")] == ["task"]


def test_events_are_iterated_over(agent: SyncAgent) -> None:
    told: list[AgentEvent] = []
    with agent.stream("hi", on_event=told.append) as stream:
        events = list(stream)
    assert [event.kind for event in events] == ["task"]
    assert events == told
    assert (stream.task_id, stream.reply.state) == ("t", TaskState.COMPLETED)


def test_a_task_is_handled(agent: SyncAgent) -> None:
    handle = agent.task("t", "c")
    assert handle.id == "t"
    assert handle.get(history_length=1).task_id == "t"


def test_refusals_are_raised_here(agent: SyncAgent) -> None:
    with pytest.raises(UnsupportedOperationError, match="no extended card"):
        agent.extended_card()


def test_what_fails_at_the_beginning_leaves_no_thread_behind() -> None:
    web = Web(lambda _: httpx2.Response(404))
    with pytest.raises(CardNotFoundError), connect_sync("http://agent.test", http=web.client):
        pass


def test_every_other_operation_is_asked_for() -> None:
    answers = {
        "GetTask": TASK,
        "CancelTask": TASK,
        "ListTasks": {"tasks": [TASK, ASKED], "nextPageToken": "", "pageSize": 50, "totalSize": 2},
        "SendMessage": {"task": ASKED},
        "SendStreamingMessage": {"task": ASKED},
        "SubscribeToTask": {"task": TASK},
    }

    def answer(request: httpx2.Request) -> httpx2.Response:
        method = request.content.partition(b'"method":"')[2].partition(b'"')[0].decode()
        return rpc(answers[method])

    with connect_sync(card(interface()), http=Web(answer).client) as agent:
        assert agent.start("hi").needs_input
        assert agent.cancel("t").task_id == "t"
        assert [reply.needs_input for reply in agent.tasks()] == [False, True]
        handle = agent.task("t")
        assert handle.wait().state is TaskState.COMPLETED
        assert handle.cancel().task_id == "t"
        assert handle.send("more").text == "Which?"
        with handle.stream() as stream:
            assert [event.kind for event in stream] == ["task"]
