import pytest
from msgspec.structs import replace

from dragoman.model.events import StreamResponse
from dragoman.model.operations import ListTasksRequest, SendMessageRequest
from dragoman.model.tasks import TaskState
from tests.support.client.fakes import artifact, card, said, task
from tests.support.client.services import Events, agent_of, pages

DONE = task(TaskState.COMPLETED, artifact("one"))


def shown() -> Events:
    return Events(StreamResponse(task=DONE))


async def test_a_send_is_followed_to_its_end() -> None:
    agent, service = agent_of(shown())
    reply = await agent.send("hi", skill="s", extensions=["urn:x"])
    assert reply.text == "one"
    request, call = service.asked[0]
    assert isinstance(request, SendMessageRequest)
    assert request.message.metadata == {"skillId": "s"}
    assert call.extensions == ("urn:x",)


async def test_a_start_does_not_wait() -> None:
    agent, service = agent_of(task(), said("hi"))
    assert (await agent.start("hi")).state is TaskState.WORKING
    assert (await agent.start("hi")).task is None
    request, _ = service.asked[0]
    assert isinstance(request, SendMessageRequest)
    assert request.configuration is not None
    assert request.configuration.return_immediately


async def test_an_agent_in_this_process_has_no_interface() -> None:
    agent, _ = agent_of()
    assert agent.interface is None


async def test_a_reply_is_answered_through_the_agent() -> None:
    asked = task(TaskState.INPUT_REQUIRED, message=said("Which?"))
    agent, service = agent_of(Events(StreamResponse(task=asked)), shown(), shown())
    reply = await agent.send("trip")
    await reply.answer("Rome")
    async for _ in reply.stream_answer("Paris"):
        pass
    for request, _ in service.asked[1:]:
        assert isinstance(request, SendMessageRequest)
        assert (request.message.task_id, request.message.context_id) == ("t", "c")


@pytest.mark.requirement("R-3.4.3-1", "R-3.4.1-6", "R-3.4.3-3")
async def test_a_conversation_takes_its_context_from_the_first_answer() -> None:
    agent, service = agent_of(shown(), shown())
    conversation = agent.conversation()
    await conversation.send("one")
    await conversation.send("two")
    contexts = [
        request.message.context_id
        for request, _ in service.asked
        if isinstance(request, SendMessageRequest)
    ]
    assert contexts == ["", "c"]
    assert conversation.context_id == "c"


@pytest.mark.requirement("R-3.4.1-7")
async def test_a_context_is_handed_back_as_it_came() -> None:
    odd = " C/..?\u2028%00 "
    first = Events(StreamResponse(task=replace(DONE, context_id=odd)))
    agent, service = agent_of(first, shown())
    reply = await agent.send("one")
    await reply.answer("two")
    request, _ = service.asked[1]
    assert isinstance(request, SendMessageRequest)
    assert request.message.context_id == odd


@pytest.mark.requirement("R-3.1.4-6")
async def test_tasks_are_listed_page_by_page() -> None:
    agent, service = agent_of(*pages([DONE, DONE], [DONE]))
    found = [reply.text async for reply in agent.tasks(context_id="c", include_artifacts=True)]
    assert found == ["one", "one", "one"]
    first = ListTasksRequest(context_id="c", include_artifacts=True)
    asked = [request for request, _ in service.asked]
    assert asked == [first, replace(first, page_token="1")]  # noqa: S106 - of a page


async def test_a_task_is_canceled() -> None:
    agent, _ = agent_of(task(TaskState.CANCELED))
    assert (await agent.cancel("t")).state is TaskState.CANCELED


@pytest.mark.requirement("R-3.1.11-5")
async def test_the_extended_card_takes_the_place_of_the_public_one() -> None:
    extended = card(extended_agent_card=True)
    agent, _ = agent_of(extended)
    assert await agent.extended_card() is extended
    assert agent.card is extended
