"""pydantic models as parameters, results and forms; pydantic is the author's choice, not ours."""

import pytest

from dragoman import Agent, Context
from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.model.operations import SendMessageRequest
from dragoman.model.parts import Part
from dragoman.model.plain_data import is_model
from dragoman.model.schema import convert, schema_of
from dragoman.testing.turn import RecordingTurn, user_message

pydantic = pytest.importorskip("pydantic")


class Line(pydantic.BaseModel):
    item: str
    count: int = pydantic.Field(default=1, ge=1)


class Order(pydantic.BaseModel):
    lines: list[Line]


def test_a_model_is_recognised() -> None:
    assert is_model(Order)


def test_a_model_validates_itself() -> None:
    assert convert({"lines": [{"item": "tea"}]}, Order, "") == Order(lines=[Line(item="tea")])


def test_a_model_inside_a_container_validates_itself() -> None:
    assert convert([{"item": "tea"}], list[Line], "") == [Line(item="tea")]


def test_everything_a_model_finds_is_named_by_its_path() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        convert({"lines": [{"item": "tea", "count": 0}, {}]}, Order, "message.parts[0].data")
    assert caught.value.violations == (
        FieldViolation(
            "message.parts[0].data.lines[0].count",
            "is invalid: Input should be greater than or equal to 1",
        ),
        FieldViolation("message.parts[0].data.lines[1].item", "is invalid: Field required"),
    )


def test_a_model_in_a_container_is_named_by_its_place() -> None:
    with pytest.raises(InvalidParamsError) as caught:
        convert([{"count": 1}], list[Line], "here")
    assert caught.value.violations[0].field == "here[0].item"


def test_the_schema_of_a_model_has_its_definitions_at_the_root() -> None:
    schema = schema_of(list[Order])
    assert schema["$defs"] == {"Line": Line.model_json_schema()}


async def test_a_skill_takes_a_model_and_gives_a_model() -> None:
    agent = Agent("A")

    @agent.skill
    async def price(order: Order) -> Line:
        return order.lines[0]

    message = user_message({"lines": [{"item": "tea", "count": 2}]})
    agent.worker.plan(SendMessageRequest(message=message))
    turn = RecordingTurn(message, skill_id="price")
    await agent.run(turn)
    assert turn.chunks[0].artifact.parts == (Part(data={"item": "tea", "count": 2}),)
    assert agent.skills[0].output_modes == ("application/json",)
    assert agent.schemas["price"]["required"] == ["lines"]


async def test_a_model_can_be_asked_for() -> None:
    agent = Agent("A")

    @agent.skill
    async def buy(text: str, ctx: Context) -> str:
        line = await ctx.ask("What?", Line)
        return f"{line.count} {line.item}"

    turn = RecordingTurn("go", skill_id="buy", answers=[{"count": 2}, {"item": "tea", "count": 2}])
    await agent.run(turn)
    assert turn.chunks[0].artifact.parts == (Part(text="2 tea"),)
    assert "message.parts[0].data.item" in (turn.asked[1].parts[0].text or "")
