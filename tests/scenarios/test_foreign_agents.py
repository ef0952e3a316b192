"""Agents of other frameworks, which leave members out or have their own: no answer is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dragoman import connect
from dragoman.client.discovery.card_cache import CardCache
from dragoman.client.results.reply import AgentReply
from dragoman.model.operations import ListTaskPushNotificationConfigsRequest
from tests.cli.fake import FakeAgent, Frames, fake_agent

STREAMING = {"capabilities": {"streaming": True}}
OLD: dict[str, Any] = {"name": "Old", "protocolVersion": "0.3.0", "skills": []}


@pytest.fixture
def fake() -> Iterator[FakeAgent]:
    with fake_agent() as agent:
        yield agent


def interfaces(fake: FakeAgent, **members: Any) -> dict[str, Any]:
    """Return the least that a card of 1.0 can have."""
    interface = {"url": f"{fake.url}/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    return {"name": "Foreign", "supportedInterfaces": [interface], **members}


async def ask(fake: FakeAgent, *content: object) -> AgentReply:
    async with connect(fake.url, cards=CardCache()) as agent:
        return await agent.send(*content or ("hi",))


# --- members that are left out --------------------------------------------------------------------


async def test_a_card_needs_no_more_than_a_name_and_an_interface(fake: FakeAgent) -> None:
    skills = [{"id": "s", "name": "S"}, {"id": "t"}, {}]
    fake.card = interfaces(fake, skills=skills, provider={"organization": "nobody"})
    async with connect(fake.url, cards=CardCache()) as agent:
        card = agent.card
    assert (card.description, card.default_input_modes, card.default_output_modes) == ("", (), ())
    assert [(skill.name, skill.description, skill.tags) for skill in card.skills] == [
        ("S", "S", ()),
        ("t", "t", ()),
    ]
    assert card.provider is None


async def test_what_a_card_demands_is_never_left_out(fake: FakeAgent) -> None:
    fake.card = interfaces(
        fake, securitySchemes={"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    )
    async with connect(fake.url, cards=CardCache()) as agent:
        assert "key" in agent.card.security_schemes


ANSWER: dict[str, Any] = {
    "id": "t",
    "status": {"state": "TASK_STATE_COMPLETED", "message": {"parts": []}},
    "artifacts": [
        {"parts": [{"text": "done"}, {"kind": "hologram", "depth": 3}, {"video": "v"}]},
        {"name": "empty"},
    ],
    "history": [
        {"role": "ROLE_USER", "parts": [{"text": "hi"}]},
        {"role": "ROLE_JUDGE", "parts": "nonsense"},
    ],
    "metadata": "no object",
}


@pytest.mark.parametrize("is_old", [False, True])
async def test_an_answer_is_kept_whatever_its_members_lack(fake: FakeAgent, is_old: bool) -> None:  # noqa: FBT001 - a parameter
    if is_old:
        fake.card = {**OLD, "url": f"{fake.url}/"}
        history, status = ANSWER["history"][:1], {"state": "completed"}
        answer = {**ANSWER, "status": status, "kind": "task", "history": history, "metadata": {}}
        fake.answers["message/send"] = lambda _: answer
    else:
        fake.card = interfaces(fake)
        fake.answers["SendMessage"] = lambda _: {"task": ANSWER}
    reply = await ask(fake)
    assert reply.text == "done"
    assert [part.kind for part in reply.artifacts[0].parts] == ["text", "data", "data"]
    assert [artifact.artifact_id for artifact in reply.artifacts] == ["idx-0", "idx-1"]
    assert reply.task is not None
    assert all(message.message_id for message in reply.task.history)


@pytest.mark.parametrize("method", ["message/send", "message/stream"])
async def test_unknown_is_an_end(fake: FakeAgent, method: str) -> None:
    is_streaming = method == "message/stream"
    fake.card = {
        **OLD,
        "url": f"{fake.url}/",
        "capabilities": {"streaming": is_streaming},
    }
    status = {"state": "unknown"}
    task = {"kind": "task", "id": "t", "contextId": "c", "status": {"state": "working"}}
    update = {"kind": "status-update", "taskId": "t", "contextId": "c", "status": status}
    fake.answers["message/send"] = lambda _: {**task, "status": status}
    fake.answers["message/stream"] = lambda _: Frames([task, {**update, "final": True}])
    reply = await ask(fake)
    assert reply.state is not None
    assert reply.state.is_terminal
    assert [each.method for each in fake.asked if each.method != "card"] == [method]


# --- results without the member around them -------------------------------------------------------


async def test_results_of_1_0_are_also_known_by_their_kind(fake: FakeAgent) -> None:
    """LangGraph's server streams so."""
    fake.card = interfaces(fake, **STREAMING)
    of = {"taskId": "t", "contextId": "c"}
    fake.answers["SendStreamingMessage"] = lambda _: Frames(
        [
            {"kind": "status-update", **of, "status": {"state": "TASK_STATE_WORKING"}},
            {
                "kind": "artifact-update",
                **of,
                "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "done"}]},
            },
            {
                "kind": "status-update",
                **of,
                "status": {"state": "TASK_STATE_COMPLETED"},
                "final": True,
            },
        ]
    )
    reply = await ask(fake)
    assert (reply.text, reply.state and reply.state.name) == ("done", "COMPLETED")


# --- what is said while a task goes on ------------------------------------------------------------

OF: dict[str, Any] = {"taskId": "t", "contextId": "c"}


