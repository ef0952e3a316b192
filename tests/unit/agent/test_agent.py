import logging
from collections.abc import Callable
from typing import assert_type

import pytest

from dragoman import Agent, AgentExtension, AgentProvider, Context, Message, Reply
from dragoman.bindings.rest import RESERVED_SEGMENTS
from dragoman.errors import (
    InvalidParamsError,
    PermissionDeniedError,
    UnsupportedOperationError,
    UsageError,
)
from dragoman.model.cards import AgentSkill
from dragoman.model.client_tools import CLIENT_TOOLS
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


@pytest.fixture
def agent() -> Agent:
    agent = Agent("Weather", "Knows the weather.")

    @agent.skill
    async def forecast(city: str) -> str:
        """Tell the weather.

        At length.
        """
        return f"Sunny in {city}"

    @agent.skill(id="convert", tags=["units"], examples=["21 degrees"])
    async def to_fahrenheit(celsius: float) -> float:
        return celsius * 9 / 5 + 32

    @agent.skill
    async def hello(name: str) -> Reply:
        return Reply(f"Hello {name}")

    return agent


def test_an_agent_may_say_that_it_uses_the_tools_of_its_callers() -> None:
    assert Agent("A").extensions == ()
    (declared,) = Agent("A", client_tools=True).extensions
    assert (declared.uri, declared.required) == (CLIENT_TOOLS, False)


def test_an_agent_is_a_worker(agent: Agent) -> None:
    worker: Worker = agent
    turn: Turn = RecordingTurn("hi", skill_id=worker.skills[0].id)
    assert turn.skill_id == "forecast"


def test_a_turn_that_was_cut_off_is_run_again_unless_the_author_says_otherwise(
    agent: Agent,
) -> None:
    def echo(text: str) -> str:
        return text

    agent.skill(id="pay", on_crash="fail")(echo)
    agent.skill(id="plan", on_crash="resume")(echo)
    assert [agent.resumes(name) for name in ("forecast", "pay", "plan")] == [True, False, True]


async def test_a_task_of_a_skill_that_is_gone_fails_by_being_run(agent: Agent) -> None:
    assert agent.resumes("gone")
    with pytest.raises(UsageError, match="needs skill gone"):
        await agent.run(RecordingTurn("hi", skill_id="gone"))


def test_there_is_no_third_way(agent: Agent) -> None:
    with pytest.raises(UsageError, match='on_crash must be "resume" or "fail", not \'retry\''):
        agent.skill(on_crash="retry")  # pyright: ignore[reportArgumentType, reportCallIssue] - that is the point


# --- what the author said ------------------------------------------------------------------------


def test_defaults_are_modest() -> None:
    agent = Agent("A")
    assert (agent.name, agent.description, agent.version) == ("A", "", "1.0.0")
    assert (agent.provider, agent.documentation_url, agent.icon_url) == (None, None, None)
    assert (agent.tenants, agent.extensions) == ((), ())
    assert (agent.streaming, agent.extended_card) == (True, False)
    assert (agent.input_modes, agent.output_modes) == (("text/plain",), ("text/plain",))
    assert (agent.skills, agent.schemas) == ((), {})


def test_what_the_author_says_is_kept() -> None:
    extension = AgentExtension(uri="https://x.example")
    agent = Agent(
        "A",
        "d",
        version="2",
        provider=("Acme", "https://acme.example"),
        documentation_url="https://docs.example",
        icon_url="https://icon.example",
        tenants=["acme"],
        extensions=[extension],
        input_modes=["a/b"],
        output_modes=["c/d"],
        streaming=False,
        extended_card=True,
    )
    assert agent.provider == AgentProvider(organization="Acme", url="https://acme.example")
    assert (agent.tenants, agent.extensions) == (("acme",), (extension,))
    assert (agent.input_modes, agent.output_modes) == (("a/b",), ("c/d",))
    assert (agent.streaming, agent.extended_card) == (False, True)


def test_a_provider_value_is_kept() -> None:
    provider = AgentProvider(organization="Acme", url="https://acme.example")
    assert Agent("A", provider=provider).provider is provider


def test_an_agent_needs_a_name() -> None:
    with pytest.raises(UsageError, match="needs a name"):
        Agent("")


