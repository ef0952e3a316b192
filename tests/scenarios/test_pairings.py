"""One task, two versions: begun by a client of one, handled by a client of another.

Every pairing is tried. What is shown follows the version of whoever asks: the clients hold each
object against the tables of their version, so here it is said what must be in it.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Final

import pytest

from tests.scenarios.old_forms import Blob, Piece, Saying
from tests.scenarios.old_wire import (
    SPEAKERS,
    V0_1,
    V0_2,
    V0_3,
    V1_0,
    Speaker,
    V0_3Http,
    V0_3Schema,
    data_of,
    refused,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.scenarios.agents import Gate
    from tests.scenarios.old_forms import Step
    from tests.support.serving import Served

ASKERS: Final = (V0_1, V0_2, V0_3, V0_3Http, V1_0)

PIECES: Final[tuple[Piece, ...]] = (
    "hello",
    Blob(b"\x00\x01\x02\xff", "dot.png", "image/png"),
    {"n": 1, "deep": [1, 2.5, None, {"yes": True}]},
)


def client_of(kind: type[Speaker], served: Served, maker: Speaker | None = None) -> Speaker:
    """Return a client for the tasks of ``maker``."""
    if issubclass(kind, V0_3Http) and isinstance(maker, V0_3Schema):
        kind = V0_3Schema  # Section 6.2: a route of 0.3 speaks in the shape of the task's creator.
    # Three methods have the same name in 0.1 and 0.3, so whoever comes to the task of a stranger
    # states its version (D6).
    return kind(served.url, {"A2A-Version": kind.version})


@pytest.fixture(params=SPEAKERS, ids=lambda kind: f"by {kind.__name__}")
async def maker(request: pytest.FixtureRequest, served: Served) -> AsyncIterator[Speaker]:
    """Who begins the task."""
    async with client_of(request.param, served) as speaker:
        yield speaker


@pytest.fixture(params=ASKERS, ids=lambda kind: f"for {kind.__name__}")
async def asker(
    request: pytest.FixtureRequest, maker: Speaker, served: Served
) -> AsyncIterator[Speaker]:
    """Who comes to it."""
    async with client_of(request.param, served, maker) as speaker:
        yield speaker


@pytest.fixture
async def witness(served: Served) -> AsyncIterator[Speaker]:
    """Somebody who knows the ids of the server."""
    async with client_of(V1_0, served) as speaker:
        yield speaker


def told(speaker: Speaker, state: str) -> str:
    """Return what a version says for a state; 0.1 lacks two (section 5.4)."""
    if speaker.version == "0.1":
        return {"rejected": "failed", "auth-required": "input-required"}.get(state, state)
    return state


async def test_a_task_is_read(maker: Speaker, asker: Speaker, witness: Speaker) -> None:
    made = await maker.send("mirror", *PIECES)
    seen = await asker.get(made.id)
    assert (seen.state, seen.results) == ("completed", [list(PIECES)])
    assert seen.context == made.context
    # R01-6.1-1: 0.1 calls a task as its client does; all others by the id that the server made.
    known = await witness.get(made.id)
    assert seen.id == (made.id if asker.version == "0.1" else known.id)
    assert (made.id == known.id) is (maker.version != "0.1")


@pytest.mark.parametrize("asker", ASKERS, indirect=True)
@pytest.mark.parametrize("maker", [V1_0], indirect=True)
async def test_what_only_1_0_can_say_is_marked(maker: Speaker, asker: Speaker) -> None:
    # 5.7: data that is no object, and a text with a name
    parts = [{"data": [1, "two"]}, {"text": "# hi", "filename": "a.md", "mediaType": "text/plain"}]
    params = maker.write_send(Saying("mirror", ("",)))
    params["message"]["parts"] = parts
    sent = await maker.call("SendMessage", params)
    task = await asker.get_task(sent["task"]["id"])
    first, second = task["artifacts"][0]["parts"]
    if asker.version == "1.0":
        assert [first, second] == parts
        return
    assert asker.grammar.read_part(first) == {"value": [1, "two"]}
    assert first["metadata"] == {"data_part_compat": True}
    assert second["metadata"] == {"a2a.v1": True, "filename": "a.md", "mimeType": "text/plain"}
    # Whoever sends them back has said what was said.
    params = asker.write_send(Saying("mirror", ("",)))
    params["message"][asker.grammar.contents] = [first, second]
    again = asker.read_answer(await asker.call("SendMessage", params))
    seen = await maker.get_task(again.id)
    assert seen["artifacts"][0]["parts"] == parts


async def test_what_was_said_is_shown_to_those_who_ask(maker: Speaker, asker: Speaker) -> None:
    made = await maker.send("ask", "trip")
    seen = await asker.get(made.id, historyLength=5)
    assert (seen.state, seen.said) == ("input-required", ["Which city?"])
    assert seen.history == [["trip"]]


@pytest.mark.parametrize("asker", ASKERS[1:], indirect=True)  # 0.1 has no listing
async def test_a_task_is_listed(maker: Speaker, asker: Speaker, context: str) -> None:
    made = await maker.send("echo", "hello", context=context)
    (listed,) = await asker.list(context)
    assert (listed.context, listed.state, listed.results) == (context, "completed", [["hello"]])
    assert (await asker.get(made.id)).id == listed.id


async def test_a_task_is_followed_while_it_works(
    maker: Speaker, asker: Speaker, gate: Gate
) -> None:
    made = await maker.begin("steps", gate.name)
    await gate.reached()
    async with asker.follow(made.id) as events:
        first = await anext(events)
        gate.open(2)
        rest = [step async for step in events]
    assert first.state == "working"
    is_old = asker.version != "1.0"
    has_tasks = asker.version != "0.1"
    assert first.kind == ("task" if has_tasks else "status")
    # 0.1 has no task in a stream: what it would show comes as events (section 5.9).
    assert [(step.kind, step.state, step.pieces) for step in rest] == [
        *([] if has_tasks else [("artifact", "", ["draft"])]),
        ("artifact", "", ["line 1"]),
        ("artifact", "", [{"n": 2}]),
        ("artifact", "", ["line 3"]),
        ("status", "working", ["last"]),
        ("artifact", "", ["the end"]),
        ("status", "completed", []),
    ]
    assert [step.is_final for step in rest] == [False] * (len(rest) - 1) + [is_old]
    assert {step.task_id for step in rest} == {first.task_id}
    assert first.task_id == (await asker.get(made.id)).id
    assert chunk_marks(rest, asker)[-4:-1] == [(False, False), (True, False), (True, True)]


def chunk_marks(steps: list[Step], speaker: Speaker) -> list[tuple[bool, bool]]:
    """Return append and lastChunk of the artifact events; 0.1 has them inside the artifact."""
    events = [step.raw for step in steps if step.kind == "artifact"]
    holders = [event["artifact"] if speaker.version == "0.1" else event for event in events]
    return [(held.get("append", False), held.get("lastChunk", False)) for held in holders]


async def test_a_task_is_followed_by_all_at_once(
    maker: Speaker, served: Served, gate: Gate
) -> None:
    made = await maker.begin("chunks", gate.name)
    await gate.reached()
    async with AsyncExitStack() as stack:
        streams: list[AsyncIterator[Step]] = []
        for kind in ASKERS:
            speaker = await stack.enter_async_context(client_of(kind, served, maker))
            streams.append(await stack.enter_async_context(speaker.follow(made.id)))
            assert (await anext(streams[-1])).state == "working"
        gate.open(3)
        for stream in streams:
            *chunks, last = [step async for step in stream]
            words = [step.pieces for step in chunks if step.kind == "artifact"]
            assert words[:3] == [["one "], ["two "], ["three"]]
            assert last.state == "completed"


async def test_a_question_is_answered(maker: Speaker, asker: Speaker) -> None:
    made = await maker.send("ask", "trip")
    assert made.state == "input-required"
    seen = await asker.send("ask", "Rome", task_id=made.id)
    assert (seen.state, seen.results) == ("completed", [["trip: Rome"]])
    assert seen.context == made.context
    assert (await maker.get(made.id)).results == [["trip: Rome"]]


async def test_a_question_is_answered_and_the_rest_followed(maker: Speaker, asker: Speaker) -> None:
    made = await maker.send("ask_twice", "trip")
    async with asker.stream("ask_twice", "Rome", task_id=made.id) as events:
        *_, last = [step async for step in events]
    assert (last.kind, last.state, last.pieces) == ("status", "input-required", ["Two?"])
    # A stream of an old version ends where the task waits, and says so.
    assert last.is_final is (asker.version != "1.0")


async def test_a_task_is_canceled(maker: Speaker, asker: Speaker) -> None:
    made = await maker.send("ask", "trip")
    assert (await asker.cancel(made.id)).state == "canceled"
    assert (await maker.get(made.id)).state == "canceled"


@pytest.mark.parametrize(
    ("skill", "state", "said"),
    [
        ("reject", "rejected", ["Not for trip."]),
        ("authorize", "auth-required", None),
        ("fail", "failed", None),
    ],
)
async def test_the_state_is_told(
    maker: Speaker, asker: Speaker, skill: str, state: str, said: list[Piece] | None
) -> None:
    made = await maker.send(skill, "trip")
    assert made.state == told(maker, state)
    seen = await asker.get(made.id)
    assert seen.state == told(asker, state)
    assert seen.said == (said or seen.said)
    # 5.4: what 0.1 cannot tell from a failure is marked.
    is_marked = seen.raw.get("metadata", {}).get("a2a.state") == "rejected"
    assert is_marked is (state == "rejected" and asker.version == "0.1")


async def test_what_has_ended_is_not_canceled(maker: Speaker, asker: Speaker) -> None:
    made = await maker.send("echo", "hello")
    problem = await refused(-32002, asker.cancel(made.id))
    assert problem.http == (409 if isinstance(asker, V0_3Http) else 200)
    if asker.version == "1.0":
        assert problem.reason == "TASK_NOT_CANCELABLE"
    else:
        assert data_of(problem)["reason"] == "TASK_NOT_CANCELABLE"


async def test_what_has_ended_takes_no_message(maker: Speaker, asker: Speaker) -> None:
    made = await maker.send("echo", "hello")
    code = -32009 if isinstance(asker, V0_1) else -32004
    problem = await refused(code, asker.send("echo", "more", task_id=made.id))
    assert problem.http == (501 if isinstance(asker, V0_3Http) else 200)


async def test_what_has_ended_is_shown_to_followers_of_old_versions(
    maker: Speaker, asker: Speaker
) -> None:
    made = await maker.send("echo", "hello")
    if asker.version == "1.0":
        with pytest.raises(Exception, match="The task has ended"):
            async with asker.follow(made.id):
                pass
        return
    async with asker.follow(made.id) as events:
        steps = [step async for step in events]
    # 5.9: the task as it is; only a status can say that it is the last frame.
    assert [step.kind for step in steps] == [
        "artifact" if asker.version == "0.1" else "task",
        "status",
    ]
    assert [step.is_final for step in steps] == [False, True]
    assert steps[-1].state == "completed"


async def test_a_direct_answer_is_a_message_or_a_task(maker: Speaker, asker: Speaker) -> None:
    async with maker.stream("reply", "hi") as events:
        *before, last = [step async for step in events]
    assert last.pieces == ["You said hi."]
    if maker.version == "0.1":
        # 5.5: there are no answers without a task, so there is one to be asked for later.
        assert (last.kind, last.state, last.is_final) == ("status", "completed", True)
        assert (await asker.get(last.task_id)).said == ["You said hi."]
    else:
        assert (last.kind, before) == ("message", [])
