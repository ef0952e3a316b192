"""One task, two versions, and one of the two over gRPC: begun by one client, handled by another.

What must be seen is told in ``test_pairings.py``; here its tests are run for the pairs in which
somebody speaks gRPC, 1.0 or 0.3.
"""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest

from tests.scenarios import test_pairings
from tests.scenarios.bindings import Grpc
from tests.scenarios.grpc_binding import V0_3_SERVICE
from tests.scenarios.old_wire import V0_1, V0_3, V1_0, Speaker, V0_3Http
from tests.scenarios.test_pairings import client_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    import httpx2

    from tests.scenarios.agents import Gate
    from tests.scenarios.old_forms import Step
    from tests.support.serving import Served
    from tests.support.wire import Frame, Json


class V1_0Grpc(Grpc, V1_0):  # noqa: N801 - the name of the version
    """1.0 over gRPC."""


class V0_3Grpc(Grpc, V0_3Http):  # noqa: N801 - the name of the version
    """0.3 over gRPC: the objects of its HTTP+JSON, as messages."""

    service = V0_3_SERVICE

    async def respond(
        self, operation: str, params: Json | None = None, *, headers: Mapping[str, str] = {}
    ) -> httpx2.Response:
        return await super().respond(operation, _named(params or {}), headers=headers)

    @asynccontextmanager
    async def open(
        self, operation: str, params: Json, *, headers: Mapping[str, str] = {}
    ) -> AsyncGenerator[AsyncIterator[Frame]]:
        rpc = "TaskSubscription" if operation == "SubscribeToTask" else operation
        async with super().open(rpc, _named(params), headers=headers) as frames:
            yield frames


def _named(params: Json) -> Json:
    """Call a task by its resource name (0.x reference, 4.4)."""
    rest = {name: value for name, value in params.items() if name != "id"}
    return {**rest, "name": f"tasks/{params['id']}"} if "id" in params else rest


JSON: Final = (V0_1, V0_3, V0_3Http, V1_0)
GRPC: Final = (V0_3Grpc, V1_0Grpc)
PAIRS: Final = [
    *((maker, asker) for maker in JSON for asker in GRPC),
    *((maker, asker) for maker in GRPC for asker in (*JSON, *GRPC)),
]


@pytest.fixture(params=PAIRS, ids=[f"{a.__name__}-{b.__name__}" for a, b in PAIRS])
def pair(request: pytest.FixtureRequest) -> tuple[type[Speaker], type[Speaker]]:
    """Who begins the task, and who comes to it."""
    return request.param


@pytest.fixture
async def maker(
    pair: tuple[type[Speaker], type[Speaker]], served: Served
) -> AsyncIterator[Speaker]:
    async with client_of(pair[0], served) as speaker:
        yield speaker


@pytest.fixture
async def asker(
    pair: tuple[type[Speaker], type[Speaker]], served: Served
) -> AsyncIterator[Speaker]:
    async with client_of(pair[1], served) as speaker:
        yield speaker


witness = test_pairings.witness

test_a_task_is_read = test_pairings.test_a_task_is_read
test_what_was_said_is_shown = test_pairings.test_what_was_said_is_shown_to_those_who_ask
test_a_task_is_followed_while_it_works = test_pairings.test_a_task_is_followed_while_it_works
test_a_question_is_answered = test_pairings.test_a_question_is_answered
test_an_answer_is_followed = test_pairings.test_a_question_is_answered_and_the_rest_followed
test_a_task_is_canceled = test_pairings.test_a_task_is_canceled
test_the_state_is_told = test_pairings.test_the_state_is_told
test_a_direct_answer_is_told = test_pairings.test_a_direct_answer_is_a_message_or_a_task
test_what_has_ended_is_shown_to_followers = (
    test_pairings.test_what_has_ended_is_shown_to_followers_of_old_versions
)


async def test_a_task_is_listed(maker: Speaker, asker: Speaker, context: str) -> None:
    if asker.version == "0.1":
        return  # It has no listing.
    made = await maker.send("echo", "hello", context=context)
    (listed,) = await asker.list(context)
    assert (listed.context, listed.state, listed.results) == (context, "completed", [["hello"]])
    assert (await asker.get(made.id)).id == listed.id


@pytest.mark.parametrize("kind", [*JSON, *GRPC], ids=lambda kind: f"by {kind.__name__}")
async def test_a_task_is_followed_by_all_at_once(
    kind: type[Speaker], served: Served, gate: Gate
) -> None:
    async with AsyncExitStack() as stack:
        maker = await stack.enter_async_context(client_of(kind, served))
        made = await maker.begin("chunks", gate.name)
        await gate.reached()
        streams: list[AsyncIterator[Step]] = []
        for other in (*JSON, *GRPC):
            speaker = await stack.enter_async_context(client_of(other, served))
            streams.append(await stack.enter_async_context(speaker.follow(made.id)))
            assert (await anext(streams[-1])).state == "working"
        gate.open(3)
        for stream in streams:
            *chunks, last = [step async for step in stream]
            words = [step.pieces for step in chunks if step.kind == "artifact"]
            assert words[:3] == [["one "], ["two "], ["three"]]
            assert last.state == "completed"