@pytest.mark.parametrize("tenant", sorted(RESERVED_SEGMENTS))
def test_a_tenant_named_like_a_path_of_ours_is_refused(tenant: str) -> None:
    with pytest.raises(UsageError, match="our own paths"):
        Agent("A", tenants=[tenant])


@pytest.mark.parametrize("tenant", ["", "a/b"])
def test_a_tenant_that_is_no_path_segment_is_refused(tenant: str) -> None:
    with pytest.raises(UsageError, match="segment of a path"):
        Agent("A", tenants=[tenant])


# --- skills --------------------------------------------------------------------------------------


def test_a_bare_skill_is_described_by_its_function(agent: Agent) -> None:
    assert agent.skills[0] == AgentSkill(
        id="forecast",
        name="Forecast",
        description="Tell the weather.",
        tags=("forecast",),
        input_modes=("text/plain",),
        output_modes=("text/plain",),
    )


def test_the_options_of_a_skill_are_published(agent: Agent) -> None:
    assert agent.skills[1] == AgentSkill(
        id="convert",
        name="Convert",
        description="Convert",
        tags=("units",),
        examples=("21 degrees",),
        input_modes=("application/json",),
        output_modes=("application/json",),
    )


def test_every_option_of_a_skill_can_be_given() -> None:
    agent = Agent("A")

    @agent.skill(
        id="x",
        name="Ex",
        description="Does x.",
        tags=["t"],
        examples=["e"],
        input_modes=["a/b"],
        output_modes=["c/d"],
    )
    async def some_function(text: str) -> str:
        return text

    assert agent.skills == (
        AgentSkill(
            id="x",
            name="Ex",
            description="Does x.",
            tags=("t",),
            examples=("e",),
            input_modes=("a/b",),
            output_modes=("c/d",),
        ),
    )
    assert some_function.__name__ == "some_function"


def test_a_name_is_made_from_the_id() -> None:
    agent = Agent("A")

    @agent.skill
    async def write_one_haiku(subject: str) -> str:
        return subject

    assert agent.skills[0].name == "Write One Haiku"
    assert callable(write_one_haiku)


async def test_decorating_keeps_the_function_and_its_type() -> None:
    agent = Agent("A")

    @agent.skill
    async def bare(text: str) -> str:
        return text

    @agent.skill(tags=["t"])
    async def with_options(text: str) -> int:
        return len(text)

    assert_type(await bare("x"), str)
    assert_type(await with_options("x"), int)
    assert (await bare("x"), await with_options("x")) == ("x", 1)


def test_modes_of_the_agent_are_those_of_its_skills(agent: Agent) -> None:
    assert agent.input_modes == ("text/plain", "application/json")
    assert agent.output_modes == ("text/plain", "application/json")


def test_the_schemas_of_skills_that_take_data_are_known(agent: Agent) -> None:
    assert agent.schemas == {
        "convert": {
            "type": "object",
            "properties": {"celsius": {"type": "number"}},
            "required": ["celsius"],
        }
    }


def test_a_skill_id_is_used_once(agent: Agent) -> None:
    with pytest.raises(UsageError, match="skill forecast exists already"):

        @agent.skill
        async def forecast(city: str) -> str:  # pyright: ignore[reportUnusedFunction] - refused
            return city


def test_a_function_without_a_name_needs_an_id(agent: Agent) -> None:
    echo: Callable[[str], str] = lambda text: text  # noqa: E731 - a function without a name
    with pytest.raises(UsageError, match="give the skill an id"):
        agent.skill(echo)


def test_a_refused_skill_is_not_added(agent: Agent) -> None:
    async def bad(*texts: str) -> str:
        return ""

    with pytest.raises(UsageError):
        agent.skill(bad)
    assert [skill.id for skill in agent.skills] == ["forecast", "convert", "hello"]


# --- planning ------------------------------------------------------------------------------------


def test_a_message_goes_to_the_first_skill(agent: Agent) -> None:
    assert agent.plan(request("Rome")) == Plan(skill_id="forecast")


def test_a_message_goes_to_the_skill_its_metadata_names(agent: Agent) -> None:
    assert agent.plan(request({"celsius": 1}, skill_id="convert")).skill_id == "convert"


def test_the_metadata_of_the_request_may_name_the_skill(agent: Agent) -> None:
    assert agent.plan(request({"celsius": 1}, of_request="convert")).skill_id == "convert"


