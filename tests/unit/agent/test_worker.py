"""Planning and running turns of an agent."""

import logging
from collections.abc import Callable

import pytest

from dragoman import Agent, Context, Message
from dragoman.errors import (
    InvalidParamsError,
    PermissionDeniedError,
    UnsupportedOperationError,
    UsageError,
)
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.service.worker import Plan, Turn, Worker
from dragoman.testing.turn import RecordingTurn, user_message


def request(
    *content: object, skill_id: object = None, of_request: object = None
) -> SendMessageRequest:
    return SendMessageRequest(
        message=user_message(
            *content, metadata=None if skill_id is None else {"skillId": skill_id}
        ),
        metadata=None if of_request is None else {"skillId": of_request},
    )


def test_an_agent_has_a_worker(agent: Agent) -> None:
    worker: Worker = agent.worker
    turn: Turn = RecordingTurn("hi", skill_id=worker.skills[0].id)
    assert turn.skill_id == "forecast"


def test_a_turn_that_was_cut_off_is_run_again_unless_the_author_says_otherwise(
    agent: Agent,
) -> None:
    def echo(text: str) -> str:
        return text

    agent.skill(id="pay", on_crash="fail")(echo)
    agent.skill(id="plan", on_crash="resume")(echo)
    assert [agent.worker.resumes(name) for name in ("forecast", "pay", "plan")] == [
        True,
        False,
        True,
    ]


async def test_a_task_of_a_skill_that_is_gone_fails_by_being_run(agent: Agent) -> None:
    assert agent.worker.resumes("gone")
    with pytest.raises(UsageError, match="needs skill gone"):
        await agent.worker.run(RecordingTurn("hi", skill_id="gone"))


# --- planning ------------------------------------------------------------------------------------


def test_a_message_goes_to_the_first_skill(agent: Agent) -> None:
    assert agent.worker.plan(request("Rome")) == Plan(skill_id="forecast")


def test_a_message_goes_to_the_skill_its_metadata_names(agent: Agent) -> None:
    assert agent.worker.plan(request({"celsius": 1}, skill_id="convert")).skill_id == "convert"


def test_the_metadata_of_the_request_may_name_the_skill(agent: Agent) -> None:
    assert agent.worker.plan(request({"celsius": 1}, of_request="convert")).skill_id == "convert"


def test_the_metadata_of_the_message_goes_first(agent: Agent) -> None:
    plan = agent.worker.plan(request("Rome", skill_id="forecast", of_request="convert"))
    assert plan.skill_id == "forecast"


def test_metadata_that_names_no_skill_does_not_matter(agent: Agent) -> None:
    message = user_message("Rome", metadata={"other": 1})
    assert (
        agent.worker.plan(SendMessageRequest(message=message, metadata={})).skill_id == "forecast"
    )


def test_a_direct_skill_is_planned_as_such(agent: Agent) -> None:
    assert agent.worker.plan(request("Ada", skill_id="hello")) == Plan(
        skill_id="hello", is_direct=True
    )


@pytest.mark.parametrize("skill_id", ["nothing", 3, ["forecast"]])
def test_an_unknown_skill_is_an_invalid_parameter(agent: Agent, skill_id: object) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        agent.worker.plan(request("x", skill_id=skill_id))
    assert caught.value.violations[0].field == "message.metadata.skillId"
    with pytest.raises(InvalidParamsError) as caught:
        agent.worker.plan(request("x", of_request=skill_id))
    assert caught.value.violations[0].field == "metadata.skillId"


def test_parameters_are_checked_before_anything_is_stored(agent: Agent) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        agent.worker.plan(request({"celsius": "warm"}, skill_id="convert"))
    assert caught.value.violations[0].field == "message.parts[0].data.celsius"


def test_an_agent_without_skills_does_nothing() -> None:
    with pytest.raises(UnsupportedOperationError, match="no skills"):
        Agent("A").worker.plan(request("x"))


def test_the_route_function_chooses_by_id_or_by_function(agent: Agent) -> None:
    @agent.skill
    async def shout(text: str) -> str:
        return text.upper()

    @agent.route
    def choose(message: Message) -> object:
        return shout if message.parts[0].text == "loud" else "forecast"

    assert agent.worker.plan(request("loud")).skill_id == "shout"
    assert agent.worker.plan(request("Rome")).skill_id == "forecast"
    assert agent.worker.plan(request({"celsius": 1}, skill_id="convert")).skill_id == "convert"
    assert callable(choose)


def test_a_route_to_nowhere_is_the_authors_mistake(agent: Agent) -> None:
    @agent.route
    def choose(message: Message) -> str:  # pyright: ignore[reportUnusedFunction] - registered
        return "nowhere"

    with pytest.raises(UsageError, match="'nowhere', which is no skill"):
        agent.worker.plan(request("x"))


# --- working -------------------------------------------------------------------------------------


async def test_a_turn_runs_the_skill_that_was_planned(agent: Agent) -> None:
    turn = RecordingTurn({"celsius": 100}, skill_id="convert")
    await agent.worker.run(turn)
    assert turn.chunks[0].artifact.parts == (Part(data=212.0),)


async def test_a_direct_plan_is_answered_with_a_fresh_message(agent: Agent) -> None:
    asked = request("Ada", skill_id="hello")
    answers = [await agent.worker.answer(agent.worker.plan(asked), asked, "c-1") for _ in range(2)]
    assert [answer.parts for answer in answers] == [(Part(text="Hello Ada"),)] * 2
    assert answers[0].context_id == "c-1"
    assert answers[0].message_id != answers[1].message_id


