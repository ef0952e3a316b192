"""Hooks for events: they change what is stored and shown, and lose nothing."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman import Agent, Context, Part, TaskState, connect
from dragoman.errors import UsageError
from dragoman.model.events import TaskArtifactUpdateEvent, TaskEvent, TaskStatusUpdateEvent
from tests.scenarios.clients import WAYS, Way
from tests.scenarios.test_sensitive_input import contents
from tests.scenarios.webhooks import INNER, TOKEN, hooked
from tests.support.serving import serving
from tests.support.wire import Frame, Json, Wire, message

SECRET = "hunter2"  # noqa: S105 - what the hook takes out


def make_agent() -> Agent:
    """Return an agent that says what it should not."""
    agent = Agent("Talker", "Talks.")

    @agent.skill
    async def talk(ctx: Context, text: str) -> AsyncIterator[str]:
        """Say something, give it in chunks."""
        await ctx.say(f"{SECRET} for {text}")
        yield f"{SECRET} one "
        yield "two"

    @agent.skill
    async def ask(ctx: Context, text: str) -> str:
        """Ask for a secret."""
        return f"{text} {len(await ctx.ask('Key?', sensitive=True))}"

    return agent


def redacted(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(
        part if part.text is None else Part(text=part.text.replace(SECRET, "***")) for part in parts
    )


def redact(event: TaskEvent) -> TaskEvent:
    """Take the secret out of whatever is said."""
    if isinstance(event, TaskArtifactUpdateEvent):
        artifact = replace(event.artifact, parts=redacted(event.artifact.parts))
        return replace(event, artifact=artifact)
    said = event.status.message
    if said is None:
        return event
    status = replace(event.status, message=replace(said, parts=redacted(said.parts)))
    return replace(event, status=status)


async def streamed(url: str) -> list[Frame]:
    params = {"message": message("tea", metadata={"skillId": "talk"})}
    async with Wire(url) as wire, wire.rpc_stream("SendStreamingMessage", params) as events:
        return [frame async for frame in events]


def numbers(frames: list[Frame]) -> list[int]:
    return [int(frame.id) for frame in frames]


@pytest.mark.parametrize("way", WAYS, ids=str)
async def test_what_a_hook_makes_of_an_event_is_stored_and_shown(way: Way, tmp_path: Path) -> None:
    agent = make_agent()
    agent.on_event(redact)
    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(agent, store=store) as served, way.connect(served.url) as client:
        reply = await client.send("tea", skill="talk")
        events = [str(event.value) async for event in client.stream("tea", skill="talk")]
    assert reply.text == "*** one two"
    assert all(SECRET not in each for each in (str(reply.outcome), *events))
    assert SECRET.encode() not in contents(tmp_path)


async def test_what_a_hook_makes_of_an_event_is_told_to_webhooks() -> None:
    agent = make_agent()
    agent.on_event(redact)
    kinds = ("states", "artifacts", "messages")
    async with (
        hooked() as hook,
        serving(agent, push_events=kinds, **INNER) as served,
        Wire(served.url) as wire,
    ):
        params: Json = {"message": message("tea", metadata={"skillId": "talk"})}
        push = {"url": hook.url, "token": TOKEN}
        params["configuration"] = {"taskPushNotificationConfig": push}
        await wire.result("SendMessage", params)
        await hook.until_end()
    told = "".join(str(post.body) for post in hook.posts)
    assert "***" in told
    assert SECRET not in told


async def test_metadata_that_a_hook_adds_to_a_status_is_the_tasks() -> None:
    agent = make_agent()

    @agent.on_event
    def stamp(event: TaskEvent) -> TaskEvent:
        return replace(event, metadata={"stamp": 1})

    async with serving(agent) as served, connect(served.url) as client:
        reply = await client.send("tea", skill="talk")
        frames = await streamed(served.url)
    assert reply.task is not None
    assert reply.task.metadata == {"stamp": 1}
    assert stamp is not None
    updates = [next(iter(frame.result.values())) for frame in frames[1:]]
    assert {update["metadata"]["stamp"] for update in updates} == {1}


def _drop(event: TaskEvent) -> TaskEvent | None:
    del event
    return None


def _raise(event: TaskEvent) -> TaskEvent:
    raise RuntimeError(event.task_id)


def _end(event: TaskEvent) -> TaskEvent:
    if not isinstance(event, TaskStatusUpdateEvent):
        return event
    return replace(event, status=replace(event.status, state=TaskState.CANCELED))


def _rename(event: TaskEvent) -> TaskEvent:
    return replace(event, task_id="another")


def _close(event: TaskEvent) -> TaskEvent:
    return replace(event, last_chunk=True) if isinstance(event, TaskArtifactUpdateEvent) else event


def _spoil(event: TaskEvent) -> TaskEvent:
    return replace(event, metadata={"what": object()})


@pytest.mark.parametrize("hook", [_drop, _raise, _end, _rename, _close, _spoil])
async def test_a_hook_can_neither_drop_an_event_nor_change_what_happened(
    hook: Callable[[TaskEvent], TaskEvent | None],
) -> None:
    agent = make_agent()
    async with serving(agent) as served:
        plain = await streamed(served.url)
    agent.on_event(hook)
    async with serving(agent) as served:
        frames = await streamed(served.url)
    assert [frame.kind for frame in frames] == [frame.kind for frame in plain]
    assert [frame.state for frame in frames] == [frame.state for frame in plain]
    # Numbered without a gap.
    assert numbers(frames) == list(range(numbers(frames)[0], numbers(plain)[-1] + 1))


async def test_a_hook_cannot_make_a_secret_answer_public(tmp_path: Path) -> None:
    agent = make_agent()

    @agent.on_event
    def forget(event: TaskEvent) -> TaskEvent:
        if not isinstance(event, TaskStatusUpdateEvent) or event.status.message is None:
            return event
        said = replace(event.status.message, metadata=None)
        return replace(event, status=replace(event.status, message=said))

    store = f"sqlite:///{tmp_path}/tasks.db"
    async with serving(agent, store=store) as served, connect(served.url) as client:
        asked = await client.send("key of", skill="ask")
        done = await asked.answer(SECRET)
    assert forget is not None
    assert done.text == f"key of {len(SECRET)}"
    assert SECRET.encode() not in contents(tmp_path)


def test_a_hook_cannot_be_a_coroutine() -> None:
    async def slow(event: TaskEvent) -> TaskEvent:
        return event

    with pytest.raises(UsageError, match="cannot be async"):
        make_agent().on_event(slow)  # type: ignore[type-var] # the mistake is the point
