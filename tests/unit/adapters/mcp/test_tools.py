from typing import Any

from dragoman import Agent
from dragoman.adapters.mcp.tools import tools_of
from dragoman.model.cards import AgentCard, AgentSkill
from dragoman.model.parts import Part
from dragoman.server.cards.card import capabilities_of


def card_of(agent: Agent, *others: AgentSkill) -> AgentCard:
    return AgentCard(
        name=agent.name,
        description=agent.description,
        version=agent.version,
        supported_interfaces=(),
        capabilities=capabilities_of(agent),
        default_input_modes=agent.input_modes,
        default_output_modes=agent.output_modes,
        skills=(*agent.skills, *others),
    )


def shop() -> Agent:
    agent = Agent("Shop", "Sells.")

    @agent.skill(examples=["a lamp"])
    async def look(text: str) -> str:
        """Look for something."""
        return text

    @agent.skill
    async def order(item: str, count: int) -> str:
        """Order something."""
        return item * count

    @agent.skill
    async def measure(size: list[int]) -> int:
        """Measure something."""
        return sum(size)

    return agent


def test_a_skill_without_a_schema_takes_text() -> None:
    look = tools_of(card_of(shop()))["look"]
    assert look.tool.title == "Look"
    assert look.tool.description == "Look for something.\nFor example: a lamp"
    assert look.tool.input_schema["required"] == ["text"]
    assert look.content({"text": "lamp"}) == (Part(text="lamp"),)
    assert look.content({}) == (Part(text=""),)


def test_a_schema_of_the_card_is_that_of_the_tool_and_text_stands_beside_it() -> None:
    order = tools_of(card_of(shop()))["order"]
    properties: Any = order.tool.input_schema["properties"]
    assert properties["count"] == {"type": "integer"}
    assert order.content({"text": "lamp", "count": 2}) == (
        Part(text="lamp"),
        Part(data={"count": 2}),
    )


def test_every_schema_is_one_of_an_object() -> None:
    for each in tools_of(card_of(shop())).values():
        assert each.tool.input_schema["type"] == "object"


def test_names_are_such_as_mcp_allows_and_no_two_are_alike() -> None:
    strange = [
        AgentSkill(id=name, name=name, description=name, tags=(name,))
        for name in ("a b", "a_b", "ä", "x" * 200)
    ]
    tools = tools_of(card_of(Agent("Empty", "Nothing."), *strange))
    assert list(tools) == ["a_b", "a_b_2", "_", "x" * 128]
    assert [tool.skill_id for tool in tools.values()] == ["a b", "a_b", "ä", "x" * 200]


def test_a_card_with_a_broken_extension_is_read_as_one_without() -> None:
    agent = shop()
    card = card_of(agent)
    (extension,) = card.capabilities.extensions
    assert extension.params is not None
    extension.params["order"] = "nonsense"
    assert tools_of(card)["order"].tool.input_schema["required"] == ["text"]