def token(text: str) -> dict[str, Any]:
    """Return a message as agno sends it for each token."""
    parts = [{"kind": "text", "text": text}]
    return {"kind": "message", "messageId": "m", "role": "agent", **OF, "parts": parts}


def update(state: str, *texts: str) -> dict[str, Any]:
    status: dict[str, Any] = {"state": state}
    if texts:
        parts = [{"kind": "text", "text": text} for text in texts]
        status["message"] = {"messageId": texts[0], "role": "agent", "parts": parts}
    return {"kind": "status-update", **OF, "status": status, "final": state == "completed"}


def streams(fake: FakeAgent, *frames: object) -> None:
    fake.card = {**OLD, "url": f"{fake.url}/", "capabilities": {"streaming": True}}
    fake.answers["message/stream"] = lambda _: Frames(list(frames))


async def test_a_message_for_each_token_is_no_end(fake: FakeAgent) -> None:
    """The server of agno streams so, and tells the task behind its end."""
    task = {
        "kind": "task",
        "id": "t",
        "contextId": "c",
        "status": {"state": "completed"},
        "history": [{**token("one two"), "metadata": {"metrics": 1}}],
        "artifacts": [{"artifactId": "a", "parts": [{"kind": "data", "data": {"n": 1}}]}],
    }
    streams(fake, update("working"), token("one "), token("two"), update("completed"), task)
    async with connect(fake.url, cards=CardCache()) as agent:
        stream = agent.stream("hi")
        told = [event.text async for event in stream if event.kind == "message"]
    assert told == ["one ", "two"]
    assert (stream.reply.text, stream.reply.data) == ("one two", {"n": 1})
    assert stream.reply.state is not None
    assert stream.reply.state.name == "COMPLETED"


async def test_tokens_are_one_text_where_no_task_follows(fake: FakeAgent) -> None:
    streams(fake, update("working"), token("one "), token("two"), update("completed"))
    assert (await ask(fake)).text == "one two"


async def test_a_message_behind_which_nothing_comes_is_the_answer(fake: FakeAgent) -> None:
    streams(fake, update("working"), token("done"))
    reply = await ask(fake)
    assert (reply.text, reply.task) == ("done", None)
    assert not fake.calls("tasks/get")


# --- answers in other places ----------------------------------------------------------------------


async def test_what_was_said_last_is_the_answer_where_there_is_no_other(fake: FakeAgent) -> None:
    """AgentStack answers with messages of a task at work, and ends it without one."""
    streams(fake, update("working", "thinking"), update("working", "four"), update("completed"))
    assert (await ask(fake)).text == "four"


async def test_a_question_is_no_answer_to_what_was_said_after_it(fake: FakeAgent) -> None:
    fake.card = interfaces(fake)
    agent = {"messageId": "q", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]}
    user = {"messageId": "u", "role": "ROLE_USER", "parts": [{"text": "that"}]}
    task = {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}, "history": [agent, user]}
    fake.answers["SendMessage"] = lambda _: {"task": task}
    assert (await ask(fake)).text == ""


async def test_an_interrupt_of_strands_is_answered_by_its_name(fake: FakeAgent) -> None:
    fake.card = {**OLD, "url": f"{fake.url}/"}
    pending = {"interrupts": [{"interruptId": "i-1", "name": "approval", "reason": None}]}
    parts = [{"kind": "text", "text": "go on?"}, {"kind": "data", "data": pending}]
    question = {"messageId": "q", "role": "agent", "parts": parts}
    status = {"state": "input-required", "message": question}
    task = {"kind": "task", "id": "t", "contextId": "c", "status": status}
    fake.answers["message/send"] = lambda _: task
    async with connect(fake.url, cards=CardCache()) as agent:
        reply = await agent.send("hi")
        fake.answers["message/send"] = lambda _: {**task, "status": {"state": "completed"}}
        await reply.answer("yes")
    sent = fake.calls("message/send")[-1].params["message"]
    response = {"interruptId": "i-1", "response": "yes"}
    assert sent["parts"] == [{"kind": "data", "data": {"interruptResponse": response}}]


async def test_a_message_to_a_task_is_sent_with_its_context(fake: FakeAgent) -> None:
    fake.card = interfaces(fake)
    task = {"id": "t", "contextId": "c", "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}
    fake.answers["GetTask"] = lambda _: task
    done = {**task, "status": {"state": "TASK_STATE_COMPLETED"}}
    fake.answers["SendMessage"] = lambda _: {"task": done}
    async with connect(fake.url, cards=CardCache()) as agent:
        await agent.task("t").send("yes")
        await agent.send("yes", task_id="t")
        await agent.start("yes", task_id="t")
    contexts = [call.params["message"]["contextId"] for call in fake.calls("SendMessage")]
    assert contexts == ["c", "c", "c"]


async def test_null_is_no_webhook_in_0_1(fake: FakeAgent) -> None:
    modes: dict[str, Any] = {"defaultInputModes": ["text"], "authentication": {"schemes": []}}
    capabilities = {"pushNotifications": True}
    fake.card = {"name": "Old", "url": f"{fake.url}/", "capabilities": capabilities, **modes}
    fake.answers["tasks/pushNotification/get"] = lambda _: None
    request = ListTaskPushNotificationConfigsRequest(task_id="t")
    async with connect(fake.url, cards=CardCache(), version="0.1") as agent:
        page = await agent.service.list_task_push_notification_configs(request, agent.call)
    assert page.configs == ()