def test_the_metadata_of_the_message_goes_first(agent: Agent) -> None:
    plan = agent.plan(request("Rome", skill_id="forecast", of_request="convert"))
    assert plan.skill_id == "forecast"


def test_metadata_that_names_no_skill_does_not_matter(agent: Agent) -> None:
    message = user_message("Rome", metadata={"other": 1})
    assert agent.plan(SendMessageRequest(message=message, metadata={})).skill_id == "forecast"


def test_a_direct_skill_is_planned_as_such(agent: Agent) -> None:
    assert agent.plan(request("Ada", skill_id="hello")) == Plan(skill_id="hello", is_direct=True)


@pytest.mark.parametrize("skill_id", ["nothing", 3, ["forecast"]])
def test_an_unknown_skill_is_an_invalid_parameter(agent: Agent, skill_id: object) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        agent.plan(request("x", skill_id=skill_id))
    assert caught.value.violations[0].field == "message.metadata.skillId"
    with pytest.raises(InvalidParamsError) as caught:
        agent.plan(request("x", of_request=skill_id))
    assert caught.value.violations[0].field == "metadata.skillId"


def test_parameters_are_checked_before_anything_is_stored(agent: Agent) -> None:
    with pytest.raises(InvalidParamsError) as caught:
        agent.plan(request({"celsius": "warm"}, skill_id="convert"))
    assert caught.value.violations[0].field == "message.parts[0].data.celsius"


def test_an_agent_without_skills_does_nothing() -> None:
    with pytest.raises(UnsupportedOperationError, match="no skills"):
        Agent("A").plan(request("x"))


def test_the_route_function_chooses_by_id_or_by_function(agent: Agent) -> None:
    @agent.skill
    async def shout(text: str) -> str:
        return text.upper()

    @agent.route
    def choose(message: Message) -> object:
        return shout if message.parts[0].text == "loud" else "forecast"

    assert agent.plan(request("loud")).skill_id == "shout"
    assert agent.plan(request("Rome")).skill_id == "forecast"
    assert agent.plan(request({"celsius": 1}, skill_id="convert")).skill_id == "convert"
    assert callable(choose)


def test_a_route_to_nowhere_is_the_authors_mistake(agent: Agent) -> None:
    @agent.route
    def choose(message: Message) -> str:  # pyright: ignore[reportUnusedFunction] - registered
        return "nowhere"

    with pytest.raises(UsageError, match="'nowhere', which is no skill"):
        agent.plan(request("x"))


def test_a_route_function_cannot_be_async(agent: Agent) -> None:
    async def choose(message: Message) -> str:
        return "forecast"

    with pytest.raises(UsageError, match="cannot be async"):
        agent.route(choose)


def test_a_route_function_takes_the_message_only(agent: Agent) -> None:
    def choose(message: Message, other: int = 1) -> str:
        return "forecast"

    with pytest.raises(UsageError, match="one parameter"):
        agent.route(choose)


def test_there_is_one_route_function(agent: Agent) -> None:
    def choose(message: Message) -> str:
        return "forecast"

    agent.route(choose)
    with pytest.raises(UsageError, match="already"):
        agent.route(choose)


# --- working -------------------------------------------------------------------------------------


async def test_a_turn_runs_the_skill_that_was_planned(agent: Agent) -> None:
    turn = RecordingTurn({"celsius": 100}, skill_id="convert")
    await agent.run(turn)
    assert turn.chunks[0].artifact.parts == (Part(data=212.0),)


async def test_a_direct_plan_is_answered_with_a_fresh_message(agent: Agent) -> None:
    asked = request("Ada", skill_id="hello")
    answers = [await agent.answer(agent.plan(asked), asked, "c-1") for _ in range(2)]
    assert [answer.parts for answer in answers] == [(Part(text="Hello Ada"),)] * 2
    assert answers[0].context_id == "c-1"
    assert answers[0].message_id != answers[1].message_id


async def test_a_task_of_a_skill_that_is_gone_says_so(agent: Agent) -> None:
    with pytest.raises(UsageError, match="needs skill gone"):
        await agent.run(RecordingTurn("x", skill_id="gone"))


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
    await agent.startup()
    await agent.shutdown()
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

    await agent.canceled(RecordingTurn("x", skill_id="one", task_id="t-1"))
    await agent.canceled(RecordingTurn("x", skill_id="two", task_id="t-2"))
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
        await agent.canceled(RecordingTurn("x", skill_id="one"))
    assert calls == ["task-1"]
    assert "cleanup after canceled task task-1 failed" in caplog.text
    assert [function.__name__ for function in (one, broken)] == ["one", "broken"]