async def test_a_task_of_a_skill_that_is_gone_says_so(agent: Agent) -> None:
    with pytest.raises(UsageError, match="needs skill gone"):
        await agent.worker.run(RecordingTurn("x", skill_id="gone"))


# --- hooks ---------------------------------------------------------------------------------------


async def test_startup_hooks_run_in_order_and_shutdown_hooks_in_reverse() -> None:
    agent = Agent("A")
    calls: list[str] = []

    def hook(name: str, *, is_async: bool) -> Callable[[], object]:
        async def later() -> None:
            calls.append(name)

        return later if is_async else lambda: calls.append(name)

    agent.on_startup(hook("open 1", is_async=True))
    agent.on_startup(hook("open 2", is_async=False))
    agent.on_shutdown(hook("close 1", is_async=False))
    agent.on_shutdown(hook("close 2", is_async=True))
    await agent.worker.startup()
    await agent.worker.shutdown()
    assert calls == ["open 1", "open 2", "close 2", "close 1"]


async def test_cleanup_hooks_see_the_canceled_task_the_skills_own_first() -> None:
    agent = Agent("A")
    calls: list[str] = []

    async def own(ctx: Context) -> None:
        calls.append(f"own {ctx.task_id}")

    @agent.skill(on_cancel=own)
    async def one(text: str) -> str:
        return text

    @agent.skill
    async def two(text: str) -> str:
        return text

    @agent.on_cancel
    async def cleanup(ctx: Context) -> None:
        calls.append(f"all {ctx.task_id}")

    await agent.worker.canceled(RecordingTurn("x", skill_id="one", task_id="t-1"))
    await agent.worker.canceled(RecordingTurn("x", skill_id="two", task_id="t-2"))
    assert calls == ["own t-1", "all t-1", "all t-2"]
    assert [function.__name__ for function in (one, two, cleanup)] == ["one", "two", "cleanup"]


async def test_a_cleanup_hook_that_fails_is_logged_and_the_next_runs(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent = Agent("A")
    calls: list[str] = []

    @agent.skill
    async def one(text: str) -> str:
        return text

    @agent.on_cancel
    async def broken(ctx: Context) -> None:
        raise KeyError("x")

    @agent.on_cancel
    async def cleanup(ctx: Context) -> None:
        calls.append(ctx.task_id)

    with caplog.at_level(logging.ERROR):
        await agent.worker.canceled(RecordingTurn("x", skill_id="one"))
    assert calls == ["task-1"]
    assert "cleanup after canceled task task-1 failed" in caplog.text
    assert [function.__name__ for function in (one, broken)] == ["one", "broken"]


async def test_plain_functions_run_after_a_restart_too() -> None:
    agent = Agent("A", threads=1)

    @agent.skill
    def shout(text: str) -> str:
        return text.upper()

    for _ in range(2):
        await agent.worker.startup()
        turn = RecordingTurn("hi", skill_id="shout")
        await agent.worker.run(turn)
        assert turn.chunks[0].artifact.parts == (Part(text="HI"),)
        await agent.worker.shutdown()
    assert shout("a") == "A"


def test_a_hidden_skill_is_not_the_default_one(guarded: Agent) -> None:
    assert guarded.worker.plan(request("x")).skill_id == "rates"


def test_a_missing_scope_is_named_and_nothing_of_the_parameters(guarded: Agent) -> None:
    with pytest.raises(PermissionDeniedError, match=r"needs the scope sign$") as caught:
        guarded.worker.plan(request("no number", skill_id="transfer"), frozenset({"pay"}))
    assert caught.value.metadata == {"missingScopes": "sign"}


def test_who_has_all_scopes_may_use_the_skill(guarded: Agent) -> None:
    scopes = frozenset({"pay", "sign", "more"})
    assert (
        guarded.worker.plan(request({"amount": 1}, skill_id="transfer"), scopes).skill_id
        == "transfer"
    )
    guarded.worker.check_scopes("transfer", scopes)
    with pytest.raises(PermissionDeniedError, match="pay, sign"):
        guarded.worker.check_scopes("transfer", frozenset())


@pytest.mark.parametrize("place", ["skill_id", "of_request"])
def test_a_hidden_skill_is_unknown_to_who_may_not_use_it(guarded: Agent, place: str) -> None:
    messages: list[str] = []
    for skill in ("books", "nothing"):
        with pytest.raises(InvalidParamsError) as caught:
            guarded.worker.plan(request({"year": 1}, **{place: skill}))
        messages.append(caught.value.message)
    assert messages[0] == messages[1]
    asked = request({"year": 1}, **{place: "books"})
    assert guarded.worker.plan(asked, frozenset({"audit"})).skill_id == "books"


def test_a_route_to_a_hidden_skill_does_not_tell_what_is_missing(guarded: Agent) -> None:
    @guarded.route
    def choose(message: Message) -> str:
        del message
        return "books"

    assert callable(choose)
    with pytest.raises(PermissionDeniedError) as caught:
        guarded.worker.plan(request({"year": 1}))
    assert (caught.value.message, caught.value.metadata) == ("Permission denied", {})
    assert guarded.worker.plan(request({"year": 1}), frozenset({"audit"})).skill_id == "books"
