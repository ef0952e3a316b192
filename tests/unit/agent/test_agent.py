from collections.abc import Callable
from typing import assert_type

import pytest

from dragoman import Agent, AgentExtension, AgentProvider, Message
from dragoman.bindings.rest import RESERVED_SEGMENTS
from dragoman.errors import (
    UsageError,
)
from dragoman.model.cards import AgentSkill
from dragoman.model.client_tools import CLIENT_TOOLS


def test_an_agent_may_say_that_it_uses_the_tools_of_its_callers() -> None:
    assert Agent("A").extensions == ()
    (declared,) = Agent("A", client_tools=True).extensions
    assert (declared.uri, declared.required) == (CLIENT_TOOLS, False)


def test_there_is_no_third_way(agent: Agent) -> None:
    with pytest.raises(UsageError, match='on_crash must be "resume" or "fail", not \'retry\''):
        agent.skill(on_crash="retry")  # pyright: ignore[reportArgumentType, reportCallIssue] - that is the point
    with pytest.raises(UsageError, match='final must be "mark" or "replace", not \'twice\''):
        agent.skill(final="twice")  # pyright: ignore[reportArgumentType, reportCallIssue] - that is the point


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


# --- serving -------------------------------------------------------------------------------------


def test_the_app_is_made_once(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_STORE", "memory:")
    assert agent.app is agent.app


def test_settings_make_an_app_of_their_own(agent: Agent) -> None:
    assert agent.asgi(store="memory:") is not agent.asgi(store="memory:")


def test_a_setting_that_does_not_exist_is_refused(agent: Agent) -> None:
    with pytest.raises(UsageError):
        agent.asgi(nothing=1)


def test_hidden_skills_are_kept_apart(guarded: Agent) -> None:
    assert [skill.id for skill in guarded.skills] == ["rates", "transfer"]
    assert [skill.id for skill in guarded.hidden_skills] == ["books"]
    assert guarded.skill_scopes == {"books": {"audit"}, "transfer": {"pay", "sign"}}


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