async def test_plain_functions_run_after_a_restart_too() -> None:
    agent = Agent("A", threads=1)

    @agent.skill
    def shout(text: str) -> str:
        return text.upper()

    for _ in range(2):
        await agent.startup()
        turn = RecordingTurn("hi", skill_id="shout")
        await agent.run(turn)
        assert turn.chunks[0].artifact.parts == (Part(text="HI"),)
        await agent.shutdown()
    assert shout("a") == "A"


# --- serving -------------------------------------------------------------------------------------


def test_the_app_is_made_once(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")
    assert agent.app is agent.app


def test_settings_make_an_app_of_their_own(agent: Agent) -> None:
    assert agent.asgi(store="memory:") is not agent.asgi(store="memory:")


def test_a_setting_that_does_not_exist_is_refused(agent: Agent) -> None:
    with pytest.raises(UsageError):
        agent.asgi(nothing=1)


# --- scopes -------------------------------------------------------------------------------------


@pytest.fixture
def guarded() -> Agent:
    agent = Agent("Bank")

    @agent.skill(hidden=True, scopes=["audit"])
    async def books(year: int) -> str:
        return str(year)

    @agent.skill
    async def rates(text: str) -> str:
        return text

    @agent.skill(scopes=["pay", "sign"])
    async def transfer(amount: int) -> str:
        return str(amount)

    return agent


def test_hidden_skills_are_kept_apart(guarded: Agent) -> None:
    assert [skill.id for skill in guarded.skills] == ["rates", "transfer"]
    assert [skill.id for skill in guarded.hidden_skills] == ["books"]
    assert guarded.skill_scopes == {"books": {"audit"}, "transfer": {"pay", "sign"}}


def test_a_hidden_skill_is_not_the_default_one(guarded: Agent) -> None:
    assert guarded.plan(request("x")).skill_id == "rates"


def test_a_missing_scope_is_named_and_nothing_of_the_parameters(guarded: Agent) -> None:
    with pytest.raises(PermissionDeniedError, match=r"needs the scope sign$") as caught:
        guarded.plan(request("no number", skill_id="transfer"), frozenset({"pay"}))
    assert caught.value.metadata == {"missingScopes": "sign"}


def test_who_has_all_scopes_may_use_the_skill(guarded: Agent) -> None:
    scopes = frozenset({"pay", "sign", "more"})
    assert guarded.plan(request({"amount": 1}, skill_id="transfer"), scopes).skill_id == "transfer"
    guarded.check_scopes("transfer", scopes)
    with pytest.raises(PermissionDeniedError, match="pay, sign"):
        guarded.check_scopes("transfer", frozenset())


@pytest.mark.parametrize("place", ["skill_id", "of_request"])
def test_a_hidden_skill_is_unknown_to_who_may_not_use_it(guarded: Agent, place: str) -> None:
    messages: list[str] = []
    for skill in ("books", "nothing"):
        with pytest.raises(InvalidParamsError) as caught:
            guarded.plan(request({"year": 1}, **{place: skill}))
        messages.append(caught.value.message)
    assert messages[0] == messages[1]
    asked = request({"year": 1}, **{place: "books"})
    assert guarded.plan(asked, frozenset({"audit"})).skill_id == "books"


def test_a_route_to_a_hidden_skill_does_not_tell_what_is_missing(guarded: Agent) -> None:
    @guarded.route
    def choose(message: Message) -> str:
        del message
        return "books"

    assert callable(choose)
    with pytest.raises(PermissionDeniedError) as caught:
        guarded.plan(request({"year": 1}))
    assert (caught.value.message, caught.value.metadata) == ("Permission denied", {})
    assert guarded.plan(request({"year": 1}), frozenset({"audit"})).skill_id == "books"


@pytest.mark.parametrize(
    ("scopes", "words"),
    [("pay", r"scopes must be a list, such as \['pay'\]"), (["a b"], "'a b' is no scope")],
)
def test_scopes_that_cannot_be_granted_are_refused(
    guarded: Agent, scopes: list[str], words: str
) -> None:
    async def f(text: str) -> str:
        return text

    with pytest.raises(UsageError, match=words):
        guarded.skill(scopes=scopes)(f)
